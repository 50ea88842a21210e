"""Outputs of the scoring program that organisers download: scores without predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.evaluation.board import Board, ranked
from shroom.evaluation.leaderboard_result import Row, in_order
from shroom.evaluation.submissions import Invalid
from shroom.metrics.base import Metric
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest, name_by_rows
from shroom.scoring.input_files import Document, documents, documents_among_others
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import Role
from shroom.scoring.tables import score_cells

#: In a blind phase, the first file has the worst possible scores, and the second one the scores.
SHOWN, HIDDEN = "scores.json", "hidden_scores.json"
#: The greatest absolute value that is accepted as a score.
_MOST = 1e300

#: The keys of scores by track and metric.
Keys = Mapping[tuple[str, str], str]
Scores = Mapping[str, float]


def are_outputs(folder: Source, systems: Mapping[str, Sequence[Path]], edition: Edition) -> bool:
    """Return whether the entries of a folder are outputs of the scoring program."""
    if any(path.name in (SHOWN, HIDDEN) for paths in systems.values() for path in paths):
        raise ShroomError(
            f"{folder}: this folder has the scoring output of only one submission; specify the "
            "folder with all outputs"
        )
    return any(not {SHOWN, HIDDEN}.isdisjoint(_files(paths, edition)) for paths in systems.values())


def _files(paths: Sequence[Path], edition: Edition) -> dict[str, Document]:
    listed = (documents(path, Problems(), edition, submission=True) for path in paths)
    return {document.base: document for of_path in listed for document in of_path}


def read_outputs(
    systems: Mapping[str, Sequence[Path]], keys: Keys, edition: Edition
) -> tuple[dict[str, Scores], list[Invalid]]:
    """Return the scores of each system by key, and the systems without scores."""
    files = {system: _files(paths, edition) for system, paths in systems.items()}
    name = HIDDEN if any(HIDDEN in own for own in files.values()) else SHOWN
    scored, invalid = dict[str, Scores](), list[Invalid]()
    for system, own in files.items():
        none = f"{systems[system][0]}: expected scores in {name}, got none"
        found = _scores(own[name], keys) if name in own else none
        if isinstance(found, str):
            invalid.append(Invalid(system, [found]))
        else:
            scored[system] = found
    return scored, invalid


def _scores(document: Document, keys: Keys) -> Scores | str:
    """Return the scores in a file, or a message about the file."""
    try:
        values = json.loads(document.read(Problems()) or b"")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return f"{document.file}: expected a JSON object of scores"
    for key in keys.values():
        value = values.get(key)
        if not isinstance(value, (int, float)) or not -_MOST < value < _MOST:
            return f'{document.file}: expected a finite number under "{key}"'
    return {key: float(values[key]) for key in keys.values()}


def tracks_of(gold: Source, edition: Edition) -> list[Board]:
    problems = Problems()
    listed = documents_among_others(gold, problems, edition)
    chosen = latest(listed, problems, edition, Role.GOLD).values() or listed[:1]
    tracks = []
    for document in chosen:
        table = read_rows(document, Role.GOLD, problems, edition)
        if table is not None and table.labelled:
            name = edition.guess(document.base) or name_by_rows(table, edition)
            tracks.append(Board(name, table, edition))
    if any(problem.severity == ERROR for problem in problems):
        raise InvalidInput(problems)
    return sorted(tracks, key=lambda board: board.name.order)


def keys_of(tracks: Sequence[Board], metrics: Sequence[Metric]) -> Keys:
    names = [metric.name for metric in metrics]
    columns = tracks[0].edition.platform_columns(tuple(names))
    listed = {board.name.track for board in tracks}
    keys = {(it.track, it.metric): it.key for it in columns if it.track in listed}
    if any((track, names[0]) not in keys for track in listed):
        raise ShroomError(
            f"the scoring outputs do not contain {names[0]} for every track; choose another metric "
            "with --metric"
        )
    return keys


def output_rows(
    tracks: Sequence[Board], scored: Mapping[str, Scores], keys: Keys, metrics: Sequence[Metric]
) -> list[list[Row]]:
    """Return the ranked systems of each track, then of the mean if the edition ranks by it."""
    names, means = [metric.name for metric in metrics], list[list[Row]]()
    by_track: list[dict[str, dict[str, Any]]] = [
        {
            system: {name: values.get(keys.get((board.name.track, name), "")) for name in names}
            for system, values in scored.items()
        }
        for board in tracks
    ]
    if tracks[0].edition.average and len(tracks) > 1 and not tracks[0].edition.columns:
        mean = {
            system: {name: fmean(own[system][name] for own in by_track) for name in names}
            for system in scored
        }
        n = sum(board.gold.n for board in tracks)
        means = [_ranked(f"mean of {len(tracks)} tracks", mean, metrics, n)]
    pairs = zip(tracks, by_track)
    return [*(_ranked(it.name.track, own, metrics, it.gold.n) for it, own in pairs), *means]


def _ranked(
    track: str, scores: Mapping[str, Mapping[str, Any]], metrics: Sequence[Metric], n: int
) -> list[Row]:
    by_metric = {it.name: [values[it.name] for values in scores.values()] for it in metrics}
    cells = [score_cells(values, {}) for values in scores.values()]
    return in_order(track, [*scores], ranked(metrics, by_metric), cells, n)
