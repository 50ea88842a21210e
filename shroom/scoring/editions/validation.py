"""What can be wrong with an edition file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shroom.core.paths import is_inside
from shroom.core.problems import ShroomError, nearest
from shroom.scoring.column_names import TWO_LABELS, are_two_labels
from shroom.scoring.editions.competition import MAX_KEY
from shroom.scoring.editions.edition import MEAN, Annotation, Edition
from shroom.scoring.editions.plain import from_plain
from shroom.scoring.rows import P

#: The kit's own keys of a row.
KEYS = (
    *("id", "hyp", "src", "tgt", "task", "model", "ref", "lang", "src_lang"),
    *("labels", "label", P),
)
#: The pages that every competition has.
PAGES = ("overview", "evaluation", "data", "terms")
JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


def validated(plain: Any, folder: Path | None = None) -> Edition:
    """Return the edition of plain values, whose pages lie in a folder; report all mistakes."""
    edition = from_plain(plain)
    problems = [*_contradictions(edition), *_wrong_pages(edition, folder)]
    if problems:
        raise ShroomError("; ".join(problems))
    return edition


def warnings_of(edition: Edition) -> list[str]:
    """Return what organisers hardly mean: scores before a blind phase of the same split."""
    return [
        f"phases[{index}]: {phase.name} is blind, but {before.name} shows scores of the same "
        f"split, {phase.split}, before it"
        for index, phase in enumerate(edition.phases)
        for before in edition.phases[:index]
        if phase.blind and not before.blind and before.split == phase.split
    ]


def _contradictions(edition: Edition) -> Iterator[str]:
    """Yield what types alone do not show."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", edition.name):
        yield "name: expected lower-case letters, digits and .-_, for signatures"
    if not edition.title.strip():
        yield "title: expected a text"
    if not edition.submitted:
        yield "splits: expected at least one for which predictions are handed in"
    named: dict[str, list[str]] = {
        "tracks": [track.name for track in edition.tracks],
        "splits": list(edition.split_names),
        "phases": [phase.name for phase in edition.phases],
        "columns": [column.key for column in edition.columns],
        "metrics": list(edition.metrics),
        "annotation.aspects": [aspect.name for aspect in edition.annotation.aspects],
        "annotation.labels": list(edition.annotation.labels),
    }
    for key, names in named.items():
        for index, name in enumerate(names):
            if name in names[:index]:
                yield f"{key}[{index}]: expected a name of its own, got '{name}' again"
            if not name.isprintable():
                yield f"{key}[{index}]: expected a name without control characters"
            if key in ("tracks", "splits") and not re.fullmatch(r"[^\s/\\]+", name):
                yield f"{key}[{index}].name: expected no blank and no slash, as file names have it"
    yield from _wrong_files(edition)
    yield from _wrong_keys(edition.item.keys)
    yield from _wrong_annotation(edition.annotation, edition.item.id_key)
    if (edition.annotation.kind == "aspects") == bool(edition.annotation.aspects):
        yield from _wrong_metrics(edition)
    yield from _wrong_phases(edition)


def _wrong_annotation(annotation: Annotation, id_key: str) -> Iterator[str]:
    kind, labels, aspects = annotation.kind, annotation.labels, annotation.aspects
    keys = [aspect.key for aspect in aspects] + [id_key]
    for index, aspect in enumerate(aspects):
        if keys.count(aspect.key) > 1:
            yield f"annotation.aspects[{index}].key: expected a key of its own, got '{aspect.key}'"
        if aspect.yes == aspect.no:
            yield f"annotation.aspects[{index}].no: expected another answer than yes"
    if kind == "binary" and labels and not are_two_labels(labels):
        yield f"annotation.labels: expected {TWO_LABELS}"
    if kind == "labelled-spans" and not labels:
        yield "annotation.labels: expected one or more for the kind labelled-spans"
    if kind in ("aspects", "spans") and labels:
        yield f"annotation.labels: expected none for the kind {kind}"
    if (kind == "aspects") != bool(aspects):
        yield "annotation.aspects: expected one or more for the kind aspects, and for no other"


def _wrong_files(edition: Edition) -> Iterator[str]:
    for role, file in vars(edition.files).items():
        if not file:
            continue
        pattern = file.replace("{lang}", "{track}")
        for part, names in (("{track}", edition.tracks), ("{split}", edition.splits)):
            # Rows of gold and data may name their track.
            is_needed = part == "{split}" or role == "predictions"
            if len(names) > 1 and part not in pattern and is_needed:
                yield f"files.{role}: expected {part} in it, since there are several"
        for part in set(re.findall(r"\{.*?\}", pattern)) - {"{track}", "{split}"}:
            yield f"files.{role}: expected {{split}}, {{track}} or {{lang}}, got {part}"
        endings: tuple[str, ...] = JSON[:2] if role == "predictions" else JSON
        if role != "predictions" or edition.annotation.kind == "binary":
            endings += (".csv", ".tsv")
        if file.count("*") > 1:
            yield f"files.{role}: expected one * at most"
        if not file.endswith(endings) or "/" in file:
            yield f"files.{role}: expected a file name that ends in {', '.join(endings)}"


