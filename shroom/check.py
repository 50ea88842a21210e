"""Every problem of a submission at once, and its predictions aligned with the gold.

What the checker passes, the scorer scores: both call :func:`check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom import decode
from shroom.problems import InvalidInput, Problems, show
from shroom.submission import Document, Name, documents, latest, named
from shroom.table import P, Role, Table, tabulate

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from shroom.submission import Source

fast: ModuleType | None
try:
    from shroom import fast
except ImportError:  # the scoring program has the slow path alone
    fast = None

#: The tracks, as file names have them.
TRACKS = ("model-agnostic", "model-aware")


@dataclass
class Track:
    """The predictions of one file, and the gold that they are held against.

    Attributes
    ----------
    name : Name
        The split and track.
    predictions : Table
        What the file says.
    gold : Table or None
        What people said, or the unlabelled data; ``None`` where neither was given.
    align : str
        ``"id"`` or ``"order"``.
    rows : array of int, shape [gold.n], or None
        The row of the predictions for each row of the gold, where they can be aligned.
    """

    name: Name
    predictions: Table
    gold: Table | None = None
    align: str = "order"
    rows: NDArray[np.intp] | None = None


@dataclass
class Checked:
    """The verdict: the problems, and the tracks as far as they could be read."""

    problems: Problems
    tracks: list[Track]

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not self.problems.errors

    def raise_for_errors(self) -> None:
        """Raise :class:`InvalidInput` if there are errors."""
        if not self.ok:
            raise InvalidInput(self.problems)


def check(
    submission: Source,
    gold: Source | None = None,
    *,
    data: Source | None = None,
    splits: tuple[str, ...] = (),
    limit: int | None = 20,
) -> Checked:
    """Return every problem of a submission, and its predictions aligned with the gold.

    Parameters
    ----------
    submission : path or "-"
        A file, a folder, a zip or a pipe.
    gold : path, optional
        The labelled data, as a file, a folder or a zip. Its labels are needed.
    data : path, optional
        The data without labels, in place of ``gold``: for ids, count and order.
    splits : tuple of str
        The splits that are wanted; any by default.
    limit : int or None
        How many problems of each code and file to keep; ``None`` keeps all.

    Returns
    -------
    Checked
        Its ``problems`` are never raised here.

    Examples
    --------
    >>> checked = check("shroom/sample/val.model-aware.json", "shroom/sample")
    >>> checked.ok, checked.tracks[0].predictions.n
    (True, 60)
    """
    problems = Problems(limit)
    found = documents(submission, problems)
    return check_documents(found, gold, data=data, splits=splits, problems=problems)


def check_documents(
    found: list[Document],
    gold: Source | None = None,
    *,
    data: Source | None = None,
    splits: tuple[str, ...] = (),
    problems: Problems,
) -> Checked:
    """Return the verdict on documents that have been found already; see :func:`check`."""
    found = named(found, problems, splits)
    held_against = gold if gold is not None else data
    role = Role.GOLD if gold is not None else Role.DATA
    golds = _Golds(held_against, role, problems, splits) if held_against is not None else None
    checked = [_check_file(document, golds, problems) for document in found]
    tracks = [track for track in checked if track is not None]
    scored = [track for track in tracks if role is not Role.GOLD or _labelled(track)]
    for track in tracks:
        if track not in scored and track.gold:
            code = "gold-skipped" if scored else "gold-unlabelled"
            problems.add(code, track.gold.file, f'"label" and "{P}"', "rows without them")
    return Checked(problems, sorted(scored, key=lambda track: _order(track.name)))


def _labelled(track: Track) -> bool:
    return track.gold is None or track.gold.labelled


def _order(name: Name) -> tuple[int, str]:
    return ("trial", "train", "val", "test").index(name.split), name.track


def _check_file(document: Document, golds: _Golds | None, problems: Problems) -> Track | None:
    name = Name.guess(document.base)
    gold_document = golds.find(document, name) if golds else None
    if golds and gold_document is None:
        return None
    predictions = read_table(document, Role.PREDICTIONS, problems)
    if predictions is None:
        return None
    _check_columns(predictions, problems)
    if golds is None or gold_document is None:
        if name is not None and name.split == "test":
            _check_has_ids(predictions, problems)
        return Track(name or Name("val", _track_of(predictions)), predictions)
    gold = golds.read(gold_document, texts=predictions.texts is not None)
    if gold is None:
        return None
    guessed = name or Name.guess(gold_document.base) or Name("val", _track_of(gold))
    track = Track(guessed, predictions, gold)
    _align(track, problems)
    _check_direction(track, problems)
    return track


class _Golds:
    """The files that a submission is held against, each read when it is needed."""

    def __init__(
        self, source: Source, role: Role, problems: Problems, splits: tuple[str, ...]
    ) -> None:
        self.role, self.problems, self.splits = role, problems, splits
        self.file = str(source)
        # What else lies in a folder of gold is no problem of the submission.
        beside = Problems()
        self.documents = documents(source, beside)
        for problem in beside:
            if problem.code != "file-ignored":
                problems.add(problem.code, problem.file, problem.expected, problem.found)

    def find(self, document: Document, name: Name | None) -> Document | None:
        """Return the gold for a file of predictions: of its split and track, the latest version."""
        if len(self.documents) == 1:
            return self._only(document, name)
        if name is None:
            if self.documents:
                expected = "a name that tells split and track, to choose the gold by"
                self.problems.add("file-name", document.file, expected, show(document.base))
            return None
        gold = latest(self.documents).get((name.split, name.track))
        if gold is None:
            expected = f"gold for {name.split}.{name.track}"
            self.problems.add("no-gold", document.file, expected, f"none in {self.file}")
        return gold

    def _only(self, document: Document, name: Name | None) -> Document:
        gold = self.documents[0]
        told = Name.guess(gold.base)
        if name and told and (name.split, name.track) != (told.split, told.track):
            expected = f"gold for {name.split}.{name.track}"
            self.problems.add("split-differs", document.file, expected, gold.file)
        return gold

    def read(self, document: Document, *, texts: bool) -> Table | None:
        return read_table(document, self.role, self.problems, texts=texts)


def read_table(
    document: Document, role: Role, problems: Problems, *, texts: bool = False
) -> Table | None:
    """Return a document's rows as columns, by the fast path where nothing is wrong.

    Parameters
    ----------
    document : Document
        What to read.
    role : Role
        What to read it as.
    problems : Problems
        Gets what is wrong with it.
    texts : bool
        Whether the gold's texts are needed.

    Returns
    -------
    Table or None
        ``None`` where there are no rows to speak of.
    """
    data = document.read(problems)
    if data is None:
        return None
    if fast is not None:
        table: Table | None = fast.table(
            data, role, document.file, lines=document.lines, texts=texts
        )
        if table is not None:
            return table
    items = decode.items(bytes(data), document.file, problems, lines=document.lines)
    return None if items is None else tabulate(items, role, document.file, problems)


def _track_of(table: Table) -> str:
    """Return the track that the rows themselves tell: aware where all of them name a model."""
    models = table.groups.get("model")
    return "model-aware" if models and all(models.words) else "model-agnostic"


def _check_columns(table: Table, problems: Problems) -> None:
    """Report what shows only in a whole column of predictions."""
    p, label, file = table.p, table.label, table.file
    known = (label >= 0) & ~np.isnan(p)
    against = known & (((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5)))
    rows = np.flatnonzero(against)

    def contradiction(row: int) -> dict[str, object]:
        said = "Hallucination" if label[row] else "Not Hallucination"
        expected = f'p {">=" if label[row] else "<="} 0.5 for "{said}"'
        return {
            "expected": expected,
            "found": repr(float(p[row])),
            "id": table.id_at(row),
            "key": P,
        }

    problems.add_rows("label-p", file, rows, contradiction)
    if len(rows) > max(10, int(known.sum()) // 2):
        found = f"p against the label in {len(rows)} of {int(known.sum())} items"
        problems.add("p-inverted", file, "p that agrees with the labels", found)
    if table.n < 2:
        return
    if np.all(known) and np.all(label == label[0]):
        said = "Hallucination" if label[0] else "Not Hallucination"
        problems.add("label-constant", file, "both labels", f'"{said}" on every item')
    if np.all(known) and np.all(p == p[0]):
        problems.add("p-constant", file, "p that differs", f"{float(p[0])!r} on every item", key=P)
    if table.ids is not None:
        _check_doubled(table, problems)


def _check_doubled(table: Table, problems: Problems) -> None:
    ids = table.ids if table.has_id is None else table.ids[table.has_id]  # type: ignore[index]
    assert ids is not None  # noqa: S101 - for mypy; the caller has looked
    places = np.arange(table.n) if table.has_id is None else np.flatnonzero(table.has_id)
    order = np.argsort(ids, kind="stable")
    again = order[1:][ids[order][1:] == ids[order][:-1]]
    rows = np.sort(places[again])

    def doubled(row: int) -> dict[str, object]:
        said = table.id_at(row)
        return {"expected": "an id of its own", "found": f"{said} again", "id": said, "key": "id"}

    problems.add_rows("id-doubled", table.file, rows, doubled)


def _check_has_ids(predictions: Table, problems: Problems) -> bool:
    """Return whether any row has an id, reporting if none so much as tries."""
    file = predictions.file
    if predictions.ids is None and not problems.count("id-integer", file):
        found = f"none on {predictions.n} items"
        problems.add("id-missing", file, "an integer on every item", found, key="id")
    return predictions.ids is not None


def _align(track: Track, problems: Problems) -> None:
    """Find the predictions' row for each row of the gold, reporting what hinders it."""
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    if gold.ids is not None:
        _check_doubled(gold, problems)
    if predictions.n != gold.n and not problems.count("not-json", predictions.file):
        expected = f"{gold.n} items, as {gold.file} has"
        problems.add("count", predictions.file, expected, f"{predictions.n}")
    if gold.ids is None:
        _check_order(track, problems)
        if predictions.n == gold.n:
            track.rows = np.arange(gold.n)
        return
    track.align = "id"
    if _check_has_ids(predictions, problems):
        _align_ids(track, problems)


