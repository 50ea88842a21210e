"""``shroom metrics``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from shroom.cli.options import format_option, names_of
from shroom.cli.output import deliver, say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.metrics.base import Description

EXAMPLES = """\b
Examples:
  shroom metrics
  shroom metrics brier
  shroom metrics --format json
"""


@click.command(epilog=EXAMPLES)
@click.argument(
    "name", required=False, shell_complete=names_of("shroom.scoring.metric_registry:METRICS")
)
@format_option("text", "json", about="Print lines, or JSON: one object, or a list of all.")
def command(*, name: str | None, form: str) -> None:
    """List the metrics with their range and direction, or describe the metric NAME."""
    from shroom.scoring.metric_registry import FIGURES, METRICS, OF_OTHER_KINDS, describe

    if name is not None:
        metric = describe(name)
        text = as_json(metric.to_dict()) if form == "json" else details(metric)
        deliver(text, None)
        return
    problems = {metric_name: METRICS.problem(metric_name) for metric_name in METRICS}
    say(f"note: {problem}" for problem in problems.values() if problem)
    usable = [metric_name for metric_name in METRICS if problems[metric_name] is None]
    if form == "json":
        names = (*usable, *OF_OTHER_KINDS, *FIGURES)
        text = as_json([describe(metric_name).to_dict() for metric_name in names])
    else:
        text = (
            f"of a system against the gold\n{table(map(describe, usable))}\n"
            f"of answers with yes or no, and of marked spans\n"
            f"{table(map(describe, OF_OTHER_KINDS))}\n"
            f"of the annotators' votes\n{table(map(describe, FIGURES))}\n"
            "'shroom metrics NAME' describes one\n"
        )
    deliver(text, None)


def as_json(content: object) -> str:
    """Return content as indented json."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def table(described: Iterable[Description]) -> str:
    """Return metrics as lines: name, range, direction, and what each measures."""
    return "".join(
        f"  {metric.name:<19}  {metric.range:<10}  {metric.direction}  {metric.about}\n"
        for metric in described
    )


def details(described: Description) -> str:
    """Return all about one metric, a fact a line."""
    lines = (f"  {fact:<13}  {text}\n" for fact, text in described.facts().items())
    return f"{described.name}: {described.about}\n{''.join(lines)}"
