"""Every problem of a submission at once, and its predictions aligned with the gold.

Every submission that passes the check can be scored: both call :func:`check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType

from shroom.core import archives
from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped, show
from shroom.scoring import gold_by_id
from shroom.scoring.align import Track, align
from shroom.scoring.column_checks import check_has_ids
from shroom.scoring.column_names import named_columns, naming
from shroom.scoring.data_set_forms import refuse_another
from shroom.scoring.editions import files as edition_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest, well_named
from shroom.scoring.file_names import Name
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import Document, documents, documents_among_others
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.slices import SLICES
from shroom.scoring.table import Role, Table
from shroom.scoring.units import add_keys
from shroom.scoring.verdict import Checked

fast: ModuleType | None
try:
    from shroom.scoring import fast_reader as fast
except ImportError:  # the scoring program has the slow path alone
    fast = None


def check(
    submission: Data,
    gold: Data | None = None,
    *,
    data: Data | None = None,
    splits: tuple[str, ...] = (),
    by: tuple[str, ...] = (),
    texts: bool = False,
    limit: int | None = 20,
    edition: Edition | Source | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
) -> Checked:
    """Return every problem of a submission, and its predictions aligned with the gold.

    Parameters
    ----------
    submission : path or "-", rows or data frame
        A file, a folder, a zip or a pipe; or rows, see :func:`shroom.scoring.in_memory.as_source`.
    gold : path, rows or data frame, optional
        The labelled data, as a file, a folder, a zip or rows. Its labels are needed.
    data : path, rows or data frame, optional
        The data without labels, in place of ``gold``: for ids, count and order.
    splits : tuple of str
        The splits that are wanted; by default those for which predictions are handed in.
    by : tuple of str
        The keys to slice the gold by, in :func:`shroom.scoring.scores.score_checked`.
    texts : bool
        Whether the gold's texts are wanted as well; they take time to read.
    limit : int or None
        How many problems of each code to keep; ``None`` keeps all.
    edition : Edition, str or path, optional
        The shared task: an edition, the name of one of the kit's, or a file. By default an
        ``edition.toml`` beside the gold, else ``semeval2024``.
    columns, labels : optional
        Other names of columns or keys, such as ``{"label": "prediction", "p": "prob"}``, and the
        words for the two labels; see :func:`shroom.scoring.column_names.naming`.

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
    submission = as_source(submission, "predictions")
    gold = None if gold is None else as_source(gold, "gold")
    data = None if data is None else as_source(data, "data")
    edition = edition_files.named(edition, data if gold is None else gold)
    problems = Problems(limit)
    with naming(columns, labels):
        listed = documents(submission, problems, edition, submission=True)
        checked = check_documents(
            listed,
            gold,
            data=data,
            splits=splits,
            by=by,
            texts=texts,
            problems=problems,
            edition=edition,
        )
        checked.tracks = with_in_sample(checked.tracks, submission, listed, problems, edition)
    for track in checked.tracks:
        if track.gold is not None:
            kind_of(edition).check_votes(track.gold, problems)
    return checked


def check_documents(
    documents: list[Document],
    gold: Source | None = None,
    *,
    data: Source | None = None,
    splits: tuple[str, ...] = (),
    by: tuple[str, ...] = (),
    texts: bool = False,
    problems: Problems,
    edition: Edition | None = None,
) -> Checked:
    """Return the verdict on the documents of a submission; see :func:`check`.

    No record of a run is looked for beside them, and the gold's votes are not compared with it.
    """
    edition = edition_files.default() if edition is None else edition
    reference, role = (data, Role.DATA) if gold is None else (gold, Role.GOLD)
    chosen = well_named(documents, problems, edition, splits, by_id=reference is not None)
    golds = None
    if reference is not None:
        single = len(chosen) == 1
        golds = _Golds(reference, role, problems, edition, single=single, by=by, texts=texts)
    tracks = [
        track for document in chosen for track in _check_file(document, golds, problems, edition)
    ]
    gold_by_id.check_golds_differ(tracks, problems)
    unlabelled = [t for t in tracks if role is Role.GOLD and t.gold and not t.gold.labelled]
    scored = [track for track in tracks if track not in unlabelled]
    for track in unlabelled:
        if track.gold:
            code = "gold-skipped" if scored else "gold-unlabelled"
            got = "rows without them" if track.gold.n else "none that can be used"
            problems.add(code, track.gold.file, kind_of(edition).labels, got)
    for document, name in golds.unmatched if golds else []:
        code = "gold-skipped" if scored else "no-gold"
        problems.add(code, document.file, f"gold for {name}", f"none in {reference}")
    return Checked(problems, sorted(scored, key=lambda track: track.name.order), edition)


def _check_file(
    document: Document, golds: _Golds | None, problems: Problems, edition: Edition
) -> list[Track]:
    predictions = read_table(document, Role.PREDICTIONS, problems, edition)
    if predictions is None:
        return []
    kind = kind_of(edition)
    kind.check_columns(predictions, problems)
    name = edition.guess(document.base)
    if golds is None:
        if name is not None and edition.needs_ids(name.split):
            check_has_ids(predictions, problems, edition.item.id)
        own = name or gold_by_id.name_by_rows(predictions, edition)
        track = Track(own, predictions, None, in_sample=0, edition=edition)
        kind.check_aligned(track, problems)
        return [track]
    tracks = []
    for gold_document, part in golds.parts(document, name, predictions):
        gold = golds.read(gold_document, texts=part.texts is not None)
        if gold is not None:
            guessed = (
                name or edition.guess(gold_document.base) or gold_by_id.name_by_rows(gold, edition)
            )
            tracks.append(align(guessed, part, gold, problems, edition))
            kind.check_aligned(tracks[-1], problems)
    return tracks


