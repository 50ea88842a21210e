"""The checks of an edition file beyond the types of its values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shroom.core.paths import is_inside
from shroom.core.problems import ShroomError, nearest
from shroom.scoring.column_names import TWO_LABELS, are_two_labels
from shroom.scoring.editions.competition import MAX_KEY
from shroom.scoring.editions.edition import MEAN, Annotation, Edition
from shroom.scoring.editions.plain import WrongEdition, from_plain
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.metric_registry import METRICS
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
    """Return the edition of plain values; ``folder`` contains its pages. Report all mistakes."""
    try:
        edition = from_plain(plain)
    except WrongEdition as error:
        again = "correct these mistakes, then check again, because not everything was checked"
        raise WrongEdition([*error.problems, again]) from error
    problems = [*_contradictions(edition), *_wrong_pages(edition, folder)]
    if problems:
        raise WrongEdition(problems)
    return edition


def warnings_of(edition: Edition) -> Iterator[str]:
    """Yield likely mistakes: an example address, a split without a phase, early scores."""
    if edition.contact.endswith("@example.org"):
        yield f"contact: {edition.contact} is an example; replace it with your own address"
    used = {phase.split for phase in edition.phases}
    for index, split in enumerate(edition.splits):
        if used and split.submitted and split.name not in used:
            why = "has no phase, so 'shroom bundle' leaves the split out"
            fix = "add a phase, or set submitted = false"
            yield f"splits[{index}]: the split {split.name} {why}; {fix}"
    for index, phase in enumerate(edition.phases):
        for before in edition.phases[:index]:
            if phase.blind and not before.blind and before.split == phase.split:
                why = f"the earlier phase {before.name} shows scores of the same split"
                yield f"phases[{index}]: the phase {phase.name} is blind, but {why}, {phase.split}"


def _contradictions(edition: Edition) -> Iterator[str]:
    """Yield contradictions between the values of an edition."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", edition.name):
        yield "name: use only lower-case letters, digits, '.', '-' and '_', as in my-task"
    if not edition.title.strip():
        yield "title: expected the name of the task, got an empty text"
    if not edition.submitted:
        yield "splits: expected at least one split for submissions (submitted = true)"
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
            place = f"{key}[{index}]"
            if name in names[:index]:
                yield f"{place}: the name '{name}' is used twice; choose another one"
            if not name.isprintable():
                yield f"{place}: the name contains control characters; remove them"
            if key in ("tracks", "splits") and not re.fullmatch(r"[^\s/\\]+", name):
                why = "because file names contain this name"
                yield f"{place}.name: use no spaces or slashes, {why}"
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
        place = f"annotation.aspects[{index}]"
        if keys.count(aspect.key) > 1:
            yield f"{place}.key: the key '{aspect.key}' is used twice"
        if aspect.yes == aspect.no:
            yield f"{place}.no: expected an answer that differs from the value of 'yes'"
    if kind == "binary" and labels and not are_two_labels(labels):
        yield f"annotation.labels: expected {TWO_LABELS}"
    if kind == "labelled-spans" and not labels:
        yield "annotation.labels: the kind 'labelled-spans' needs at least one label"
    if kind in ("aspects", "spans") and labels:
        yield f"annotation.labels: the kind {kind} has no labels; remove this key"
    if kind == "aspects" and not aspects:
        yield "annotation.aspects: the kind 'aspects' needs at least one aspect"
    if kind != "aspects" and aspects:
        yield f"annotation.aspects: the kind {kind} has no aspects; remove this key"


