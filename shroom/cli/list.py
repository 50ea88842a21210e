"""``shroom list``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.output import note
from shroom.core.extras import install_hint
from shroom.core.registry import unknown_name

#: The line of an entry in the list, and its details.
About = tuple[tuple[str, ...], Mapping[str, Any]]


def _detector(name: str) -> About:
    from shroom.detectors.registry import DEFAULT, REGISTRY, class_of

    entry = REGISTRY[name]
    missing, line = entry.missing(), entry.line
    if entry.package:
        line = f"{(inspect.getdoc(class_of(name)) or '').partition(chr(10))[0]} ({line})"
    line += " (the default)" if name == DEFAULT else ""
    install = install_hint(entry.extra) if missing else None
    facts = {"about": line, "needs": entry.needs, "missing": missing, "install": install}
    facts |= {"give": entry.also or None}
    return ("absent" if missing else "ready", line), facts


def _metric(name: str) -> About:
    from shroom.scoring.metric_registry import describe

    metric = describe(name)
    return (metric.range, metric.about), {"about": metric.about, **metric.facts()}


def _data_set(name: str) -> About:
    from shroom.datasets.download import SOURCES, place_of
    from shroom.datasets.registry import data_set

    found, place = data_set(name), place_of(name)
    absent = "not found; the kit cannot fetch it, so specify the paths of its files"
    if name in SOURCES:
        absent = f"not found; to get it, run: shroom datasets fetch {name}"
    facts = {
        "about": found.about,
        "licence": found.licence,
        "source": found.source,
        "views": "; ".join(f"{key}: {view.about}" for key, view in found.views.items()),
        "path": absent if place is None else str(place),
    }
    return ("absent" if place is None else "here", found.about), facts


def _edition(name: str) -> About:
    from shroom.scoring.editions import files

    edition = files.built_in(name)
    kind = edition.annotation.kind
    facts = {
        "about": edition.title,
        "year": edition.year,
        "annotation": kind,
        "tasks": edition.tasks,
        "tracks": [track.name for track in edition.tracks],
        "splits": edition.split_names,
        "metrics": edition.metrics,
        "files": edition.expected_name(edition.submitted),
    }
    return (str(edition.year), kind, edition.title), facts


KINDS = {"detectors": _detector, "metrics": _metric, "datasets": _data_set, "editions": _edition}


def _names(kind: str) -> dict[str, str | None]:
    """Return the names of a kind, each with the reason why it cannot be used, if any."""
    from shroom.datasets.registry import DATA_SETS
    from shroom.detectors.registry import REGISTRY
    from shroom.scoring.editions.files import NAMES
    from shroom.scoring.metric_registry import METRICS, others

    if kind == "editions":
        return dict.fromkeys(NAMES)
    registry: Any = {"detectors": REGISTRY, "metrics": METRICS, "datasets": DATA_SETS}[kind]
    names = {name: registry.problem(name) for name in registry}
    return names | dict.fromkeys(others() if kind == "metrics" else ())


@verb(reads_data=False)
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("name", required=False)
def command(kind: str, name: str | None) -> None:
    """List detectors, metrics, data sets or editions.

    With NAME, show only the details of that entry.

    Examples
    --------
    shroom list detectors
    shroom list metrics rho
    shroom list editions semeval2024
    """
    names = _names(kind)
    if name is not None and name not in names:
        raise unknown_name(kind.removesuffix("s").replace("dataset", "data set"), name, names)
    for problem in filter(None, names.values() if name is None else ()):
        note(problem)
    shown = [each for each, problem in names.items() if not problem] if name is None else [name]
    listed = {each: KINDS[kind](each) for each in shown}
    if name is None:
        _print([(each, *line) for each, (line, _) in listed.items()])
        if kind == "detectors" and any(facts["missing"] for _, facts in listed.values()):
            note("absent: packages are missing; to install them, see 'shroom list detectors NAME'")
    else:
        facts = listed[name][1].items()
        _print([(key, _shown(value)) for key, value in facts if value])


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, (list, tuple)) else str(value)


def _print(rows: list[tuple[str, ...]]) -> None:
    from shroom.scoring.display.text import align

    left = len(rows[0])
    click.echo("\n".join(align([("",) * left, *rows], left=left)[1:]))
