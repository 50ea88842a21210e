"""Comparisons as a table for people."""

from __future__ import annotations

from collections.abc import Iterator

from shroom.core.problems import printable
from shroom.evaluation.differences import Comparison, Comparisons
from shroom.report.sections import Section
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    confidence,
    doubts,
    footnote,
    interval,
    kind,
    lacking,
    number,
    p_value,
    starred,
)

Row = tuple[str, ...]

#: The mark of a pair that differs significantly.
_REAL = "†"


def render(comparisons: Comparisons) -> str:
    """Return comparisons as text."""
    lines = [line for section in sections(comparisons) for line in (*section.lines, "")]
    if comparisons.baseline is not None:
        name = printable(comparisons.baseline)
        lines.append(f"baseline: {name}; the other systems are not compared with each other")
    for track in comparisons.left_out:
        missing = "the baseline" if comparisons.baseline is not None else "a second submission"
        lines.append(f"{printable(track)}: not compared, because {missing} has no file for it")
    lines.append(
        f"p: paired approximate randomisation, {comparisons.trials} trials; adjusted: Holm's "
        f"correction over the pairs of a table; {_REAL}: at most 0.05"
    )
    intervals = comparisons.intervals
    if intervals.resamples:
        units = f" of whole units ({printable(intervals.unit)})" if intervals.unit else ""
        units += lacking(intervals)
        lines.append(
            f"intervals: paired bootstrap, {kind(intervals)}, {intervals.resamples} resamples"
            f"{units}, seed {intervals.seed}; detectable: the difference found in 4 of 5 cases"
        )
    if any(pair.difference is None for pair in comparisons.comparisons):
        lines.append(WHY_UNDEFINED)
    lines += doubts(
        (f"{pair.a} - {pair.b}, {f'{pair.split} {pair.track} {pair.metric}'.strip()}", pair.ci)
        for pair in comparisons.comparisons
    )
    if star := footnote(_cases(comparisons)):
        lines.append(f"{star}; comparing it with others is not fair")
    lines.append(comparisons.signature)
    return "\n".join(lines) + "\n"


def sections(comparisons: Comparisons) -> Iterator[Section]:
    """Yield the table of each track and metric."""
    tables: dict[tuple[str, str, str], list[Comparison]] = {}
    for pair in comparisons.comparisons:
        tables.setdefault((pair.split, pair.track, pair.metric), []).append(pair)
    for (split, track, metric), pairs in tables.items():
        title = f"{split} {track}".strip() + f", {metric}, n = {pairs[0].n}"
        heads = ("a", "b", metric + " a", metric + " b", "a - b")
        tests = (confidence(comparisons.intervals), "p", "p adjusted")
        more = ("McNemar", "adjusted") if pairs[0].mcnemar is not None else ()
        yield Section(title, (*heads, *tests, *more, "detectable", ""), [*map(_row, pairs)], left=2)


def _cases(comparisons: Comparisons) -> Iterator[tuple[str, int, int]]:
    """Yield each system on each track, with the number of in-sample items and of all."""
    for pair in comparisons.comparisons:
        for name, in_sample in ((pair.a, pair.a_in_sample), (pair.b, pair.b_in_sample)):
            yield f"{name}, {pair.split} {pair.track}", in_sample, pair.n


def _row(pair: Comparison) -> Row:
    exact = pair.mcnemar and (pair.mcnemar.p, pair.mcnemar.p_adjusted)
    return (
        starred(printable(pair.a), pair.a_in_sample),
        starred(printable(pair.b), pair.b_in_sample),
        starred(number(pair.a_score), pair.a_in_sample),
        starred(number(pair.b_score), pair.b_in_sample),
        "–" if pair.difference is None else f"{pair.difference:+.3f}",
        interval(pair.ci),
        p_value(pair.p),
        p_value(pair.p_adjusted),
        *map(p_value, exact or ()),
        number(pair.detectable_difference),
        _REAL if pair.is_real else "",
    )
