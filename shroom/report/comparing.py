"""Comparisons as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.problems import printable
from shroom.report.text import WHY_UNDEFINED, align, confidence, interval, kind, number, p_value

if TYPE_CHECKING:
    from shroom.comparing import Comparison, Comparisons

    Row = tuple[str, ...]


def render(found: Comparisons) -> str:
    """Return comparisons as text: for each track and metric, every pair of systems."""
    lines = []
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
        "over the pairs of a table; *: at most 0.05"
    )
    if found.how.resamples:
        lines.append(
            f"intervals: paired bootstrap, {kind(found.how)}, {found.how.resamples} resamples, "
            f"seed {found.how.seed}; detectable: the difference found in 4 of 5 cases"
        )
    if any(each.difference is None for each in found.comparisons):
        lines.append(WHY_UNDEFINED)
    lines.append(found.signature)
    return "\n".join(lines) + "\n"


def _row(each: Comparison) -> Row:
    exact = each.mcnemar and (each.mcnemar.p, each.mcnemar.p_adjusted)
    return (
        printable(each.a),
        printable(each.b),
        number(each.a_score),
        number(each.b_score),
        "–" if each.difference is None else f"{each.difference:+.3f}",
        interval(each.ci),
        p_value(each.p),
        p_value(each.p_adjusted),
        *map(p_value, exact or ()),
        number(each.detectable_difference),
        "*" if each.is_real else "",
    )
