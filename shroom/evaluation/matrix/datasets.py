"""The data sets that detectors are evaluated on, from names or rows to judged datapoints."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.paths import Source, shown_path
from shroom.core.printing import counted, nearest, printable
from shroom.core.problems import InvalidInput, Problems, ShroomError, UnknownName
from shroom.datasets.download import path_here
from shroom.datasets.registry import DATA_SETS, data_set, guess, refuse_another
from shroom.metrics.cluster_bootstrap import places
from shroom.scoring.editions.files import default
from shroom.scoring.file_choice import latest
from shroom.scoring.in_memory import Data, are_several, as_source, is_path
from shroom.scoring.input_files import CSV, JSON, Document, documents_among_others, is_pipe
from shroom.scoring.result import Plain

#: ``NAME=PATH`` or ``NAME:VIEW=PATH``; a path may also contain an equals sign.
_NAMED = re.compile(r"(?P<name>[\w-]*)(:(?P<view>[\w-]*))?=(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class Subject(Plain):
    """Judged datapoints of one view of a data set; p = 0.5 counts as Not Hallucination."""

    name: str
    dataset: str
    view: str
    about: str
    paths: tuple[str, ...]
    datapoints: list[Datapoint]
    unit: NDArray[np.intp]
    label: NDArray[np.bool_]
    p: NDArray[np.float64]
    without_premise: int
    notes: tuple[str, ...]
    problems: Problems
    keys = (
        *("dataset", "view", "about", "paths", "n", "units", "hallucinations"),
        *("without_premise", "content"),
    )

    def __repr__(self) -> str:
        return f"Subject({self.name}: {self.size})"

    @property
    def place(self) -> str:
        """Its name in sentences; the name of a data set may only mean the format of a file."""
        is_format = self.name.partition(":")[0] == self.dataset
        return f"{', '.join(self.paths)} ({self.name} format)" if is_format else self.name

    @property
    def n(self) -> int:
        return len(self.datapoints)

    @property
    def units(self) -> int:
        return int(self.unit.max()) + 1

    @property
    def size(self) -> str:
        units = f" in {counted(self.units, 'unit')}" if self.units < self.n else ""
        text = f"{counted(self.n, 'item')}{units}, "
        text += f"{counted(self.hallucinations, 'hallucination')} "
        text += f"({100 * self.hallucinations / self.n:.1f}%)"
        if self.without_premise:
            text += f"; left out: {counted(self.without_premise, 'item')} without a premise"
        return text

    @property
    def hallucinations(self) -> int:
        return int(self.label.sum())

    @property
    def content(self) -> str:
        return digest_of(self.datapoints, judged=True)


def subjects(
    datasets: Data | Sequence[Data | Subject] | Mapping[str, Data],
) -> list[Subject]:
    """Return the named data; files of the same data set and view form one subject."""
    listed: Sequence[Any] = datasets if are_several(datasets) else [datasets]
    if listed and all(isinstance(it, Subject) for it in listed):
        return list(listed)
    numbered = {f"data {place}": data for place, data in enumerate(listed, 1)}
    groups: dict[str, list[Named]] = {}
    for name, data in (datasets if isinstance(datasets, Mapping) else numbered).items():
        spec = _named_or_rows(data, str(name))
        key = str(name) if isinstance(datasets, Mapping) else spec.key
        groups.setdefault(key, []).append(spec)
    return [_subject(key, group) for key, group in groups.items()]


def digest_of(datapoints: Sequence[Datapoint], *, judged: bool = False) -> str:
    """Return a digest of the texts that a detector reads, optionally with the judgements."""
    digest = hashlib.sha256()
    for point in datapoints:
        verdict = (point.label and point.label.value, point.p) if judged else ()
        texts = (point.hyp, point.src, point.tgt, *point.other_tgts, point.task.name, point.model)
        row = (*texts, point.ref and point.ref.value, point.id, *verdict)
        digest.update(repr(row).encode())
    return digest.hexdigest()[:32]


def _subject(key: str, group: Sequence[Named]) -> Subject:
    files, notes = _chosen_files(group)
    source, problems = data_set(group[0].dataset), Problems()
    records = source.read(*files, problems=problems).records
    view = source.view(group[0].view)
    every = [*zip(view.datapoints(records), view.units(records))]
    judged = [it for it in every if it[0].src.strip() or it[0].tgt.strip()]
    points, paths = [point for point, _ in judged], tuple(str(spec.path) for spec in group)
    if not points:
        raise ShroomError(
            f"{', '.join(paths)}: no item of {key} has a label and a premise; choose labelled files"
        )
    p = np.array([point.p for point in points], np.float64)
    unlabelled = np.array([point.label is None for point in points])
    return Subject(
        *(key, group[0].dataset, group[0].view, view.about, paths, points),
        places([unit for _, unit in judged]),
        np.array([point.label is Label.HALLUCINATION for point in points]) | unlabelled & (p > 0.5),
        p,
        len(every) - len(points),
        tuple(notes),
        problems,
    )


def _chosen_files(group: Sequence[Named]) -> tuple[list[Source], list[str]]:
    """Return paths and notes; refuse files with the same content."""
    paths, notes, contents = list[Source](), list[str](), set[bytes]()
    for spec in group:
        newest, older = _versions(spec)
        for document in newest:
            data = document.read(Problems())
            if data in contents:
                raise ShroomError(
                    f"{document.file} has the same content as another file, so its items would "
                    "count twice; remove one of the files"
                )
            contents.update([data] if data else [])  # of none, the data set's reader says why
        paths += [document.file for document in newest] if older else [spec.path]
        if older:
            names = ", ".join(document.base for document in older)
            notes.append(f"{spec.path}: older versions are ignored: {names}")
    return paths, notes


def _versions(spec: Named) -> tuple[list[Document], list[Document]]:
    """Return the latest files of a data set, and older ones, such as val.model-aware.v1.json."""
    if is_pipe(spec.path):
        raise ShroomError(f"{spec.path} is a pipe, but the data are read twice; use a file")
    problems = Problems()
    documents = documents_among_others(spec.path, problems, endings=JSON + CSV)
    if problems.errors:
        raise InvalidInput(problems)
    edition = default()
    best = [edition.parse(it.base) for it in latest(documents, Problems(), edition).values()]
    older = [it for it in documents if edition.parse(it.base) not in (None, *best)]
    if older and not Path(spec.path).is_dir():
        raise ShroomError(f"{spec.path} has several versions of one split; choose one of its files")
    return [it for it in documents if it not in older], older


@dataclass(frozen=True)
class Named:
    dataset: str
    view: str
    path: Source
    name: str = ""

    @property
    def key(self) -> str:
        """Its given name; otherwise the data set and, unless it is the default, the view."""
        if self.name:
            return self.name
        usual = next(iter(data_set(self.dataset).views))
        return self.dataset if self.view == usual else f"{self.dataset}:{self.view}"


def named(text: str) -> Named:
    """Return the data set that is specified by ``NAME[:VIEW]=PATH``, a path or ``NAME[:VIEW]``."""
    parts, names = _NAMED.fullmatch(text), ", ".join(DATA_SETS)
    if parts and not Path(text).exists():
        spec = _viewed(parts["name"], parts["view"], parts["path"])
        refuse_another(spec.dataset, spec.path)
        return spec
    if Path(text).exists():
        name = guess(text)
        if name is None:
            what = "a pipe" if is_pipe(text) else "in an unknown format"
            raise ShroomError(
                f"{text} is {what}; specify the data set: NAME={text}, where NAME is one of {names}"
            )
        return _viewed(name, None, text)
    name, _, view = text.partition(":")
    if name not in DATA_SETS:
        what = f"is neither a file nor a data set;{nearest(name.lower(), DATA_SETS)}"
        raise UnknownName(f"{printable(text)}: {what} write NAME=PATH; NAME is one of {names}")
    return _viewed(name, view or None, path_here(name))


def _viewed(name: str, view: str | None, path: Source) -> Named:
    source = data_set(name)
    source.view(view)  # so that an unknown one is refused
    return Named(name, view or next(iter(source.views)), shown_path(path))


def _named_or_rows(data: Data, name: str) -> Named:
    if is_path(data):
        return named(os.fspath(data))
    source = as_source(data, name)
    dataset = guess(source)  # by the keys of the first row
    if dataset is None:
        raise ShroomError(
            f"{name}: unknown format; rows need the keys of a data set, such as "
            "hyp, src, tgt, task, label and p(Hallucination)"
        )
    return Named(dataset, next(iter(data_set(dataset).views)), source, name=name)
