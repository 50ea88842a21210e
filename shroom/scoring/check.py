"""The check of a submission: all problems, and the predictions aligned with the gold."""

# Every submission that passes the check can be scored: both call :func:`check`.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped
from shroom.scoring.align import Pair, align, check_pair, unknown_ids
from shroom.scoring.column_checks import check_doubled, check_votes
from shroom.scoring.column_names import NO_NAMES, Names
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_choice import (
    by_gold,
    check_golds_differ,
    gold_named,
    name_by_rows,
    well_named,
)
from shroom.scoring.file_names import Name
from shroom.scoring.in_memory import Data, InMemory, as_source
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import Document, documents, documents_among_others
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import SLICES, P, Role, Rows
from shroom.scoring.slices import add_keys
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
    """Return all problems of a submission, and its predictions aligned with the gold.

    Parameters
    ----------
    submission : path or "-", rows or data frame
        A file, a folder, a zip, a pipe or rows; see :func:`shroom.scoring.in_memory.as_source`.
    gold : path, rows or data frame, optional
        The labelled data, as a file, a folder, a zip or rows.
    data : path, rows or data frame, optional
        Unlabelled data instead of ``gold``, to check ids, the number of items and their order.
    splits : tuple of str
        The splits to check; by default all splits of the submission.
    by : tuple of str
        The keys by which :func:`shroom.scoring.scores.score_checked` will slice the scores.
    texts : bool
        Whether to read the gold's texts as well, which takes longer.
    limit : int or None
        The number of problems of each code to store; ``None`` stores all.
    edition : Edition, str or path, optional
        The shared task: an edition, the name of an edition of the kit, or a file. By default, the
        ``edition.toml`` next to the gold is used if it exists; otherwise, ``semeval2024``.
    columns : dict of str to str, optional
        Your column for each of the kit's keys, such as ``{"p": "score", "label": "verdict"}``. For
        JSON and rows, your key. Messages about problems use the names of your columns.
    labels : sequence of str, optional
        Your words for Hallucination and Not Hallucination, such as ``("refuted", "supported")``.

    Returns
    -------
    Checked
        The attribute ``problems`` contains all problems; none is raised.

    Examples
    --------
    >>> checked = check("shroom/sample/val.model-aware.json", "shroom/sample")
    >>> checked.ok, checked.tracks[0].predictions.n
    (True, 60)
    >>> rows = [{"verdict": "refuted", "score": 1.2}]
    >>> names = {"p": "score", "label": "verdict"}
    >>> checked = check(rows, columns=names, labels=("refuted", "supported"))
    >>> print(*checked.problems)
    predictions: item 0: score: expected a number in [0, 1], got 1.2 [p-range]
    """
    problems, names = Problems(limit), Names.of(columns, labels)
    submission, gold, data = sources_of(submission, gold, data, names)
    edition, _ = resolve(edition, gold, data)
    listed = documents(submission, problems, edition, submission=True, names=names)
    wanted: dict[str, Any] = {"splits": splits, "by": by, "texts": texts}
    checked = check_documents(
        listed, gold, data=data, problems=problems, edition=edition, names=names, **wanted
    )
    checked.tracks = with_in_sample(checked.tracks, submission, listed, problems, edition)
    for track in checked.tracks:
        problems.extend(() if track.gold is None else check_votes(track.gold))
    return checked


def sources_of(
    submission: Data, gold: Data | None, data: Data | None, names: Names
) -> tuple[Source, Source | None, Source | None]:
    """Return what is checked, its gold and its unlabelled data as sources."""
    p = names.shown.get(P, P)
    return (
        as_source(submission, "predictions", p),
        None if gold is None else as_source(gold, "gold", p),
        None if data is None else as_source(data, "data"),
    )


def check_documents(
    documents: list[Document],
    gold: Source | None = None,
    *,
    data: Source | None = None,
    splits: tuple[str, ...] = (),
    by: tuple[str, ...] = (),
    texts: bool = False,
    problems: Problems,
    edition: Edition,
    names: Names = NO_NAMES,
) -> Checked:
    """Check documents like :func:`check`, but without run records and votes."""
    source, role = (data, Role.DATA) if gold is None else (gold, Role.GOLD)
    kind, tracks, unmatched = kind_of(edition), list[Pair](), dict[str, Name]()
    chosen = well_named(documents, problems, edition, splits, by_id=source is not None)
    golds = None
    if source is not None:
        golds = documents_among_others(source, problems, edition, names=names)
    is_single = len(chosen) == 1
    keys = tuple(key for key in by if key not in SLICES)
    for document in chosen:
        with suppress(Stopped):  # which the problems say; the other documents are still checked
            predictions = read_rows(document, Role.PREDICTIONS, problems, edition)
            if predictions is None:
                continue
            problems.extend(kind.check_predictions(predictions, edition))
            problems.extend(check_doubled(predictions))
            name = edition.guess(document.base)
            if golds is None:
                own = name or name_by_rows(predictions, edition)
                tracks.append(Pair(own, predictions, None, in_sample=0, edition=edition))
                problems.extend(check_pair(tracks[-1]))
                continue
            settings = problems, edition, role
            found = _golds_of(document, predictions, golds, *settings, is_single=is_single)
            if name is not None and not found:
                unmatched[document.file] = name
            for gold_document, part in found:
                has_texts = texts or part.texts is not None
                rows = read_rows(gold_document, role, problems, edition, texts=has_texts)
                if rows is None:
                    continue
                if keys or edition.item.unit:
                    add_keys(rows, gold_document, keys, golds, edition)
                own = name or edition.guess(gold_document.base) or name_by_rows(rows, edition)
                tracks.append(align(own, part, rows, edition))
                problems.extend(check_pair(tracks[-1]))
    problems.extend(check_golds_differ(tracks))
    scored = [t for t in tracks if role is Role.DATA or t.gold is None or t.gold.labelled]
    for unlabelled in (track.gold for track in tracks if track.gold and track not in scored):
        code = "gold-skipped" if scored else "gold-unlabelled"
        words = "rows without labels" if unlabelled.n else "no usable rows"
        problems.add(code, unlabelled.file, kind.labels, words)
    for file, name in unmatched.items():
        code, wanted = "gold-skipped" if scored else "no-gold", f"{name.split}.{name.track}"
        is_unnamed = isinstance(source, InMemory) and not source.is_folder
        named = f' (name it, as in {{"{wanted.strip(".")}": gold}})' if is_unnamed else ""
        problems.add(code, file, f"gold for {wanted.strip('.')}", f"none in {source}{named}")
    return Checked(problems, sorted(scored, key=lambda track: track.name.order), edition)


def _golds_of(
    document: Document,
    predictions: Rows,
    golds: list[Document],
    problems: Problems,
    edition: Edition,
    role: Role,
    *,
    is_single: bool,
) -> list[tuple[Document, Rows]]:
    """Return the gold of a file, by name or by ids, each with the rows for it."""
    name = edition.guess(document.base)
    is_certain = name is not None or (is_single and len(golds) == 1)
    if not is_certain and edition.item.id == "string":
        tables = [read_rows(it, role, Problems(), edition) for it in golds]
        found, is_known = by_gold(predictions, tables)
        if found:
            files = ", ".join(table.file for place in found if (table := tables[place]))
            problems.extend([unknown_ids(predictions, is_known, files)])
            return [(golds[place], part) for place, part in found.items()]
    gold = gold_named(golds, document, name, problems, edition, role, is_single=is_single)
    return [] if gold is None else [(gold, predictions)]
