"""Data files in SHROOM's form, read as datapoints and written from them.

Keys differ by split: trial and val have ``ref``, ``model`` and labels, but no ``id``; test has an
``id`` and no ``ref``; train has neither ``id`` nor labels. Whatever is absent stays empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from shroom.core import json_reading
from shroom.core.datapoint import Datapoint, Label, Reference, Task
from shroom.core.json_writing import json_line
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, Stopped, show
from shroom.scoring.data_set_forms import refuse_another
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default, resolve
from shroom.scoring.in_memory import Data, as_source, row_of
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.item_values import id_in, is_missing, p_in, problem_of_id, problem_of_p
from shroom.scoring.kinds.base import Fault
from shroom.scoring.kinds.labelled_spans import LABELS
from shroom.scoring.kinds.quotes import past_end
from shroom.scoring.kinds.span_values import (
    HardSpan,
    LabelledSpan,
    SoftSpan,
    hard_of,
    read_spans,
    share_marked,
    soft_of,
    sum_of,
)
from shroom.scoring.kinds.spans import HARD, SOFT
from shroom.scoring.table import P

AnyEnum = TypeVar("AnyEnum", bound=Enum)


@dataclass(frozen=True)
class DataFile:
    """One file of data.

    Attributes
    ----------
    base : str
        Its name, without folders.
    datapoints : list of Datapoint
        In order.
    file : str
        How messages name it.
    """

    base: str
    datapoints: list[Datapoint]
    file: str = ""


def read(
    source: Data, problems: Problems | None = None, edition: Edition | Source | None = None
) -> list[Datapoint]:
    """Return the datapoints of a file, of all files of a folder or zip, or of rows in memory.

    Parameters
    ----------
    source : path or "-", rows or data frame
        A file (``.json``, ``.jsonl``, ``.csv`` or ``.tsv``, each of them also gzipped), a folder,
        a zip or a pipe; or rows, see :func:`shroom.scoring.in_memory.as_source`.
    problems : Problems, optional
        Gets the warnings, such as a bare ``NaN`` for a text, each with its place.
    edition : Edition, str or path, optional
        The shared task whose form they have; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    InvalidInput
        With every problem, if there are errors.

    Examples
    --------
    >>> points = read("shroom/sample/val.model-aware.json")
    >>> len(points), points[0].task.name, points[0].p
    (60, 'PG', 1.0)
    """
    return [
        point for file in read_files(source, problems, edition=edition) for point in file.datapoints
    ]


def read_files(
    source: Data,
    problems: Problems | None = None,
    choose: Callable[[list[Document]], list[Document]] = list,
    edition: Edition | Source | None = None,
) -> list[DataFile]:
    """Return the files of a source one by one, of those that ``choose`` keeps; see :func:`read`."""
    problems = Problems() if problems is None else problems
    if isinstance(source, list) and source and all(isinstance(it, Datapoint) for it in source):
        return [DataFile("data", source, "data")]
    source = as_source(source, "data")
    edition, _ = resolve(edition, source)
    files = []
    for document in choose(documents_among_others(source, problems, edition)):
        file = from_document(document, problems, edition)
        if file is not None:
            files.append(file)
    if problems.errors:
        raise InvalidInput(problems)
    return files


def from_document(
    document: Document, problems: Problems, edition: Edition | None = None
) -> DataFile | None:
    """Return what a document holds, or ``None`` where it cannot be read; see :func:`from_items`."""
    edition = edition or default()
    data = document.read(problems)
    if data is None or (edition.reads_own_form and refuse_another(document, data, problems)):
        return None
    try:
        items = document.iter_items(data, problems, edition.item)
        datapoints = from_items(items, document.file, problems, edition)
    except Stopped:
        return None
    return DataFile(document.base, datapoints, document.file)


def from_items(
    items: Iterable[Any], file: str, problems: Problems, edition: Edition | None = None
) -> list[Datapoint]:
    """Return the datapoints of rows in SHROOM's form, with every problem of theirs reported.

    Parameters
    ----------
    items : iterable
        A value from a file, of any type.
    file : str
        Name of the file in messages.
    problems : Problems
        Gets the problems; where there are errors, the datapoints are not to be used.
    edition : Edition, optional
        The edition whose keys, ids and tasks they have; ``semeval2024`` by default.
    """
    edition = edition or default()
    datapoints = []
    for index, item in enumerate(edition.with_own_keys(items)):
        if item is json_reading.BROKEN:
            continue
        if not isinstance(item, dict):
            problems.add("item-object", file, "an object", show(item), index=index)
            continue
        datapoints.append(_Item(item, index, file, problems, edition).datapoint())
    return datapoints


class _Item:
    """One row while it is read, reporting what it has wrong."""

    def __init__(
        self, item: dict[str, Any], index: int, file: str, problems: Problems, edition: Edition
    ) -> None:
        self.item, self.index, self.file, self.problems = item, index, file, problems
        self.edition = edition
        self.id_key, self.id_kind = edition.item.id_key, edition.item.id
        self.id = id_in(item.get(self.id_key), self.id_kind)

    def datapoint(self) -> Datapoint:
        if self.id_key in self.item and self.id is None:
            problem = problem_of_id(self.item[self.id_key], self.id_kind)
            if problem is not None:
                self._report(problem[0], self.id_key, problem[1])
        for key in ("hyp", "task") if self.edition.tasks else ("hyp",):
            if key not in self.item:
                expected, description = f'the key "{key}"', f"keys {show(list(self.item))}"
                place = {"index": self.index, "id": self.id}
                self.problems.add("key-missing", self.file, expected, description, **place)
        task, kind = self._task(), self.edition.annotation.kind
        has_ref = bool(self._word_or_empty("ref"))
        ref = self._word("ref", Reference, "ref-value") if has_ref else None
        point = Datapoint(
            hyp=self._text("hyp"),
            src=self._text("src"),
            tgt=self._text("tgt"),
            task=task,
            ref=ref,
            model=self._text("model"),
            id=self.id,
            labels=() if kind == "labelled-spans" else self._labels(),
            label=self._word("label", Label, "label-value"),
            p=self._p(),
        )
        return self._marked(point, kind) if kind in ("spans", "labelled-spans") else point

    def _marked(self, point: Datapoint, kind: str) -> Datapoint:
        """Return a datapoint with the spans of its row, and the label and p that follow."""
        if kind == "spans":
            hard = self._spans(HARD, HardSpan)
            soft = self._spans(SOFT, SoftSpan)
        else:
            names = self.edition.annotation.labels
            labelled = self._spans(LABELS, LabelledSpan, names)
            hard = None
            self._report_faults(LABELS, past_end(labelled, point.hyp))
            soft = None if labelled is None else sum_of(labelled)
        if soft is None:
            if hard is None:
                return point
            soft = soft_of(hard)
        p = share_marked(hard_of(soft) if hard is None else hard, len(point.hyp))
        label = Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION
        return replace(point, label=label, p=p, spans=soft)

    def _spans(self, key: str, form: type[Any], labels: Sequence[str] = ()) -> Any:
        value = self.item.get(key)
        spans, faults = (None, ()) if value is None else read_spans(value, form, labels)
        self._report_faults(key, faults)
        return spans

    def _report_faults(self, key: str, faults: Iterable[Fault]) -> None:
        for fault in faults:
            found = show(fault.value)
            self._report_value(fault.code, key + fault.part, fault.expected, found)

    def _text(self, key: str) -> str:
        value = self.item.get(key, "")
        if isinstance(value, str):
            return value
        if is_missing(value):
            self._report("value-finite", key, "a text (read as empty)")
        else:
            self._report("text-string", key, "a text")
        return ""

    def _word_or_empty(self, key: str) -> Any:
        """Return a value as it is, or an empty text, which is reported, where it is missing."""
        value = self.item.get(key, "")
        return self._text(key) if is_missing(value) else value

    def _task(self) -> Task:
        # Where a task is needed, an empty one is no remedy for null.
        name = self.item.get("task", "") if self.edition.tasks else self._word_or_empty("task")
        task = self.edition.task(name) if isinstance(name, str) else None
        if task is None:
            if "task" in self.item:
                names = " or ".join(f'"{name}"' for name in self.edition.tasks) or "a text"
                self._report("task-value", "task", names)
            task = Task.TS  # there is an error, and this is never used
        return task

    def _word(self, key: str, words: type[AnyEnum], code: str) -> AnyEnum | None:
        if key not in self.item:
            return None
        try:
            return words(self.item[key])
        except ValueError:
            self._report(code, key, " or ".join(f'"{word.value}"' for word in words))
            return None

    def _labels(self) -> tuple[Label, ...]:
        value = self.item.get("labels", [])
        try:
            return tuple(Label(label) for label in value)
        except (TypeError, ValueError):
            self._report("label-value", "labels", "a list of labels")
            return ()

    def _p(self) -> float | None:
        if P not in self.item:
            return None
        problem = problem_of_p(self.item[P])
        if problem is not None:
            self._report(problem[0], P, problem[1])
        return p_in(self.item[P])

    def _report_value(self, code: str, key: str, expected: str, got: str) -> None:
        place = {"index": self.index, "id": self.id, "key": key}
        self.problems.add(code, self.file, expected, got, **place)

    def _report(self, code: str, key: str, expected: str) -> None:
        self._report_value(code, key, expected, show(self.item[key]))


def write(datapoints: Iterable[Datapoint]) -> str:
    """Return datapoints as a JSON list in SHROOM's form, a line for each."""
    rows = (json_line(row_of(point)) for point in datapoints)
    return "[\n" + ",\n".join(rows) + "\n]\n"
