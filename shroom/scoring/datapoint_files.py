"""Reading and writing datapoints in SHROOM's format."""

# Trial and val have ``ref``, ``model``, labels and no ``id``; test an ``id`` and no ``ref``.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from shroom.core.datapoint import Datapoint, Label, Reference, Task
from shroom.core.json_reading import BROKEN
from shroom.core.json_writing import json_line
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, Stopped, show
from shroom.scoring.data_set_forms import read_own
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default, resolve
from shroom.scoring.in_memory import Data, as_source, row_of
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.item_values import id_in, is_missing, p_in, problem_of_id, problem_of_p
from shroom.scoring.kinds.base import Fault
from shroom.scoring.kinds.labelled_spans import LABELS
from shroom.scoring.kinds.quotes import past_end
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.kinds.span_values import hard_of, share_marked, soft_of, sum_of
from shroom.scoring.kinds.spans import HARD, SOFT
from shroom.scoring.rows import P, Role

T = TypeVar("T")
_LABELS = " or ".join(f'"{label.value}"' for label in Label)


@dataclass(frozen=True)
class DataFile:
    """One file of data."""

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
        Collects the warnings, such as for ``NaN`` instead of a text.
    edition : Edition, str or path, optional
        The shared task whose format the data have; see :func:`shroom.scoring.check.check`.

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
    """Return the data files of a source that ``choose`` selects; see :func:`read`."""
    problems = Problems() if problems is None else problems
    if isinstance(source, list) and source and all(isinstance(it, Datapoint) for it in source):
        return [DataFile("data", source, "data")]
    source = as_source(source, "data")
    edition, _ = resolve(edition, source)
    chosen = choose(documents_among_others(source, problems, edition))
    files = [from_document(document, problems, edition) for document in chosen]
    if problems.errors:
        raise InvalidInput(problems)
    return [file for file in files if file is not None]


def from_document(
    document: Document, problems: Problems, edition: Edition | None = None
) -> DataFile | None:
    """Return the datapoints of a document; ``None`` if it cannot be read."""
    edition = edition or default()
    data = read_own(document, problems, edition)
    if data is None:
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
    """Return the datapoints of rows in SHROOM's format; not usable if there are errors."""
    edition = edition or default()
    datapoints = []
    for index, item in enumerate(edition.with_own_keys(items)):
        if isinstance(item, dict):
            datapoints.append(_Item(item, index, file, problems, edition).datapoint())
        elif item is not BROKEN:
            problems.add("item-object", file, "an object", show(item), index=index)
    return datapoints