def _align_ids(track: Track, problems: Problems) -> None:
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    assert gold.ids is not None  # noqa: S101
    assert predictions.ids is not None  # noqa: S101
    if np.array_equal(predictions.ids, gold.ids) and predictions.has_id is gold.has_id is None:
        track.rows = np.arange(gold.n)
        return
    known = np.ones(predictions.n, bool) if predictions.has_id is None else predictions.has_id
    order = np.flatnonzero(known)[np.argsort(predictions.ids[known], kind="stable")]
    ranked = predictions.ids[order]
    place = np.minimum(np.searchsorted(ranked, gold.ids), len(ranked) - 1)
    missing = gold.ids[ranked[place] != gold.ids]
    if len(missing):
        first = ", ".join(map(str, missing[:5].tolist())) + (", …" if len(missing) > 5 else "")
        expected = f"all {gold.n} ids of {gold.file}"
        found = f"{len(missing)} missing: {first}"
        problems.add("ids-missing", predictions.file, expected, found, key="id")
    else:
        track.rows = order[place]
    unknown = np.flatnonzero(known & ~np.isin(predictions.ids, gold.ids))

    def stranger(row: int) -> dict[str, object]:
        said = predictions.id_at(row)
        expected = f"an id of {gold.file}"
        return {"expected": expected, "found": f"{said}", "id": said, "key": "id"}

    problems.add_rows("id-unknown", predictions.file, unknown, stranger)
    if track.rows is not None and predictions.n == gold.n:
        moved = np.flatnonzero(track.rows != np.arange(gold.n))
        if len(moved):
            row = int(moved[0])
            expected = f"the order of {gold.file} (aligned by id all the same)"
            found = f"id {predictions.id_at(row)} for id {gold.ids[row]}"
            problems.add("order", predictions.file, expected, found, index=row)


