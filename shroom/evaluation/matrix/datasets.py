"""What detectors are evaluated on: judged datapoints of views of data sets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets.registry import data_set
from shroom.evaluation.matrix.dataset_specs import Named, named
from shroom.metrics.cluster_bootstrap import places
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import CSV, JSON, Document, documents_among_others, is_pipe


@dataclass(frozen=True, eq=False)
class Subject:
    """Judged datapoints of one view of a data set.

    Attributes
    ----------
    name : str
        The data set's and, unless it is the usual one, the view's, as ``felm:prompt``.
    dataset, view : str
        Each by itself.
    about : str
        What premise, hypothesis and p are.
    paths : tuple of str
        Where they are from.
    datapoints : list of Datapoint
        Those that have a premise.
    unit : array of int, shape [n]
        The number of the unit, such as a response, that each datapoint belongs to.
    label : array of bool, shape [n]
        Whether it is a hallucination; not where p is 0.5, unless the data say otherwise.
    p : array, shape [n]
        The proportion of the annotators, or what the view makes of their verdict.
    left_out : int
        How many have nothing to hold the hypothesis against.
    files : frozenset of str
        Digests of the files.
    notes : tuple of str
        What the user should know.
    problems : Problems
        What was odd about the files.
    """

    name: str
    dataset: str
    view: str
    about: str
    paths: tuple[str, ...]
    datapoints: list[Datapoint]
    unit: NDArray[np.intp]
    label: NDArray[np.bool_]
    p: NDArray[np.float64]
    left_out: int
    files: frozenset[str]
    notes: tuple[str, ...]
    problems: Problems

    @property
    def n(self) -> int:
        """How many datapoints there are."""
        return len(self.datapoints)

    @property
    def units(self) -> int:
        """How many units they belong to."""
        return int(self.unit.max()) + 1

    @property
    def halves(self) -> int:
        """How many have p = 0.5, which as a label is Not Hallucination."""
        return int(np.count_nonzero((self.p == 0.5) & ~self.label))

    def to_dict(self) -> dict[str, Any]:
        """Return what json says of it; no text of the data."""
        return {
            "dataset": self.dataset,
            "view": self.view,
            "about": self.about,
            "paths": list(self.paths),
            "n": self.n,
            "units": self.units,
            "hallucinations": int(self.label.sum()),
            "halves": self.halves,
            "without_premise": self.left_out,
            "content": digest_of(self.datapoints, judged=True),
        }


def subjects(texts: Iterable[str]) -> list[Subject]:
    """Return what some texts name, those of one data set and view together.

    Raises
    ------
    ShroomError
        See :func:`shroom.evaluation.matrix.dataset_specs.named`; or where a file is there twice,
        cannot be read or has nothing judged.
    """
    groups: dict[str, list[Named]] = {}
    for one in map(named, texts):
        groups.setdefault(one.key, []).append(one)
    return [_subject(key, group) for key, group in groups.items()]


def digest_of(datapoints: Sequence[Datapoint], *, judged: bool = False) -> str:
    """Return a digest of what a detector sees of datapoints, or also of what they are judged.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> digest_of([pair("a", "b", 1.0)]) == digest_of([pair("a", "b", 0.0)])
    True
    """
    digest = hashlib.sha256()
    for point in datapoints:
        verdict = (point.label and point.label.value, point.p) if judged else ()
        texts = (point.hyp, point.src, point.tgt, point.task.value, point.model)
        row = (*texts, point.ref and point.ref.value, point.id, *verdict)
        digest.update(repr(row).encode())
    return digest.hexdigest()[:32]


def _subject(key: str, group: Sequence[Named]) -> Subject:
    files = _Files.of(group)
    source = data_set(group[0].dataset)
    problems = Problems()
    records = source.read(*files.paths, problems=problems).records
    view = source.view(group[0].view)
    points, units = view.datapoints(records), view.units(records)
    kept = [n for n, point in enumerate(points) if point.src.strip() or point.tgt.strip()]
    paths = tuple(one.path for one in group)
    if not kept:
        raise ShroomError(
            f"{', '.join(paths)}: has no item of {key} that is judged and has a premise; name "
            "files with labels"
        )
    return Subject(
        key,
        group[0].dataset,
        group[0].view,
        view.about,
        paths,
        [points[n] for n in kept],
        places([units[n] for n in kept]),
        np.array([_is_hallucination(points[n]) for n in kept]),
        np.array([points[n].p for n in kept], np.float64),
        len(points) - len(kept),
        frozenset(files.digests),
        (*(one.note for one in group if one.note), *files.notes),
        problems,
    )


def _is_hallucination(point: Datapoint) -> bool:
    if point.label is None:
        return (point.p or 0.0) > 0.5
    return point.label is Label.HALLUCINATION


@dataclass
class _Files:
    """What is read for a subject: paths, the digests of their files, what to say of them."""

    paths: list[str]
    digests: dict[str, str]
    notes: list[str]

    @classmethod
    def of(cls, group: Sequence[Named]) -> _Files:
        found = cls([], {}, [])
        for one in group:
            documents = _documents(one)
            kept = _latest(one, documents)
            for document in kept:
                found.add(document)
            if len(kept) == len(documents):
                found.paths.append(one.path)
                continue
            found.paths += [document.file for document in kept]
            older = ", ".join(document.base for document in documents if document not in kept)
            found.notes.append(f"{one.path}: left out {older}: there is a later version")
        return found

    def add(self, document: Document) -> None:
        """Note a file, refusing what is there already: its items would count twice."""
        data = document.read(Problems())
        if data is None:  # the data set's reader says why
            return
        digest = hashlib.sha256(data).hexdigest()
        if digest in self.digests:
            raise ShroomError(
                f"{document.file}: has the same content as {self.digests[digest]}, so its items "
                "would count twice; name one of them"
            )
        self.digests[digest] = document.file


def _documents(one: Named) -> list[Document]:
    """Return the files of what was named, which are read more than once."""
    if is_pipe(one.path):
        raise ShroomError(f"{one.path}: is a pipe, and data are read twice here; name a file")
    problems = Problems()
    documents = documents_among_others(one.path, problems, endings=JSON + CSV)
    if problems.errors:
        raise InvalidInput(problems)
    return documents


def _latest(one: Named, documents: list[Document]) -> list[Document]:
    """Return the files without those that a later version replaces: val.model-aware.v1.json."""
    versions: dict[tuple[str, str], int] = {}
    names = [Name.parse(document.base) for document in documents]
    for name in names:
        if name is not None:
            key = name.split, name.track
            versions[key] = max(name.version, versions.get(key, 0))
    kept = [
        document
        for name, document in zip(names, documents)
        if name is None or name.version == versions[name.split, name.track]
    ]
    if len(kept) < len(documents) and not Path(one.path).is_dir():
        raise ShroomError(f"{one.path}: has several versions of one split; name one file of it")
    return kept