class _Item:
    """A row that is being read, with a report of its problems."""

    def __init__(
        self, item: dict[str, Any], index: int, file: str, problems: Problems, edition: Edition
    ) -> None:
        self.item, self.file, self.problems, self.edition = item, file, problems, edition
        id_key, id_kind = edition.item.id_key, edition.item.id
        self.place = {"index": index, "id": id_in(item.get(id_key), id_kind)}
        problem = problem_of_id(item.get(id_key), id_kind)
        if id_key in item and self.place["id"] is None and problem is not None:
            self._report(problem[0], id_key, problem[1])

    def datapoint(self) -> Datapoint:
        for key in ("hyp", "task") if self.edition.tasks else ("hyp",):
            if key not in self.item:
                expected, found = f'the key "{key}"', f"keys {show(list(self.item))}"
                self.problems.add("key-missing", self.file, expected, found, **self.place)
        # If a task is required, null is not replaced by an empty one.
        name = self.item.get("task", "") if self.edition.tasks else self._or_empty("task")
        task = self.edition.task(name) if isinstance(name, str) else None
        if task is None and "task" in self.item:
            names = " or ".join(f'"{name}"' for name in self.edition.tasks) or "a text"
            self._report("task-value", "task", names)
        references = '"src", "tgt" or "either"'
        has_ref = bool(self._or_empty("ref"))
        tgt, *other_tgts = self._tgts()
        point = Datapoint(
            hyp=self._text("hyp"),
            src=self._text("src"),
            tgt=tgt,
            task=task or Task.TS,  # then there is an error, and this is never used
            ref=self._read("ref", Reference, "ref-value", references) if has_ref else None,
            model=self._text("model"),
            id=self.place["id"],
            labels=() if self.edition.annotation.kind == "labelled-spans" else self._labels(),
            label=self._read("label", Label, "label-value", _LABELS),
            p=self._p(),
            other_tgts=tuple(other_tgts),
        )
        return self._marked(point) if kind_of(self.edition).marks_texts else point

    def _marked(self, point: Datapoint) -> Datapoint:
        """Return a datapoint with the spans of its row, and its label and p by these spans."""
        values = dict[str, Any]()
        groups = kind_of(self.edition).fields(self.edition, Role.DATA)
        for key, read, *_ in (field for group in groups for field in group.fields):
            value = self.item.get(key)
            values[key], faults = (None, ()) if value is None else read(value)
            self._report_faults(key, faults)
        soft, hard = values.get(SOFT), values.get(HARD)
        if LABELS in values:
            self._report_faults(LABELS, past_end(values[LABELS], point.hyp))
            soft = None if values[LABELS] is None else sum_of(values[LABELS])
        if soft is None and hard is None:
            return point
        soft = soft_of(hard or ()) if soft is None else soft
        p = share_marked(hard_of(soft) if hard is None else hard, len(point.hyp))
        label = Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION
        return replace(point, label=label, p=p, spans=soft)

    def _report_faults(self, key: str, faults: Iterable[Fault]) -> None:
        for fault in faults:
            found = show(fault.value)
            self._add(fault.code, key + fault.part, fault.expected, found)

    def _text(self, key: str, form: str = "a text") -> str:
        value = self.item.get(key, "")
        if isinstance(value, str):
            return value
        missing = is_missing(value)
        expected = "a text (read as empty)" if missing else form
        self._report("value-finite" if missing else "text-string", key, expected)
        return ""

    def _tgts(self) -> list[str]:
        """Return the targets that are not blank; an empty one if there is none."""
        texts = self.item.get("tgt")
        if not isinstance(texts, (list, tuple)):
            return [self._text("tgt", "a text or a list of texts")]
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                self._add("text-string", f"tgt[{place}]", "a text", show(text))
        return [text for text in texts if isinstance(text, str) and text.strip()] or [""]

    def _or_empty(self, key: str) -> Any:
        """Return a value; report a missing value and return an empty text."""
        value = self.item.get(key, "")
        return self._text(key) if is_missing(value) else value

    def _read(self, key: str, read: Callable[[Any], T], code: str, expected: str) -> T | None:
        """Return a value converted by ``read``; report an invalid value and return ``None``."""
        if key not in self.item:
            return None
        try:
            return read(self.item[key])
        except (TypeError, ValueError):
            self._report(code, key, expected)
            return None

    def _labels(self) -> tuple[Label, ...]:
        def read(value: Any) -> tuple[Label, ...]:
            return tuple(map(Label, value))

        return self._read("labels", read, "label-value", "a list of labels") or ()

    def _p(self) -> float | None:
        problem = problem_of_p(self.item[P]) if P in self.item else None
        if problem is not None:
            self._report(problem[0], P, problem[1])
        return p_in(self.item.get(P))

    def _report(self, code: str, key: str, expected: str) -> None:
        self._add(code, key, expected, show(self.item[key]))

    def _add(self, code: str, key: str, expected: str, found: str) -> None:
        self.problems.add(code, self.file, expected, found, key=key, **self.place)


def write(datapoints: Iterable[Datapoint]) -> str:
    """Return datapoints as a JSON list in SHROOM's format, one per line."""
    rows = (json_line(row_of(point)) for point in datapoints)
    return "[\n" + ",\n".join(rows) + "\n]\n"
