"""``shroom datasets list``."""

from __future__ import annotations

import json
from typing import Any

import click

from shroom.cli.options import format_option
from shroom.cli.output import deliver
from shroom.datasets.registry import data_set, place_of
from shroom.scoring.data_set_forms import DATA_SETS

EXAMPLES = """\b
Examples:
  shroom datasets list
  shroom datasets list --format json
"""


@click.command("list", epilog=EXAMPLES)
@format_option("text", "json", about="Print text, or one JSON object.")
def command(*, form: str) -> None:
    """List the data sets with their licences, sources, views and folders.

    A view is a way to see the records as datapoints; the first is the default.
    """
    listed = [_about(name) for name in DATA_SETS]
    if form == "json":
        deliver(json.dumps({"datasets": listed}, indent=2, ensure_ascii=False) + "\n", None)
        return
    deliver("\n".join(map(_text, listed)), None)


def _about(name: str) -> dict[str, Any]:
    found, place = data_set(name), place_of(name)
    return {
        "name": name,
        "about": found.about,
        "licence": found.licence,
        "source": found.source,
        "views": {key: view.about for key, view in found.views.items()},
        "path": None if place is None else str(place),
    }


def _text(about: dict[str, Any]) -> str:
    views = [f"{name}: {meaning}" for name, meaning in about["views"].items()]
    lines = [f"  {key:<8} {about[key]}" for key in ("about", "licence", "source")]
    lines += [f"  {key:<8} {view}" for key, view in zip(["views"] + [""] * len(views), views)]
    place = about["path"] or f"not found; 'shroom datasets fetch {about['name']}' fetches it"
    return "\n".join([about["name"], *lines, f"  {'here':<8} {place}"]) + "\n"
