"""``shroom list``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

from shroom.cli import verb
from shroom.cli.options import format_option
from shroom.cli.output import deliver, json_text, note
from shroom.core.extras import install_hint
from shroom.core.registry import unknown_name


class Catalogue(NamedTuple):
    """Things of one kind: their names, and of one of them plain values, a line and facts."""

    names: Callable[[], Mapping[str, str | None]]  # with why a name cannot be used
    about: Callable[[str], dict[str, Any]]
    line: Callable[[dict[str, Any]], tuple[str, ...]]
    facts: Callable[[dict[str, Any]], dict[str, Any]]


def _detectors() -> Catalogue:
    import inspect

    from shroom.detectors.registry import DEFAULT, REGISTRY, class_of

    def about(name: str) -> dict[str, Any]:
        entry = REGISTRY[name]
        line = entry.line
        if entry.package:
            line = f"{(inspect.getdoc(class_of(name)) or '').partition(chr(10))[0]} ({line})"
        return {
            "name": name,
            "package": entry.package or None,
            "about": line + (" (the default)" if name == DEFAULT else ""),
            "needs": entry.needs,
            "missing": entry.missing(),
            "install": install_hint(entry.extra) if entry.missing() else None,
            "give": entry.also or None,
        }

    shown = ("about", "needs", "missing", "install", "give")
    return Catalogue(
        lambda: {name: REGISTRY.problem(name) for name in REGISTRY},
        about,
        lambda about: ("absent" if about["missing"] else "ready", about["about"]),
        lambda about: {key: about[key] for key in shown},
    )


def _metrics() -> Catalogue:
    from shroom.scoring.metric_registry import METRICS, describe, others

    return Catalogue(
        lambda: {name: METRICS.problem(name) for name in METRICS} | dict.fromkeys(others()),
        lambda name: describe(name).to_dict(),
        lambda about: (describe(about["name"]).range, about["about"]),
        lambda about: {"about": about["about"], **describe(about["name"]).facts()},
    )


def _datasets() -> Catalogue:
    from shroom.datasets.download.sources import place_of
    from shroom.datasets.registry import DATA_SETS, data_set

    def about(name: str) -> dict[str, Any]:
        found, place = data_set(name), place_of(name)
        return {
            "name": name,
            "about": found.about,
            "licence": found.licence,
            "source": found.source,
            "views": {key: view.about for key, view in found.views.items()},
            "path": None if place is None else str(place),
        }

    def facts(about: dict[str, Any]) -> dict[str, Any]:
        absent = f"not found; 'shroom datasets fetch {about['name']}' fetches it"
        views = [f"{name}: {meaning}" for name, meaning in about["views"].items()]
        chosen = {key: about[key] for key in ("about", "licence", "source")}
        return {**chosen, "views": "; ".join(views), "path": about["path"] or absent}

    return Catalogue(
        lambda: {name: DATA_SETS.problem(name) for name in DATA_SETS},
        about,
        lambda about: ("here" if about["path"] else "absent", about["about"]),
        facts,
    )


def _editions() -> Catalogue:
    from shroom.scoring.editions import files
    from shroom.scoring.editions.plain import to_plain

    def facts(about: dict[str, Any]) -> dict[str, Any]:
        edition = files.built_in(about["name"])
        return {
            "about": edition.title,
            "year": edition.year,
            "annotation": edition.annotation.kind,
            "tasks": list(edition.tasks),
            "tracks": [track.name for track in edition.tracks],
            "splits": edition.split_names,
            "metrics": edition.metrics,
            "files": edition.expected_name(edition.submitted),
        }

    return Catalogue(
        lambda: dict.fromkeys(files.NAMES),
        lambda name: to_plain(files.built_in(name)),
        lambda about: (str(about["year"]), about["annotation"]["kind"], about["title"]),
        facts,
    )


CATALOGUES = {
    "detectors": _detectors,
    "metrics": _metrics,
    "datasets": _datasets,
    "editions": _editions,
}


def _names(ctx: click.Context, param: click.Parameter, text: str) -> list[str]:
    del param
    kind = ctx.params.get("kind")
    names = CATALOGUES[kind]().names() if kind in CATALOGUES else ()
    return [name for name in names if name.startswith(text)]


@verb(
    "shroom list detectors",
    "shroom list metrics rho",
    "shroom list editions semeval2024 --format json",
)
@click.argument("kind", type=click.Choice(list(CATALOGUES)))
@click.argument("name", required=False, shell_complete=_names)
@format_option("text", "json", about="Print lines or JSON: one object, or a list.")
def command(*, kind: str, name: str | None, form: str) -> None:
    """List the detectors, metrics, data sets or editions.

    With a NAME, show the details of one.
    """
    catalogue = CATALOGUES[kind]()
    names = catalogue.names()
    if name is not None and name not in names:
        raise unknown_name(kind.removesuffix("s").replace("dataset", "data set"), name, names)
    for problem in filter(None, names.values() if name is None else ()):
        note(problem)
    shown = [each for each, problem in names.items() if not problem] if name is None else [name]
    listed = [catalogue.about(each) for each in shown]
    if form == "json":
        text = json_text(listed if name is None else listed[0], indent=2)
    elif name is None:
        text = _table([(about["name"], *catalogue.line(about)) for about in listed])
    else:
        facts = catalogue.facts(listed[0]).items()
        text = _table([(key, _shown(value)) for key, value in facts if value])
    deliver(text, None)


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, (list, tuple)) else str(value)


def _table(rows: list[tuple[str, ...]]) -> str:
    """Return rows as lines with aligned columns."""
    from shroom.scoring.display.columns import align

    left = len(rows[0])
    return "".join(f"{line}\n" for line in align([("",) * left, *rows], left=left)[1:])
