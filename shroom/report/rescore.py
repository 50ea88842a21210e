"""What another version of the gold changes, as text and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shroom.core.problems import printable
from shroom.evaluation.changed_items import ChangedItem
from shroom.evaluation.rescore import Change, Rescored, Rescoring, TrackChange
from shroom.report.page_templates import rendered
from shroom.report.sections import Section
from shroom.scoring.display.text import confidence, footnote, interval, number, starred

_NONE = "–"
#: Texts of more characters are shortened.
_LONGEST = 60


def to_text(rescoring: Rescoring, most: int) -> str:
    """Return everything for people; of the items, at most ``most`` of each track."""
    lines: list[str] = []
    for section in sections(rescoring, most):
        lines += [*section.lines, ""]
    for entry in rescoring.invalid:
        lines.append(f"not rescored: {printable(entry.system)}")
        lines += [f"  {line}" for line in entry.problems]
    if rescoring.invalid:
        lines.append("")
    old, new = rescoring.signatures
    return "\n".join([*lines, explanation(rescoring), f"old: {old}", f"new: {new}"]) + "\n"


def page(rescoring: Rescoring, most: int) -> str:
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
        sections=list(sections(rescoring, most)),
    )


def explanation(rescoring: Rescoring) -> str:
    """Return how to read the figures, in a few sentences."""
    text = f"Ranked by {rescoring.metric}. Changes are new less old; a rank below 0 is a rise. "
    intervals = rescoring.intervals
    if intervals.resamples:
        text += (
            f"Intervals: paired percentile, {intervals.resamples} bootstrap resamples of the items "
            f"of both golds, seed {intervals.seed}. "
        )
    return text + (
        "Of an item: how many ranks this difference between the golds alone changes, and the "
        "greatest change of a system's score."
    )


def sections(rescoring: Rescoring, most: int) -> Iterator[Section]:
    """Yield the tables of each track: its systems, then its items."""
    for track in rescoring.tracks:
        yield _systems(track, rescoring)
        yield _items(track, most)


def _systems(track: TrackChange, rescoring: Rescoring) -> Section:
    names = list(track.systems[0].scores)
    ci = confidence(rescoring.intervals) if rescoring.intervals.resamples else ""
    heads = ["system", "rank old", "new", "change", ci]
    for name in names:
        heads += [f"{name} old", "new", "change", ci]
    moved = sum(bool(system.rank.difference) for system in track.systems)
    title = f"{track.split} {track.track}".strip()
    star = footnote((row.system, row.in_sample, track.old_n) for row in track.systems)
    return Section(
        f"{title}: {moved} of {len(track.systems)} ranks change",
        tuple(heads),
        [_system(system, names) for system in track.systems],
        star,
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


def _items(track: TrackChange, most: int) -> Section:
    title = f"{track.split} {track.track}".strip()
    counts = ", ".join(f"{count} {kind}" for kind, count in track.counts.items())
    items = track.items[:most]
    metrics = list(track.systems[0].scores)
    texts = any(item.texts for item in items)
    heads = ("item", "difference", "old", "new", *(("text",) if texts else ()))
    shown = f"; shown: {len(items)}" if len(items) < len(track.items) else ""
    return Section(
        f"{title}: items {counts} (n = {track.old_n} old, {track.new_n} new){shown}",
        (*heads, "ranks changed", *metrics),
        [_item(item, metrics, texts=texts) for item in items],
        left=len(heads),
    )


def _item(item: ChangedItem, metrics: list[str], *, texts: bool) -> tuple[str, ...]:
    row = item.old_row if item.new_row is None else item.new_row
    text = next(iter((item.texts or {"": ""}).values()))
    return (
        f"row {row}" if item.id is None else f"id {item.id}",
        item.kind,
        _annotation(item.old),
        _annotation(item.new),
        *((_short(text),) if texts else ()),
        str(item.ranks_changed),
        *(number(item.score_changes[name]) for name in metrics),
    )


def _annotation(value: dict[str, Any] | None) -> str:
    if value is None:
        return _NONE
    return _short(", ".join(map(_word, value.values())))


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
