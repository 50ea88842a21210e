"""Scores as a table for people, with a star behind those of items that a detector was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shroom.core.problems import printable
from shroom.metrics.intervals import FEWEST, MAX_ITEMS, Intervals, Marked
from shroom.scoring.display.columns import DOUBT, STAR, Row, align
from shroom.scoring.results import Score, TrackScore

_UNDEFINED = "–"
#: Meaning of the sign.
WHY_UNDEFINED = f"{_UNDEFINED}: undefined, where p or the gold is the same on all items"


def render(score: Score) -> str:
    """Return the scores as text: each track whole, beside trivial systems, and in slices."""
    lines = [*align(table_rows(score)), "", score.signature]
    if score.intervals.resamples:
        lines.append(intervals_line(score))
    return "\n".join([*lines, *footnotes(score)]) + "\n"


def table_rows(score: Score) -> list[Row | None]:
    """Return the heads and rows of :func:`render`; ``None`` is a rule."""
    rows: list[Row | None] = [header(score)]
    for result in score.results:
        rows += [None, *track_rows(result)]
    for split, mean in score.means.items():
        name = f"{split if len(score.means) > 1 else ''} mean over {mean['tracks']} tracks".strip()
        rows += [None, (name, "", *_cells(list(score.results[0].scores), mean))]
    return rows


def footnotes(score: Score) -> list[str]:
    """Return what the signs in the table mean, as far as it has them."""
    lines = []
    if any(None in part for result in score.results for part in _all_scores(result)):
        lines.append(WHY_UNDEFINED)
    if star := footnote((title(result), result.in_sample, result.n) for result in score.results):
        lines.append(star)
    return [*lines, *doubts(_intervals_of(score))]


def _intervals_of(score: Score) -> Iterator[tuple[str, Any]]:
    """Yield the name and the interval of every score that is shown."""
    named = [(title(result), result.whole) for result in score.results]
    for result in score.results:
        for key, slices in result.slices.items():
            named += [
                (f"{title(result)} {key} {word}".strip(), part) for word, part in slices.items()
            ]
    named += [(f"{split} mean".strip(), mean) for split, mean in score.means.items()]
    for name, part in named:
        yield from ((f"{name}, {it}", part.get(f"{it}_ci")) for it in score.results[0].scores)


def title(result: TrackScore) -> str:
    """Return the split and track, as people call them."""
    return f"{result.split} {result.track}".strip()


def _all_scores(result: TrackScore) -> Iterator[list[float | None]]:
    """Yield a track's scores, whole and in slices, without the floors."""
    for part in (result.scores, *(p for key in result.slices.values() for p in key.values())):
        yield [part[name] for name in result.scores if name in part]


def intervals_line(score: Score) -> str:
    """Return how the intervals were made, in one line."""
    intervals = score.intervals
    if score.results and all(result.n < FEWEST for result in score.results):
        return "no intervals: fewer than ten items"
    line = f"intervals: {methods(intervals)}, {drawn(intervals)}, seed {intervals.seed}"
    if any(result.n > MAX_ITEMS for result in score.results):
        line += f"; of more than {MAX_ITEMS} items normal, by the infinitesimal jackknife"
    return line


def kind(intervals: Intervals) -> str:
    """Return the name of the kind of intervals."""
    return "BCa" if intervals.method == "bca" else intervals.method


def methods(intervals: Intervals) -> str:
    """Return the kinds of intervals of scores: of shares, and of the others."""
    return f"Wilson for shares, else {kind(intervals)}"


def drawn(intervals: Intervals, items: str = "all items") -> str:
    """Return how many resamples were drawn, and of what."""
    what = f"whole units ({printable(intervals.unit)})" if intervals.unit else items
    return f"{intervals.resamples} bootstrap resamples of {what}{lacking(intervals)}"


def lacking(intervals: Intervals) -> str:
    """Return that the gold does not have the edition's units, in brackets; nothing if it does."""
    key = printable(intervals.missing_unit)
    return f" (without {key}, each item counts as independent)" if key else ""


def confidence(intervals: Intervals) -> str:
    """Return the head of a column of intervals."""
    return f"{100 * intervals.confidence:.12g}% interval"


def header(score: Score) -> Row:
    """Return the heads of the columns of :func:`track_rows`."""
    names = list(score.results[0].scores) if score.results else []
    return ("", "n", *(cell for name in names for cell in (name, confidence(score.intervals))))


