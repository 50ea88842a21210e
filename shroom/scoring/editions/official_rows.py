"""The rows of a submission beside those of its gold, as the organisers' programs paired them.

Rows are paired by id. Of the gold only the rows are kept whose ids were submitted, and where an id
stands twice, its last row counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problems, Stopped, show
from shroom.scoring.file_choice import latest, well_named
from shroom.scoring.input_files import Document, documents, documents_among_others
from shroom.scoring.results import TrackScore
from shroom.scoring.signature import signature
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.file_names import Name


@dataclass(frozen=True)
class Pairs:
    """Rows of predictions and gold with the same ids, in the order of the predictions.

    Attributes
    ----------
    name : Name
        The split and track.
    file, gold_file : str
        Names of the files in messages.
    predictions, gold : list of dict, length n
        The rows.
    """

    name: Name
    file: str
    gold_file: str
    predictions: list[dict[str, Any]]
    gold: list[dict[str, Any]]


def submitted(
    submission: Source, edition: Edition, problems: Problems
) -> list[tuple[Document, list[tuple[str | int, dict[str, Any]]]]]:
    """Return the well-named files of a submission with their rows by id, as they can be read."""
    listed = documents(submission, problems, edition, submission=True)
    chosen = well_named(listed, problems, edition)
    return [(document, _objects(document, edition, problems)) for document in chosen]


def paired(submission: Source, gold: Source, edition: Edition, problems: Problems) -> list[Pairs]:
    """Return the rows of each file of predictions beside those of its gold.

    Parameters
    ----------
    submission, gold : path
        Each a file, a folder or a zip.
    edition : Edition
        The edition whose file names and ids they have.
    problems : Problems
        Gets what prevents the pairing, and warnings where ids are left out or stand twice.
    """
    golds, files = documents_among_others(gold, problems, edition), []
    for document, rows in submitted(submission, edition, problems):
        gold_document = _gold_for(document, golds, edition, problems)
        if gold_document is not None:
            name = edition.guess(document.base) or edition.guess(gold_document.base)
            gold_rows = _by_id(gold_document, _objects(gold_document, edition, problems), problems)
            predictions = _by_id(document, rows, problems)
            ids = [row_id for row_id in predictions if row_id in gold_rows]
            _report_left_out(document, gold_document, len(gold_rows), len(ids), problems)
            if ids:
                sides = (
                    [rows_of[row_id] for row_id in ids] for rows_of in (predictions, gold_rows)
                )
                name = name or edition.name_of("", "")
                files.append(Pairs(name, document.file, gold_document.file, *sides))
    return files


def _report_left_out(
    document: Document, gold: Document, count: int, paired_count: int, problems: Problems
) -> None:
    if not paired_count:
        problems.add("official", document.file, f"ids of {gold.file}", "none of them")
    elif paired_count < count:
        expected = f"all {count} ids of {gold.file} (those here are scored)"
        problems.add("row-odd", document.file, expected, f"{count - paired_count} missing")


def _by_id(
    document: Document, rows: list[tuple[str | int, dict[str, Any]]], problems: Problems
) -> dict[str | int, dict[str, Any]]:
    """Return rows by their ids, the last one of each."""
    by_id = dict(rows)
    if len(by_id) < len(rows):
        expected, got = "each id once (its last row counts)", f"{len(rows) - len(by_id)} again"
        problems.add("row-odd", document.file, expected, got)
    return by_id


def _gold_for(
    document: Document, golds: list[Document], edition: Edition, problems: Problems
) -> Document | None:
    name = edition.guess(document.base)
    alone = golds[0] if len(golds) == 1 else None
    alone_name = edition.guess(alone.base) if alone else None
    if alone and (name is None or alone_name is None or alone_name.key == name.key):
        return alone
    by_name = latest(golds, problems, edition, Role.GOLD)
    gold = None if name is None else by_name.get(name.key)
    if gold is None:
        problems.add("no-gold", document.file, f"gold for {name or document.base}", "none")
    return gold


def _objects(
    document: Document, edition: Edition, problems: Problems
) -> list[tuple[str | int, dict[str, Any]]]:
    """Return the rows of a document, each with its id, reporting those without one."""
    data, rows = document.read(problems), []
    if data is None:
        return []
    try:
        items = list(document.iter_items(data, problems))
    except Stopped:
        return []
    key = edition.item.id_key
    for index, item in enumerate(items):
        if isinstance(item, dict) and isinstance(item.get(key), (str, int)):
            rows.append((item[key], item))
        elif item is not BROKEN:
            expected = f'an object with the key "{key}"'
            problems.add("official", document.file, expected, show(item), index=index)
    return rows


def score_of(
    pairs: Pairs, scores: dict[str, float | None], gold: Table, edition: Edition
) -> TrackScore:
    """Return the scores of one file by the organisers' rules, without intervals and floors."""
    rules = f"rules:official-{edition.name}"
    return TrackScore(
        track=pairs.name.track,
        split=pairs.name.split,
        n=gold.n,
        scores=scores,
        intervals=dict.fromkeys(scores),
        slices={},
        floors={},
        signature=signature(pairs.name.track, gold, "id", edition, rules),
    )