def _check_order(track: Track, problems: Problems) -> None:
    """Compare the texts that the predictions repeat with those of the gold, row by row."""
    predictions, gold = track.predictions, track.gold
    if predictions.texts is None or gold is None or gold.texts is None:
        return
    differing = [
        row
        for row, (said, meant) in enumerate(zip(predictions.texts, gold.texts))
        if any(a is not None and b is not None and a != b for a, b in zip(said, meant))
    ]
    if differing:
        expected = f"the order of {gold.file}, which has no ids"
        found = f"other texts on {len(differing)} items, first here"
        problems.add("order", predictions.file, expected, found, index=differing[0])


def _check_direction(track: Track, problems: Problems) -> None:
    """Report p that runs against the gold by far more than chance."""
    gold, rows = track.gold, track.rows
    file = track.predictions.file
    if gold is None or rows is None or len(rows) < 10 or problems.count("p-inverted", file):
        return
    p, gold_p = track.predictions.p[rows], gold.p
    if np.isnan(p).any() or np.isnan(gold_p).any() or np.ptp(p) == 0 or np.ptp(gold_p) == 0:
        return
    correlation = float(np.corrcoef(p, gold_p)[0, 1])
    if correlation * np.sqrt(len(rows) - 1) <= -3:
        found = f"a correlation of {correlation:.2f}"
        problems.add("p-inverted", file, "p that rises with the gold's", found)
