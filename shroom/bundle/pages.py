"""The pages of a competition: those of the edition, and default ones filled with its rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from shroom.bundle.public_files import PublicData
from shroom.core.problems import ShroomError
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.validation import page_problem
from shroom.scoring.kinds.registry import kind_of, ranking_metrics

_DEFAULT = ("overview", "evaluation", "data", "terms")
_ENDINGS = (".html", ".htm", ".md", ".txt")
_ASKED = {
    "binary": "say whether the output is a hallucination, and how probable it is that an annotator "
    "calls it one",
    "aspects": "answer these questions about each output with yes or no: {aspects}",
    "spans": "mark the characters of each output that are hallucinated, each with a probability",
    "labelled-spans": "mark the characters of each output that are hallucinated, each with a "
    "probability and one of these labels: {labels}",
}
_SHOWN = 2


def pages(
    edition: Edition,
    templates: Path,
    folder: Path,
    data: PublicData,
    splits: Sequence[str],
) -> dict[str, tuple[str, bytes]]:
    """Return the file and the content of each page by its title.

    Parameters
    ----------
    edition : Edition
        The shared task. Its own pages are taken as they are.
    templates : Path
        The folder of the default pages.
    folder : Path
        The folder that the names of the edition's own pages start from.
    data : PublicData
        The public data.
    splits : sequence of str
        The splits that are handed in.

    Raises
    ------
    ShroomError
        If a page of the edition cannot be read, is empty or is of another format.
    """
    parts = _parts(edition, data, splits)
    listed = {}
    for name in (*_DEFAULT, *(name for name in edition.pages if name not in _DEFAULT)):
        title = name.replace("_", " ").capitalize()
        if name in edition.pages:
            file = edition.pages[name]
            ending = Path(file).suffix.lower()
            listed[title] = f"pages/{name}{ending}", _own(folder / file, folder, f"pages.{name}")
        else:
            template = Template((templates / f"{name}.html").read_text(encoding="utf-8"))
            listed[title] = f"pages/{name}.html", template.substitute(parts).encode()
    return listed


def _own(path: Path, folder: Path, place: str) -> bytes:
    if path.suffix.lower() not in _ENDINGS:
        raise ShroomError(f"{place}: expected a file ending in {', '.join(_ENDINGS)}, got {path}")
    if problem := page_problem(path, folder):
        raise ShroomError(f"{place}: {problem}")
    try:
        content = path.read_bytes()
        if not content.decode("utf-8-sig").strip():
            raise ShroomError(f"{place}: {path}: is empty, and Codabench refuses such a page")
    except OSError as error:
        raise ShroomError(f"{place}: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ShroomError(f"{place}: {path}: is not UTF-8") from error
    return content


def _parts(edition: Edition, data: PublicData, splits: Sequence[str]) -> dict[str, str]:
    """Return what fills the templates, as HTML."""
    annotation = edition.annotation
    aspects = ", ".join(f"{_code(aspect.key)}" for aspect in annotation.aspects)
    asked = _ASKED[annotation.kind].format(aspects=aspects, labels=_words(annotation.labels))
    sample = next(iter(data.sample(splits[0]).values()))[:_SHOWN]
    shown = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in sample)
    return {
        "title": escape(edition.title),
        "asked": asked,
        "tracks": _tracks(edition),
        "tasks": _tasks(edition),
        "files": _list(map(_code, data.submissions)),
        "example": escape(f"[\n  {shown}\n]", quote=False),
        "ids": _ids(edition),
        "metrics": _metrics(edition),
        "keys": ", ".join(map(_code, data.keys)),
        "sizes": _list(f"{_code(name)}: {count} items" for name, count in data.sizes.items()),
        "contact": f"<p>Questions: {escape(edition.contact)}</p>" if edition.contact else "",
    }


def _tracks(edition: Edition) -> str:
    if not edition.tracks:
        return ""
    named = _list(
        f"{escape(track.title)} ({_code(track.name)})" if track.title else _code(track.name)
        for track in edition.tracks
    )
    return f"<p>Each of these tracks is ranked by itself; hand in one or more:</p>\n{named}"


def _tasks(edition: Edition) -> str:
    if not edition.tasks:
        return ""
    named = (
        f"{escape(rule.title or name)} ({_code(name)})" for name, rule in edition.tasks.items()
    )
    return f"<p>The outputs are of these tasks: {', '.join(named)}.</p>"


def _ids(edition: Edition) -> str:
    if edition.item.id == "none":
        return "Keep the order of the data."
    key = _code(edition.item.id_key)
    return f"Where the data have the key {key}, copy it; where they have none, keep their order."


def _metrics(edition: Edition) -> str:
    kind, lines = kind_of(edition), []
    ranking = [metric.name for metric in ranking_metrics(edition)]
    shown = {column.metric for column in edition.platform_columns(tuple(ranking))}
    for name in dict.fromkeys((*ranking, *sorted(shown))):
        metric = kind.metric(name, edition)
        better = "more" if metric.higher_is_better else "less"
        about = metric.about.rstrip(".") or name
        lines.append(f"<strong>{escape(name)}</strong>: {escape(about)}; {better} is better.")
    order = "The leaderboard is ordered by its first column; ties are broken by the next ones."
    return f"{_list(lines)}\n<p>{order}</p>"


def _list(entries: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{entry}</li>\n" for entry in entries) + "</ul>"


def _words(names: Sequence[str]) -> str:
    return ", ".join(map(escape, names))


def _code(name: str) -> str:
    return f"<code>{escape(name)}</code>"
