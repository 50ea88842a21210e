"""What a leaderboard shows below its ranks: the best of several submissions, and duplicates."""

from __future__ import annotations

from itertools import groupby

from shroom.evaluation.best_of import BestOf
from shroom.evaluation.duplicates import Duplicates, Field
from shroom.evaluation.leaderboard import Leaderboard
from shroom.report.sections import Section
from shroom.scoring.display.text import number


def sections(board: Leaderboard) -> list[Section]:
    """Return the tables that were asked for beside the ranks."""
    best = [
        _best_of(f"{board.split} {track}".strip(), list(entries))
        for track, entries in groupby(board.best, key=lambda entry: entry.track)
    ]
    return [*best, *([] if board.duplicates is None else [_duplicates(board.duplicates)])]


def _best_of(title: str, entries: list[BestOf]) -> Section:
    metric = entries[0].metric
    return Section(
        f"{title}: best of several submissions",
        ("team", "best submission", "of", metric, "optimism", "corrected", "rank corrected"),
        [
            (
                entry.team,
                entry.submission,
                str(entry.submissions),
                number(entry.score),
                number(entry.optimism),
                number(entry.corrected),
                str(entry.corrected_rank),
            )
            for entry in sorted(entries, key=lambda entry: entry.corrected_rank)
        ],
        f"Optimism: by how much the {metric} of the best of a team's submissions is expected to be "
        "better than on new items, by choosing on one half of the items and scoring on the other.",
        left=2,
    )


def _duplicates(duplicates: Duplicates) -> Section:
    rows: list[tuple[str, ...]] = [
        (
            pair.a,
            pair.b,
            pair.track,
            pair.kind,
            number(pair.equal),
            number(pair.equal_by_chance),
            number(pair.rho),
            number(pair.rho_by_chance),
        )
        for pair in duplicates.pairs
    ]
    equal = "equal labels" if any(field.rho for field in duplicates.fields) else "equal"
    listed = "" if rows else "No two submissions of different teams are equal or nearly so. "
    return Section(
        "Equal or nearly equal submissions of different teams",
        ("a", "b", "track", "kind", equal, "independent", "rho of p", "independent"),
        rows,
        f"{listed}{' '.join(map(_field, duplicates.fields))} Independent: as systems with these "
        "scores would have them that have nothing in common but the gold. Two teams that use the "
        "same public model with the same settings are equal as well.",
        left=4,
    )


def _field(field: Field) -> str:
    if field.equal is None:
        return f"{field.track}: no two submissions of different teams can be compared."
    equal = "equal labels" if field.rho else "equal"
    pairs = f"{field.pairs} {'pair' if field.pairs == 1 else 'pairs'}"
    text = f"{field.track}: {equal} {_range(field.equal)} over {pairs}"
    return f"{text}, rho of p {_range(field.rho)}." if field.rho else f"{text}."


def _range(values: tuple[float, float, float]) -> str:
    least, median, greatest = map(number, values)
    return f"{least} to {greatest} (median {median})"
