"""The pages of a competition: those of the edition, and default ones filled with its rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from shroom.bundle.public_files import PublicData
from shroom.core.problems import ShroomError, printable
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.validation import PAGES, page_problem
from shroom.scoring.kinds.registry import kind_of, ranking_metrics

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
_OTHER_FORMATS = "JSON (<code>.json</code>) and JSON Lines (<code>.jsonl</code>) are accepted."
_FORMATS = (
    "JSON (<code>.json</code>), JSON Lines (<code>.jsonl</code>), CSV (<code>.csv</code>) and TSV "
    "(<code>.tsv</code>) are accepted; the columns of a table have the names of the keys."
)
_ADD = (
    "A submission is on the leaderboard only after you click <em>Add to Leaderboard</em> beside it"
)
#: Which submissions the leaderboard lists, by its rule.
_LISTED = {
    "Add": f"{_ADD}; another one that you add replaces it.",
    "Add_And_Delete": f"{_ADD}; another one that you add replaces it, and you can remove it.",
    "Add_And_Delete_Multiple": f"{_ADD}; you can add several and remove them.",
    "Force_Last": "Your last submission is on the leaderboard.",
    "Force_Latest_Multiple": "All your submissions are on the leaderboard.",
    "Force_Best": "Your best submission is on the leaderboard.",
}


def pages(
    edition: Edition,
    templates: Path,
    folder: Path,
    data: PublicData,
    splits: Sequence[str],
    first_column: str,
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
    first_column : str
        The title of the column by which the platform orders the leaderboard.

    Raises
    ------
    ShroomError
        If a page of the edition cannot be read, is empty or is of another format.
    """
    parts = {**_parts(edition, data, splits), "order": _order(edition, splits, first_column)}
    listed = {}
    for name in (*PAGES, *(name for name in edition.pages if name not in PAGES)):
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
        "title": _shown(edition.title),
        "asked": asked,
        "tracks": _tracks(edition),
        "tasks": _tasks(edition),
        "files": _list(map(_code, data.submissions)),
        "formats": formats(edition),
        "undefined": "".join(
            f", in {_code(column.key)} as {column.undefined:g}"
            for column in edition.columns
            if column.undefined is not None
        ),
        "example": _shown(f"[\n  {shown}\n]", quote=False),
        "ids": _ids(edition),
        "metrics": _metrics(edition),
        "keys": ", ".join(map(_code, data.keys)),
        "sizes": _list(f"{_code(name)}: {count} items" for name, count in data.sizes.items()),
        "contact": f"<p>Questions: {_shown(edition.contact)}</p>" if edition.contact else "",
    }


def formats(edition: Edition) -> str:
    """Return which formats a file of predictions may have, as HTML."""
    return _FORMATS if edition.annotation.kind == "binary" else _OTHER_FORMATS


def _tracks(edition: Edition) -> str:
    if not edition.tracks:
        return ""
    named = _list(
        f"{_shown(track.title)} ({_code(track.name)})" if track.title else _code(track.name)
        for track in edition.tracks
    )
    return f"<p>There are these tracks; hand in predictions for one or more:</p>\n{named}"


def _tasks(edition: Edition) -> str:
    if not edition.tasks:
        return ""
    named = (
        f"{_shown(rule.title or name)} ({_code(name)})" for name, rule in edition.tasks.items()
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
        lines.append(f"<strong>{_shown(name)}</strong>: {_shown(about)}; {better} is better.")
    return _list(lines)


def _order(edition: Edition, splits: Sequence[str], first_column: str) -> str:
    """Return which submissions the leaderboard lists, and in which order."""
    blind = [phase.name for phase in edition.phases if phase.blind and phase.split in splits]
    first = f"The leaderboard is ordered by its first column, {_shown(first_column)}; ties are "
    sentences = [f"{first}broken by the next ones.", _LISTED[edition.submission_rule]]
    if blind:
        end = "their own ends" if len(blind) > 1 else "its end"
        sentences.append(
            f"Scores of {_shown(' and '.join(blind))} are shown after {end}. Until then the "
            "leaderboard has the worst score for every submission."
        )
    return "\n".join(f"<p>{sentence}</p>" for sentence in sentences)


def _shown(text: str, *, quote: bool = True) -> str:
    """Return a text as HTML, with what could reorder or hide it as escapes."""
    return escape("\n".join(map(printable, text.split("\n"))), quote=quote)


def _list(entries: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{entry}</li>\n" for entry in entries) + "</ul>"


def _words(names: Sequence[str]) -> str:
    return ", ".join(map(_shown, names))


def _code(name: str) -> str:
    return f"<code>{_shown(name)}</code>"
