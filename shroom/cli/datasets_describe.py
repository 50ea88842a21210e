"""``shroom datasets list`` and ``shroom datasets describe``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.options import DATA_SET_NAMES, format_option, interval_options, refuse_two_pipes
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting
from shroom.datasets.download.sources import place_of
from shroom.datasets.registry import DATA_SETS, data_set

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals

EXAMPLES = """\b
Examples:
  shroom datasets describe felm felm/all.jsonl
  shroom datasets describe mushroom2025 de-val.jsonl de-tst.jsonl --no-ci
  shroom datasets describe verifiability verifiability.zip --format json -o verifiability.json
"""
LIST_EXAMPLES = """\b
Examples:
  shroom datasets list
  shroom datasets list --format json
"""


@click.command("list", epilog=LIST_EXAMPLES)
@format_option("text", "json", about="Print text, or one JSON object.")
def list_datasets(*, form: str) -> None:
    """List the data sets with their licences, sources, views and folders.

    A view is a way to see the records as datapoints; the first is the default.
    """
    problems = {name: DATA_SETS.problem(name) for name in DATA_SETS}
    say(f"note: {problem}" for problem in problems.values() if problem)
    listed = [_about(name) for name in DATA_SETS if problems[name] is None]
    if form == "json":
        deliver(json.dumps({"datasets": listed}, indent=2, ensure_ascii=False) + "\n", None)
        return
    deliver("\n".join(map(_text, listed)), None)


def _about(name: str) -> dict[str, Any]:
    dataset, place = data_set(name), place_of(name)
    return {
        "name": name,
        "about": dataset.about,
        "licence": dataset.licence,
        "source": dataset.source,
        "views": {key: view.about for key, view in dataset.views.items()},
        "path": None if place is None else str(place),
    }


def _text(about: dict[str, Any]) -> str:
    views = [f"{name}: {meaning}" for name, meaning in about["views"].items()]
    lines = [f"  {key:<8} {about[key]}" for key in ("about", "licence", "source")]
    lines += [f"  {key:<8} {view}" for key, view in zip(["views"] + [""] * len(views), views)]
    place = about["path"] or f"not found; 'shroom datasets fetch {about['name']}' fetches it"
    return "\n".join([about["name"], *lines, f"  {'here':<8} {place}"]) + "\n"


@click.command("describe", epilog=EXAMPLES)
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@interval_options(1000, method=False)
def describe_files(
    *,
    name: str,
    paths: tuple[str, ...],
    form: str,
    output: str | None,
    intervals: Intervals,
) -> None:
    """Describe the files of the data set NAME: counts, labels, agreement, its own tables.

    PATH is a file, a folder or a zip of its native form, or - for a pipe. Without one it is the
    folder NAME in that of the environment variable SHROOM_DATA, or what was fetched. 'shroom
    datasets list' has the names.
    """
    from shroom.datasets.description import describe

    refuse_two_pipes(*paths)
    if output:
        refuse_overwriting([output], paths or [place_of(name)])
    description = describe(name, paths, intervals)
    say(description.problems)
    if form == "json":
        text = json.dumps(description.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.dataset_description import render

        text = render(description)
    deliver(text, output)
