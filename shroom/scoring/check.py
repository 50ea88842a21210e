"""Every problem of a submission at once, and its predictions aligned with the gold.

Every submission that passes the check can be scored: both call :func:`check`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.scoring.align import Track, align, check_track, unknown_ids
from shroom.scoring.column_checks import check_has_ids, check_votes
from shroom.scoring.column_names import naming
from shroom.scoring.data_set_forms import refuse_another
from shroom.scoring.editions import files as edition_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest, well_named
from shroom.scoring.file_names import Name
from shroom.scoring.gold_by_id import check_golds_differ, name_by_rows, parts
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import Document, documents, documents_among_others
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.rows import read_rows
from shroom.scoring.slices import SLICES
from shroom.scoring.table import Role, Table
from shroom.scoring.units import add_keys
from shroom.scoring.verdict import Checked


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
        problems.extend(() if track.gold is None else check_votes(track.gold))
    return checked


@dataclass(frozen=True)
class _Golds:
    """The files that a submission is compared with; ``is_single`` if they are for one file."""

    documents: list[Document]
    role: Role
    edition: Edition
    is_single: bool

    @property
    def alone(self) -> Document | None:
        """The file, if there is only one."""
        return self.documents[0] if len(self.documents) == 1 else None

    def is_another(self, problems: Problems) -> bool:
        """Report gold of another data set, if no file name identifies a split and track."""
        own, listed = self.edition, self.documents
        if not listed or (self.is_single and self.alone) or not own.reads_own_form:
            return False
        if any(own.guess(gold.base) for gold in listed):
            return False
        data = listed[0].read(Problems())
        return data is not None and refuse_another(listed[0], data, problems)

    def by_id(self, predictions: Table, problems: Problems) -> list[tuple[Document, Table]]:
        """Return the rows of predictions that are for each gold, if their ids show it."""
        tables = [read_rows(it, self.role, Problems(), self.edition) for it in self.documents]
        found = parts(predictions, tables)
        if found:
            known = np.isin(predictions.ids, [id_ for it in found.values() for id_ in it.ids])
            files = ", ".join(table.file for place in found if (table := tables[place]))
            problems.extend([unknown_ids(predictions, known, files)])
        return [(self.documents[place], part) for place, part in found.items()]

    def by_name(self, document: Document, name: Name | None, problems: Problems) -> Document | None:
        """Return the gold for a file of predictions: of its split and track, the latest version.

        One gold file for one file of predictions serves whatever they are called, unless both
        names have a split and a track, and these differ.
        """
        edition, alone = self.edition, self.alone
        alone_name = edition.guess(alone.base) if alone else None
        if self.is_single and alone and (name is None or alone_name is None):
            return alone
        if name is None:
            if self.documents:
                expected = f"a name like {edition.expected_name(edition.submitted)}"
                expected += ", to choose the data by"
                problems.add("file-name", document.file, expected, show(document.base))
            return None
        if alone_name and alone_name.key == name.key:
            return alone
        parsed = ((gold, edition.parse(gold.base, self.role)) for gold in self.documents)
        fitting = [gold for gold, own in parsed if own and own.key == name.key]
        return latest(fitting, problems, edition, self.role).get(name.key)

    def pairs(
        self, document: Document, predictions: Table, name: Name | None, problems: Problems
    ) -> list[tuple[Document, Table]]:
        """Return the gold of a file, by its name or by ids, with the rows that are for it."""
        is_certain = name is not None or (self.is_single and self.alone)
        if not is_certain and self.edition.item.id == "string":
            found = self.by_id(predictions, problems)
            if found:
                return found
        gold = self.by_name(document, name, problems)
        return [] if gold is None else [(gold, predictions)]


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
    edition = edition or edition_files.default()
    kind, keys = kind_of(edition), tuple(key for key in by if key not in SLICES)
    source, role = (data, Role.DATA) if gold is None else (gold, Role.GOLD)
    chosen = well_named(documents, problems, edition, splits, by_id=source is not None)
    listed = [] if source is None else documents_among_others(source, problems, edition)
    golds = _Golds(listed, role, edition, is_single=len(chosen) == 1)
    is_refused, tracks, unmatched = golds.is_another(problems), list[Track](), []
    for document in chosen:
        predictions = read_rows(document, Role.PREDICTIONS, problems, edition)
        if predictions is None:
            continue
        problems.extend(kind.check_predictions(predictions, edition))
        name = edition.guess(document.base)
        if source is None:
            if name is not None and edition.needs_ids(name.split):
                problems.extend(check_has_ids(predictions, edition.item.id))
            own = name or name_by_rows(predictions, edition)
            tracks.append(Track(own, predictions, None, in_sample=0, edition=edition))
            problems.extend(check_track(tracks[-1]))
            continue
        pairs = [] if is_refused else golds.pairs(document, predictions, name, problems)
        if name is not None and not pairs and not is_refused:
            unmatched.append((document.file, f"{name.split}.{name.track}".strip(".")))
        for gold_document, part in pairs:
            needs_texts = texts or part.texts is not None
            table = read_rows(gold_document, role, problems, edition, texts=needs_texts)
            if table is None:
                continue
            if keys or edition.item.unit:
                add_keys(table, gold_document, keys, listed, edition)
            own = name or edition.guess(gold_document.base) or name_by_rows(table, edition)
            tracks.append(align(own, part, table, edition))
            problems.extend(check_track(tracks[-1]))
    problems.extend(check_golds_differ(tracks))
    unlabelled = [t for t in tracks if role is Role.GOLD and t.gold and not t.gold.labelled]
    scored = [track for track in tracks if track not in unlabelled]
    for track in unlabelled:
        code = "gold-skipped" if scored else "gold-unlabelled"
        got = "rows without them" if track.gold.n else "none that can be used"
        problems.add(code, track.gold.file, kind.labels, got)
    for file, wanted in unmatched:
        code = "gold-skipped" if scored else "no-gold"
        problems.add(code, file, f"gold for {wanted}", f"none in {source}")
    return Checked(problems, sorted(scored, key=lambda track: track.name.order), edition)
