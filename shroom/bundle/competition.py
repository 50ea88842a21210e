"""The competition: its phases, the columns of its leaderboard, its pages and their templates."""

from __future__ import annotations

import datetime as dt
import sys
import sysconfig
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.json_writing import json_line
from shroom.core.problems import ShroomError, printable
from shroom.metrics.base import Metric
from shroom.scoring.editions.competition import MAX_KEY, Column, Phase, in_utc
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.validation import PAGES, page_problem
from shroom.scoring.kinds.base import kind_of, ranking_metrics

#: Time between the starts of two phases, if the edition has no dates.
DAYS = dt.timedelta(days=28)
#: Time between the end of a phase and the start of the next one.
_SECOND = dt.timedelta(seconds=1)
_LONGEST_TITLE = 36
_ENDINGS = (".html", ".htm", ".md", ".txt")


def phases_of(edition: Edition, splits: Collection[str]) -> list[Phase]:
    """Return the edition's phases for these splits; by default one for each split."""
    listed = edition.phases or tuple(
        Phase(name.capitalize(), name, f"Submit your predictions for {name}.")
        for name in edition.submitted
    )
    phases = [phase for phase in listed if phase.split in splits]
    if not phases:
        named = ", ".join(dict.fromkeys(phase.split for phase in listed))
        raise ShroomError(f"expected labelled gold for a split with a phase ({named}), got none")
    return phases


def dated(phases: Sequence[Phase], start: dt.date | None, today: dt.date) -> list[Phase]:
    """Return phases with their first and last seconds; ``start`` is that of the first phase."""
    starts = [in_utc(start or phases[0].start or today, dt.time())]
    for before, phase in pairwise(phases):
        last, gap = (before.closes, _SECOND) if before.closes else (starts[-1], DAYS)
        try:
            starts.append(phase.opens or last + gap)
        except OverflowError as error:
            raise ShroomError(
                f"{_day(last)} leaves no time for the next phases; use an earlier day"
            ) from error
    listed: list[Phase] = []
    for phase, begin, following in zip(phases, starts, [*starts[1:], None]):
        if following and following <= (phase.closes or begin):
            raise ShroomError(
                f"the phase {phases[len(listed) + 1].name} starts on {_day(following)}; expected "
                f"a later day than {_day(phase.closes or begin)}, when {phase.name} "
                f"{'ends' if phase.end else 'starts'}"
            )
        end = phase.closes or (following and following - _SECOND)
        if end and end < begin:
            raise ShroomError(
                f"the phase {phase.name} ends on {_day(end)}, before its start on {_day(begin)}"
            )
        listed.append(replace(phase, start=begin, end=end))
    return listed


def _day(moment: dt.datetime) -> str:
    whole = moment.time() in (dt.time(), dt.time(23, 59, 59))
    return f"{moment:%Y-%m-%d}" if whole else f"{moment:%Y-%m-%d %H:%M:%S}"


def columns(edition: Edition, tracks: Collection[str]) -> list[tuple[Column, Sequence[int]]]:
    """Return the columns, means over tracks first, each with the indexes that it averages."""
    names = tuple(metric.name for metric in ranking_metrics(edition))
    listed: list[tuple[Column, Sequence[int]]] = []
    for column in edition.platform_columns(names):
        if column.track in tracks or edition.columns:
            title = column.title if len(column.title) <= _LONGEST_TITLE else ""
            listed.append((replace(column, title=title or column.key), ()))
    size, end = len(names), len(names) + len(listed)
    if edition.columns or not edition.average or len(listed) <= size:
        return listed
    means: list[tuple[Column, Sequence[int]]] = []
    for first, name in enumerate(names, start=size):
        title = f"Mean {name}"[:_LONGEST_TITLE]
        means.append((Column(f"mean_{name}"[:MAX_KEY], name, title=title), range(first, end, size)))
    return means + listed


def metrics_of(edition: Edition) -> dict[str, Metric]:
    """Return the metrics of the leaderboard, described in the edition's own words."""
    ranking = tuple(metric.name for metric in ranking_metrics(edition))
    shown = {column.metric for column in edition.platform_columns(ranking)}
    names = (*ranking, *sorted(shown.difference(ranking)))
    metrics = [kind_of(edition).metric(name, edition) for name in names]
    ours = Label.HALLUCINATION.value
    theirs = edition.file_labels[ours]
    return {it.name: replace(it, about=it.about.replace(ours, theirs)) for it in metrics}


def scorer_folder() -> Path:
    """Return the folder of the templates: beside the package, or among pip's data files."""
    beside = Path(__file__).parents[2] / "scorer"
    installed = Path(sysconfig.get_path("data")) / "share" / "shroom-kit" / "scorer"
    for folder in (beside, installed):
        if (folder / "logo.png").is_file():
            return folder
    raise ShroomError(f"the templates of the bundle are missing; expected them in {installed}")


def rendered(name: str, values: Mapping[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    write: dict[str, Callable[[Any], str]] = {".html": _as_html, ".yaml": _as_yaml, ".md": str}
    environment = Environment(
        loader=FileSystemLoader(scorer_folder()),
        undefined=StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe(write[Path(name).suffix]),
    )
    environment.filters["code"] = _safe(lambda name: f"<code>{_as_html(name)}</code>")
    environment.filters["json"] = _safe(lambda row: _as_html(json_line(row), quote=False))
    return environment.get_template(name).render(values)


def pages(folder: Path, values: Mapping[str, Any]) -> dict[str, tuple[str, bytes]]:
    """Return the file and content of each page by title; the edition's pages are unchanged."""
    own: dict[str, str] = values["edition"].pages
    listed = {}
    for name in dict.fromkeys((*PAGES, *own)):
        path = folder / own.get(name, f"{name}.html")
        ending = path.suffix.lower()
        if name in own:
            problem = page_problem(path, folder)
            if ending not in _ENDINGS:
                problem = f"expected a file ending in {', '.join(_ENDINGS)}, got {path}"
            if problem:
                raise ShroomError(f"pages.{name}: {problem}")
            content = path.read_bytes()
        else:
            content = rendered(f"pages/{name}.html", values).encode()
        listed[name.replace("_", " ").capitalize()] = f"pages/{name}{ending}", content
    return listed


def _safe(write: Callable[[Any], str]) -> Callable[[Any], Any]:
    from markupsafe import Markup

    return lambda value: value if isinstance(value, Markup) else Markup(write(value))  # noqa: S704


def _as_html(text: object, *, quote: bool = True) -> str:
    """Return a text as HTML; characters that reorder or hide text are escaped."""
    return escape("\n".join(map(printable, str(text).split("\n"))), quote=quote)


def _as_yaml(value: object) -> str:
    import yaml

    style = '"' if "\n" in str(value) else None
    text = yaml.safe_dump(value, allow_unicode=True, width=sys.maxsize, default_style=style)
    return text.removesuffix("\n").removesuffix("\n...")