def _wrong_keys(keys: Mapping[str, str]) -> Iterator[str]:
    for own, theirs in keys.items():
        place = f"item.keys.{own}"
        if own not in KEYS:
            yield f"{place}: no such key;{nearest(own, KEYS)} there are {', '.join(KEYS)}"
        elif list(keys.values()).count(theirs) > 1:
            yield f"{place}: expected a key of its own, got '{theirs}' again"
        elif theirs in KEYS and theirs not in keys:
            yield f"{place}: '{theirs}' is a key of the kit's own; name its key, too"


def _wrong_pages(edition: Edition, folder: Path | None) -> Iterator[str]:
    titles = list(PAGES)
    for name, file in edition.pages.items():
        title = name.replace("_", " ").casefold()
        if not re.fullmatch(r"\w[\w -]*", name):  # the files of a bundle are named by it
            yield f"pages.{name}: expected a name of letters, digits, blanks, - and _"
        elif name not in PAGES and title in titles:
            yield f"pages.{name}: there is a page {title} already; name it so, or choose another"
        titles.append(title)
        if folder is not None and (problem := page_problem(folder / file, folder)):
            yield f"pages.{name}: {problem}"


def page_problem(path: Path, folder: Path) -> str:
    """Return why a path is not a page in an edition's folder; other files are not public."""
    if not is_inside(path, folder):
        return f"{path} lies outside the folder of the edition; move it there"
    return "" if path.is_file() else f"no file {path.name} beside the edition"


def _wrong_metrics(edition: Edition) -> Iterator[str]:
    from shroom.scoring.kinds.registry import kind_of
    from shroom.scoring.metric_registry import METRICS

    kind = kind_of(edition)

    def problem_of(metric: str) -> str:
        try:
            kind.metric(METRICS.in_file(metric), edition)
        except ShroomError as error:
            return str(error)
        return ""

    for index, metric in enumerate(edition.metrics):
        if problem := problem_of(metric):
            yield f"metrics[{index}]: {problem}"
    ranking = edition.metrics or kind.defaults(edition)
    keys = [column.key for column in edition.platform_columns(ranking)]
    if not edition.columns and len(set(keys)) < len(keys):
        doubled = next(key for key in keys if keys.count(key) > 1)
        yield f"columns: two tracks have the column {doubled}; list the columns with keys"
    for index, column in enumerate(edition.columns):
        place = f"columns[{index}]"
        if not re.fullmatch(rf"[\w-]{{1,{MAX_KEY}}}", column.key, re.ASCII):
            yield f"{place}.key: expected letters, digits, _ and -, at most {MAX_KEY} characters"
        if column.undefined is not None and not math.isfinite(column.undefined):
            yield f"{place}.undefined: expected a finite number"
        if problem := problem_of(column.metric):
            yield f"{place}.metric: {problem}"
        if column.track not in (*edition.track_names, *([MEAN] if edition.average else [])):
            there = ", ".join(filter(None, edition.track_names)) or "none"
            yield f"{place}.track: no track '{column.track}'; there are {there}"


def _wrong_phases(edition: Edition) -> Iterator[str]:
    before = None
    for index, phase in enumerate(edition.phases):
        place = f"phases[{index}]"
        if phase.split not in edition.submitted:
            submitted = ", ".join(edition.submitted)
            yield f"{place}.split: no split '{phase.split}' is handed in; there are {submitted}"
        if phase.per_day < 1 or phase.total < 1:
            yield f"{place}: expected per_day and total of at least 1"
        days = {"start": phase.start, "end": phase.end}
        naive = {key: day for key, day in days.items() if getattr(day, "tzinfo", True) is None}
        for key, day in naive.items():
            example = "2027-01-31T23:59:59-12:00 (anywhere on Earth)"
            yield f"{place}.{key}: expected a time with its zone, such as {example}, got {day}"
        if naive:
            return
        try:
            opens, closes = phase.opens, phase.closes
        except ShroomError as error:
            yield f"{place}: {error}"
            return
        if opens and closes and closes <= opens:
            yield f"{place}.end: expected a day or a time after the start, {phase.start}"
        last = before and (before.closes or before.opens)
        if before and last and opens and opens <= last:
            after = before.end or before.start
            yield f"{place}.start: expected a day after {after}, when the phase before it ends"
        before = phase if phase.start or phase.end else before