def track_rows(result: TrackScore) -> list[Row]:
    """Return a track's scores as rows of cells: whole, of trivial systems, in slices."""
    names, seen = list(result.scores), result.in_sample
    rows = [(title(result), str(result.n), *_cells(names, result.whole, seen))]
    rows.extend(
        (f"  floor: {name}", "", *_cells(names, floor)) for name, floor in result.floors.items()
    )
    for key, slices in result.slices.items():
        for word, part in slices.items():
            rows.append((f"  {key} {printable(word)}", str(part["n"]), *_cells(names, part, seen)))
    return rows


def _cells(names: Sequence[str], scores: Mapping[str, Any], in_sample: int = 0) -> list[str]:
    """Return each score and its interval; nothing where a floor has no such score."""
    return [
        cell
        for name in names
        for cell in (
            starred(number(scores[name]), in_sample) if name in scores else "",
            interval(scores.get(f"{name}_ci")),
        )
    ]


def number(value: float | None) -> str:
    """Return a score with the digits that people read.

    Examples
    --------
    >>> number(0.77956), number(None)
    ('0.780', '–')
    """
    return _UNDEFINED if value is None else f"{value:.3f}"


def interval(bounds: Sequence[float] | None) -> str:
    """Return an interval with the digits that people read; nothing where there is none.

    Examples
    --------
    >>> interval((0.7423, 0.8160)), interval(None)
    ('[0.742, 0.816]', '')
    """
    if bounds is None:
        return ""
    sign = DOUBT if isinstance(bounds, Marked) else ""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]{sign}"


def doubts(intervals: Iterable[tuple[str, Sequence[float] | None]], most: int = 3) -> list[str]:
    """Return what the sign of intervals means, in one line; nothing if no interval has it.

    Parameters
    ----------
    intervals : iterable of (str, interval or None)
        Each interval that is shown, with its name.
    most : int
        How many of them to name for each reason.

    Examples
    --------
    >>> doubts([("DM, rho", Marked((0.1, 0.9), "51 of 1000 resamples undefined")), ("MT", None)])
    ['‡ doubtful interval: 51 of 1000 resamples undefined (DM, rho)']
    """
    names: dict[str, list[str]] = {}
    for name, ends in intervals:
        if isinstance(ends, Marked):
            names.setdefault(ends.note, []).append(printable(name))
    listed = []
    for note, of_note in list(names.items())[:most]:
        more = f" and {len(of_note) - most} more" if len(of_note) > most else ""
        listed.append(f"{note} ({'; '.join(of_note[:most])}{more})")
    if len(names) > most:
        listed.append(f"and {len(names) - most} other reasons")
    return [f"{DOUBT} doubtful interval: {', '.join(listed)}"] if listed else []


def p_value(value: float | None) -> str:
    """Return a p-value with the digits that people read; none is 0.

    Examples
    --------
    >>> p_value(0.0354), p_value(1e-7), p_value(None)
    ('0.0354', '<0.0001', '–')
    """
    if value is None:
        return _UNDEFINED
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def starred(shown: str, in_sample: int) -> str:
    """Return a figure or a name as it is shown, with a star where it is in-sample.

    Parameters
    ----------
    shown : str
        The figure or the name.
    in_sample : int
        How many of the items the detector was fitted on.

    Examples
    --------
    >>> starred("0.922", 499), starred("0.814", 0)
    ('0.922*', '0.814')
    """
    return f"{shown}{STAR}" if in_sample else shown


def footnote(cases: Iterable[tuple[str, int, int]]) -> str:
    """Return what the star means, in one line; nothing where no figure is in-sample.

    Parameters
    ----------
    cases : iterable of (str, int, int)
        Each system or track that is shown: its name, the number of items that the detector was
        fitted on, and the number of all items. The names are left out where one is enough.

    Examples
    --------
    >>> footnote([("val model-agnostic", 499, 499), ("val model-aware", 0, 501)])
    '* in-sample: the detector was fitted on 499 of these 499 items'
    >>> footnote([("a", 499, 499), ("b", 20, 499)])
    '* in-sample: the detector was fitted on 499 of these 499 items (a), 20 of these 499 items (b)'
    """
    names: dict[str, list[str]] = {}
    for name, in_sample, n in cases:
        if in_sample:
            systems = names.setdefault(f"{in_sample} of these {n} items", [])
            systems += [] if name in systems else [printable(name)]
    if not names:
        return ""
    if len(names) == 1:
        listed = next(iter(names))
    else:
        listed = ", ".join(f"{items} ({', '.join(systems)})" for items, systems in names.items())
    return f"{STAR} in-sample: the detector was fitted on {listed}"
