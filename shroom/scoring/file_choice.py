"""The choice of files of a submission or of gold: one for each split and track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import Problem, Problems, show
from shroom.scoring.align import Pair
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name, without_slips
from shroom.scoring.input_files import Document
from shroom.scoring.rows import Role, Rows


def well_named(
    documents: list[Document],
    problems: Problems,
    edition: Edition,
    splits: tuple[str, ...] = (),
    *,
    by_id: bool = False,
) -> list[Document]:
    """Return the correctly named documents of a submission; report the others."""
    # With string ids, the gold shows which file a member is for, so that any name is taken.
    splits, any_name = splits or edition.submitted, by_id and edition.item.id == "string"
    expected_name = f"a name like {edition.expected_name(splits)}"
    first, chosen = dict[tuple[str, str], Document](), []
    # Gold that is checked as a submission has the names of gold.
    is_named = any(edition.parse(document.base, Role.PREDICTIONS) for document in documents)
    role = Role.PREDICTIONS if is_named else Role.GOLD
    for document in documents:
        name = edition.parse(document.base, role)
        if name is None and any_name:
            name = edition.guess(document.base)
        if not document.member or (name is None and any_name):
            chosen.append(document)
        elif name is None or name.split not in splits:
            slip = without_slips(document.base)
            is_slip = slip != document.base and edition.parse(slip, Role.PREDICTIONS) is not None
            found = show(document.base) + (f" (did you mean {slip}?)" if is_slip else "")
            problems.add("file-name", document.file, expected_name, found)
        elif (other := first.setdefault(name.key, document)) is not document:
            found = f"this file and {other.file}"
            problems.add("file-twice", document.file, f"only one file for {name}", found)
        else:
            chosen.append(document)
    return chosen


def latest(
    documents: list[Document], problems: Problems, edition: Edition, role: Role | None = None
) -> dict[tuple[str, str], Document]:
    """Return the latest version for each split and track; report repeated versions."""
    best: dict[tuple[str, str], tuple[int, Document]] = {}
    for document in documents:
        if name := edition.parse(document.base, role):
            version, before = best.get(name.key, (0, document))
            if name.version == version:
                found = f"this file and {before.file}"
                problems.add("file-twice", document.file, f"only one file {document.base}", found)
            elif name.version > version:
                best[name.key] = name.version, document
    return {key: document for key, (_, document) in best.items()}


def gold_named(
    golds: list[Document],
    document: Document,
    name: Name | None,
    problems: Problems,
    edition: Edition,
    role: Role = Role.GOLD,
    *,
    is_single: bool,
) -> Document | None:
    """Return the gold for a file of predictions: the latest version of its split and track."""
    # One gold for one file serves whatever their names, unless split and track differ.
    alone_name = edition.guess(golds[0].base) if len(golds) == 1 else None
    if is_single and len(golds) == 1 and (name is None or alone_name is None):
        return golds[0]
    if name is None:
        if golds:
            like = edition.expected_name(edition.submitted)
            expected = f"a name like {like}"
            expected += " (any name, if data or gold is a single file)" * is_single
            problems.add("file-name", document.file, expected, show(document.base))
        return None
    if alone_name and alone_name.key == name.key:
        return golds[0]
    parsed = ((gold, edition.parse(gold.base, role)) for gold in golds)
    fitting = [gold for gold, own in parsed if own and own.key == name.key]
    return latest(fitting, problems, edition, role).get(name.key)


def by_gold(
    predictions: Rows, golds: Sequence[Rows | None]
) -> tuple[dict[int, Rows], NDArray[np.bool_]]:
    """Return the predictions for each gold by its index, and which rows have ids of any gold."""
    owner: dict[str, int] = {}
    for place, gold in enumerate(golds):
        for row_id in set(_names(gold)):
            if owner.setdefault(row_id, place) != place:
                return {}, np.zeros(0, bool)
    of_row = np.array([owner.get(row_id, -1) for row_id in _names(predictions)], np.intp)
    there = sorted(set(of_row.tolist()) - {-1})
    found = {place: predictions.part(np.flatnonzero(of_row == place)) for place in there}
    return found, of_row >= 0


def check_golds_differ(tracks: Iterable[Pair]) -> Iterator[Problem]:
    """Yield the problem of two prediction files whose ids belong to the same gold."""
    first: dict[str, str] = {}
    for track in tracks:
        if track.gold is None:
            continue
        predictions = track.predictions
        other = first.setdefault(track.gold.file, predictions.file)
        if other != predictions.file:
            expected = f"only one file for {track.gold.file}"
            yield predictions.problem("file-twice", expected, f"this file and {other}")


def _names(table: Rows | None) -> list[str]:
    """Return the ids of a table if they are strings."""
    if table is None or table.ids is None or table.ids.dtype.kind != "U":
        return []
    names: list[str] = table.ids.tolist()
    return names


def name_by_rows(table: Rows, edition: Edition) -> Name:
    """Return split and track of a file by its rows."""
    # The ids may contain both, such as val-en-3.
    meant = {edition.meant(row_id) for row_id in _names(table)[:: max(1, table.n - 1)]}
    group = table.groups.get("model")
    by_key = edition.track_of({"model": bool(group and all(group.words))})
    return (len(meant) == 1 and meant.pop()) or edition.name_of("", by_key)
