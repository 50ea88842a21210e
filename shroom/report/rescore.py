"""What another version of the gold changes, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator

from shroom.core.problems import printable
from shroom.evaluation.rescore import Change, Rescored, Rescoring, TrackChange
from shroom.report.page_templates import rendered
from shroom.report.sections import Section
from shroom.scoring.display.text import (
    confidence,
    doubts,
    drawn,
    footnote,
    interval,
    number,
    starred,
)

_NONE = "–"


def to_text(rescoring: Rescoring) -> str:
    """Return everything for people."""
    lines: list[str] = []
    for section in sections(rescoring):
        lines += [*section.lines, ""]
    for entry in rescoring.invalid:
        lines.append(f"not rescored: {printable(entry.system)}")
        lines += [f"  {line}" for line in entry.problems]
    if rescoring.invalid:
        lines.append("")
    old, new = rescoring.signatures
    return "\n".join([*lines, explanation(rescoring), f"old: {old}", f"new: {new}"]) + "\n"


def page(rescoring: Rescoring) -> str:
    """Return the page.

    Raises
    ------
    ShroomError
        If Jinja2 is not installed.
    """
    return rendered(
        "rescore.html.jinja",
        "SHROOM: scored by two golds",
        rescoring=rescoring,
        explanation=explanation(rescoring),
        sections=list(sections(rescoring)),
    )


def explanation(rescoring: Rescoring) -> str:
    """Return how to read the figures, in a few sentences."""
    text = f"Ranked by {rescoring.metric}. Changes are new less old; a rank below 0 is a rise. "
    intervals = rescoring.intervals
    if intervals.resamples:
        text += (
            f"Intervals: paired percentile, {drawn(intervals, 'the items')} of both golds, seed "
            f"{intervals.seed}. "
        )
    return text.rstrip()


def sections(rescoring: Rescoring) -> Iterator[Section]:
    """Yield the table of each track."""
    for track in rescoring.tracks:
        yield _systems(track, rescoring)


def _systems(track: TrackChange, rescoring: Rescoring) -> Section:
    names = list(track.systems[0].scores)
    ci = confidence(rescoring.intervals) if rescoring.intervals.resamples else ""
    heads = ["system", "rank old", "new", "change", ci]
    for name in names:
        heads += [f"{name} old", "new", "change", ci]
    moved = sum(bool(system.rank.difference) for system in track.systems)
    title = f"{track.split} {track.track}".strip()
    items = f"n = {track.old_n} old, {track.new_n} new, {track.common_n} in both"
    star = footnote((row.system, row.in_sample, track.old_n) for row in track.systems)
    unclear = doubts(
        (f"{row.system}, {it}", change.ci)
        for row in track.systems
        for it, change in row.scores.items()
    )
    return Section(
        f"{title}: {moved} of {len(track.systems)} ranks change ({items})",
        tuple(heads),
        [_system(system, names) for system in track.systems],
        "\n".join(filter(None, [star, *unclear])),
    )


def _system(row: Rescored, names: list[str]) -> tuple[str, ...]:
    rank = row.rank
    span = "" if rank.ci is None else f"[{round(rank.ci[0]):+d}, {round(rank.ci[1]):+d}]"
    cells = [
        starred(row.system, row.in_sample),
        *(_NONE if place is None else f"{place:.0f}" for place in (rank.old, rank.new)),
        f"{rank.difference:+.0f}" if rank.difference else "0",
        span,
    ]
    for name in names:
        change = row.scores[name]
        cells += [number(change.old), number(change.new), _signed(change), interval(change.ci)]
    return tuple(cells)


def _signed(change: Change) -> str:
    return _NONE if change.difference is None else f"{change.difference:+.3f}"
