"""Comparisons as a table for people."""

from __future__ import annotations

from collections.abc import Iterator

from shroom.core.problems import printable
from shroom.evaluation.comparison import Comparison, Comparisons
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    align,
    confidence,
    footnote,
    interval,
    kind,
    number,
    p_value,
    starred,
)

Row = tuple[str, ...]

#: The mark of a pair that differs significantly.
_REAL = "†"


def render(found: Comparisons) -> str:
    """Return comparisons as text: for each track and metric, every pair of systems."""
    lines: list[str] = []
    tables: dict[tuple[str, str, str], list[Comparison]] = {}
    for each in found.comparisons:
        tables.setdefault((each.split, each.track, each.metric), []).append(each)
    for (split, track, metric), comparisons in tables.items():
        first = comparisons[0]
        lines.append(f"{split} {track}".strip() + f", {metric}, n = {first.n}")
        exact = first.mcnemar is not None
        heads = ("a", "b", metric + " a", metric + " b", "a - b")
        tests = (confidence(found.how), "p", "p adjusted")
        more = ("McNemar", "adjusted") if exact else ()
        rows: list[Row | None] = [(*heads, *tests, *more, "detectable", ""), None]
        rows += [_row(each) for each in comparisons]
        lines += [*align(rows, left=2), ""]
    lines.append(
        f"p: paired approximate randomisation, {found.trials} trials; adjusted: Holm's correction "
        f"over the pairs of a table; {_REAL}: at most 0.05"
    )
    if found.how.resamples:
        lines.append(
            f"intervals: paired bootstrap, {kind(found.how)}, {found.how.resamples} resamples, "
            f"seed {found.how.seed}; detectable: the difference found in 4 of 5 cases"
        )
    if any(each.difference is None for each in found.comparisons):
        lines.append(WHY_UNDEFINED)
    if star := footnote(_cases(found)):
        lines.append(f"{star}; comparing it with others is not fair")
    lines.append(found.signature)
    return "\n".join(lines) + "\n"


def _cases(found: Comparisons) -> Iterator[tuple[str, int, int]]:
    """Yield each system on each track, with the number of in-sample items and of all."""
    for each in found.comparisons:
        for name, in_sample in ((each.a, each.a_in_sample), (each.b, each.b_in_sample)):
            yield f"{name}, {each.split} {each.track}", in_sample, each.n


def _row(each: Comparison) -> Row:
    exact = each.mcnemar and (each.mcnemar.p, each.mcnemar.p_adjusted)
    return (
        starred(printable(each.a), each.a_in_sample),
        starred(printable(each.b), each.b_in_sample),
        starred(number(each.a_score), each.a_in_sample),
        starred(number(each.b_score), each.b_in_sample),
        "–" if each.difference is None else f"{each.difference:+.3f}",
        interval(each.ci),
        p_value(each.p),
        p_value(each.p_adjusted),
        *map(p_value, exact or ()),
        number(each.detectable_difference),
        _REAL if each.is_real else "",
    )