class _Golds:
    """The files that a submission is compared with, each read when it is needed."""

    def __init__(
        self,
        source: Source,
        role: Role,
        problems: Problems,
        edition: Edition,
        *,
        single: bool,
        by: tuple[str, ...],
        texts: bool,
    ) -> None:
        self.role, self.problems, self.edition = role, problems, edition
        self.single, self.texts = single, texts
        self.by = tuple(key for key in by if key not in SLICES)
        self.unmatched: list[tuple[Document, str]] = []
        self.documents = documents_among_others(source, problems, edition)
        self.refused = not (single and len(self.documents) == 1) and self._is_another()

    def _is_another(self) -> bool:
        """Report gold of another data set, whose file names do not identify a split and track."""
        own = self.edition
        if not own.reads_own_form or any(own.guess(gold.base) for gold in self.documents):
            return False
        data = self.documents[0].read(Problems()) if self.documents else None
        return data is not None and refuse_another(self.documents[0], data, self.problems)

    def parts(
        self, document: Document, name: Name | None, predictions: Table
    ) -> list[tuple[Document, Table]]:
        """Return the gold of a file, by its name or by ids, with the rows that are for it."""
        is_certain = name is not None or (self.single and len(self.documents) == 1)
        if not (is_certain or self.refused or self.edition.item.id != "string"):
            tables = [read_table(it, self.role, Problems(), self.edition) for it in self.documents]
            by_id = gold_by_id.parts(predictions, tables, self.problems)
            if by_id:
                return [(self.documents[place], part) for place, part in by_id.items()]
        gold_document = self.find(document, name)
        return [] if gold_document is None else [(gold_document, predictions)]

    def find(self, document: Document, name: Name | None) -> Document | None:
        """Return the gold for a file of predictions: of its split and track, the latest version.

        One gold file for one file of predictions serves whatever they are called, unless both
        names have a split and a track, and these differ.
        """
        if self.refused:
            return None
        alone = self.documents[0] if len(self.documents) == 1 else None
        alone_name = self.edition.guess(alone.base) if alone else None
        if alone and (name is None or alone_name is None) and self.single:
            return alone
        if name is None:
            if self.documents:
                name_like = self.edition.expected_name(self.edition.submitted)
                expected = f"a name like {name_like}, to choose the data by"
                self.problems.add("file-name", document.file, expected, show(document.base))
            return None
        if alone and alone_name and alone_name.key == name.key:
            return alone
        parsed = ((gold, self.edition.parse(gold.base, self.role)) for gold in self.documents)
        fitting = [gold for gold, gold_name in parsed if gold_name and gold_name.key == name.key]
        if not fitting:
            self.unmatched.append((document, f"{name.split}.{name.track}".strip(".")))
        return latest(fitting, self.problems, self.edition, self.role).get(name.key)

    def read(self, document: Document, *, texts: bool) -> Table | None:
        gold = read_table(
            document, self.role, self.problems, self.edition, texts=texts or self.texts
        )
        if gold is not None and (self.by or self.edition.item.unit):
            add_keys(gold, document, self.by, self.documents, self.edition)
        return gold


def read_table(
    document: Document,
    role: Role,
    problems: Problems,
    edition: Edition | None = None,
    *,
    texts: bool = False,
) -> Table | None:
    """Return a document's rows as columns, by the fast path where nothing is wrong.

    Parameters
    ----------
    document : Document
        The file.
    role : Role
        Role that the file is read in.
    problems : Problems
        Gets what is wrong with it.
    edition : Edition, optional
        ``semeval2024`` by default.
    texts : bool
        Whether the gold's texts are needed.

    Returns
    -------
    Table or None
        ``None`` where there are no rows to speak of.
    """
    edition = edition_files.default() if edition is None else edition
    data = document.read(problems)
    if data is None or (edition.reads_own_form and refuse_another(document, data, problems)):
        return None
    if fast is not None and edition.reads_own_form:
        table = _read_fast(document, data, role, problems, texts=texts)
        if table is not None:
            return table
    if role is Role.PREDICTIONS and len(data) > archives.MAX_BYTES:
        archives.report_too_large(document.file, problems, archives.MAX_BYTES)
        return None
    try:
        items = document.iter_items(data, problems, edition.item)
        return kind_of(edition).tabulate(items, role, document.file, problems, edition)
    except Stopped:
        return None


def _read_fast(
    document: Document, data: bytes, role: Role, problems: Problems, *, texts: bool
) -> Table | None:
    """Return a document's rows as columns; ``None`` where anything is wrong with them."""
    assert fast is not None  # noqa: S101 - for mypy
    table: Table | None = None
    if not document.is_table(data):
        if not named_columns():
            lines = document.is_lines(data)
            table = fast.table(data, role, document.file, lines=lines, texts=texts)
        return table
    document_problems = Problems(problems.limit)
    with suppress(Stopped):
        items = document.iter_items(data, document_problems)
        table = fast.from_items(items, role, document.file, texts=texts)
    if table is not None:
        problems.extend(document_problems)
    return table