def _wrong_files(edition: Edition) -> Iterator[str]:
    for role, file in vars(edition.files).items():
        if not file:
            continue
        pattern = file.replace("{lang}", "{track}")
        for part, names in (("{track}", edition.tracks), ("{split}", edition.splits)):
            # Rows of gold and data may name their track.
            is_needed = part == "{split}" or role == "predictions"
            if len(names) > 1 and part not in pattern and is_needed:
                several = f"because there are several {part[1:-1]}s"
                yield f"files.{role}: add {part} to the pattern, {several}"
        for part in set(re.findall(r"\{.*?\}", pattern)) - {"{track}", "{split}"}:
            yield f"files.{role}: expected {{split}}, {{track}} or {{lang}}, got {part}"
        endings: tuple[str, ...] = JSON[:2] if role == "predictions" else JSON
        if role != "predictions" or edition.annotation.kind == "binary":
            endings += (".csv", ".tsv")
        if not file.endswith(endings) or "/" in file:
            ends = f"{', '.join(endings[:-1])} or {endings[-1]}"
            yield f"files.{role}: expected a file name that ends in {ends}, without folders"


def _wrong_keys(keys: Mapping[str, str]) -> Iterator[str]:
    for own, theirs in keys.items():
        place = f"item.keys.{own}"
        if own not in KEYS:
            yield f"{place}: unknown key;{nearest(own, KEYS)} the kit's keys are {', '.join(KEYS)}"
        elif list(keys.values()).count(theirs) > 1:
            yield f"{place}: the key '{theirs}' is used twice; choose another one"
        elif theirs in KEYS and theirs not in keys:
            fix = f"set item.keys.{theirs} to another name"
            yield f"{place}: '{theirs}' is also a key of the kit; {fix}"


def _wrong_pages(edition: Edition, folder: Path | None) -> Iterator[str]:
    for name, file in edition.pages.items():
        if not re.fullmatch(r"\w[\w -]*", name):  # the files of a bundle are named by it
            yield f"pages.{name}: use only letters, digits, spaces, '-' and '_' in this name"
        if folder is not None and (problem := page_problem(folder / file, folder)):
            yield f"pages.{name}: {problem}"


def page_problem(path: Path, folder: Path) -> str:
    """Return why a path is not a file in the edition's folder; files elsewhere are not public."""
    if not is_inside(path, folder):
        return f"{path} is outside the folder of the edition; move the file into that folder"
    return "" if path.is_file() else f"there is no file {path.name} in the folder of the edition"


def _wrong_metrics(edition: Edition) -> Iterator[str]:
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
        yield f"columns: two columns have the key {doubled}; give each column a different key"
    for index, column in enumerate(edition.columns):
        place = f"columns[{index}]"
        if not re.fullmatch(rf"[\w-]{{1,{MAX_KEY}}}", column.key, re.ASCII):
            yield f"{place}.key: use at most {MAX_KEY} characters: letters, digits, '_' and '-'"
        if problem := problem_of(column.metric):
            yield f"{place}.metric: {problem}"
        if column.track not in (*edition.track_names, *([MEAN] if edition.average else [])):
            there = ", ".join(filter(None, edition.track_names)) or "none"
            yield f"{place}.track: unknown track '{column.track}'; the tracks are: {there}"


def _wrong_phases(edition: Edition) -> Iterator[str]:
    before = None
    for index, phase in enumerate(edition.phases):
        place = f"phases[{index}]"
        if phase.split not in edition.submitted:
            expected = f"a split with submitted = true ({', '.join(edition.submitted)})"
            yield f"{place}.split: expected {expected}, got '{phase.split}'"
        if phase.per_day < 1 or phase.total < 1:
            yield f"{place}: per_day and total must be at least 1"
        days = {"start": phase.start, "end": phase.end}
        naive = {key: day for key, day in days.items() if getattr(day, "tzinfo", True) is None}
        for key, day in naive.items():
            example = "2027-01-31T23:59:59-12:00 (anywhere on Earth)"
            yield f"{place}.{key}: the time {day} has no time zone; write it as in {example}"
        if naive:
            return
        try:
            opens, closes = phase.opens, phase.closes
        except ShroomError as error:
            yield f"{place}: {error}"
            return
        if opens and closes and closes <= opens:
            yield f"{place}.end: the end must be after the start, {phase.start}"
        last = before and (before.closes or before.opens)
        if before and last and opens and opens <= last:
            what, day = ("end", before.end) if before.end else ("start", before.start)
            yield f"{place}.start: the start must be after the {what} of the previous phase, {day}"
        before = phase if phase.start or phase.end else before
