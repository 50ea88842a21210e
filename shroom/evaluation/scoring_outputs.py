"""Outputs of the scoring program that organisers download: scores without predictions."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.evaluation.board import Board, ranked
from shroom.evaluation.leaderboard_result import Row, in_order
from shroom.evaluation.submissions import Invalid
from shroom.metrics.base import Metric
from shroom.scoring.editions.competition import Column
from shroom.scoring.editions.edition import MEAN, Edition
from shroom.scoring.file_choice import latest, name_by_rows
from shroom.scoring.input_files import JSON, TABLES, documents, documents_among_others
from shroom.scoring.kinds.base import kind_of, ranking_metrics
from shroom.scoring.platforms import worst_scores
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import Role
from shroom.scoring.tables import score_cells

#: The files with scores. In a blind phase, the first file has the worst possible scores, and the
#: second one the true scores.
FILES = ("scores.json", "hidden_scores.json")

#: The greatest absolute value that is accepted as a score.
_MOST = 1e300
#: The tolerance for scores beyond their bounds because of rounding.
_ROUNDING = 1e-9

Scores = Mapping[str, float]


def are_outputs(folder: Source, systems: Mapping[str, Sequence[Path]]) -> bool:
    """Return whether the entries of a folder are outputs of the scoring program."""
    if any(path.name.lower() in FILES for paths in systems.values() for path in paths):
        raise ShroomError(
            f"{folder}: this folder has the scoring output of only one submission; specify the "
            "folder with all outputs"
        )
    names = {system: {*_names(paths)} for system, paths in systems.items()}
    outputs = [system for system, found in names.items() if found.intersection(FILES)]
    endings = (*JSON, *TABLES)
    others = [
        system
        for system in systems
        if system not in outputs and any(name.endswith(endings) for name in names[system])
    ]
    if outputs and others:
        raise ShroomError(
            f"{folder}: {outputs[0]} is an output of the scoring program, but {others[0]} "
            "contains predictions; put outputs and predictions into separate folders"
        )
    return bool(outputs)


def _names(paths: Iterable[Path]) -> Iterable[str]:
    for path in paths:
        if path.is_dir():
            yield from (file.name.lower() for file in path.rglob("*"))
        elif path.suffix.lower() == ".zip":
            # The check of the submission reports a damaged zip.
            with suppress(zipfile.BadZipFile, OSError, ValueError), zipfile.ZipFile(path) as file:
                yield from (PurePosixPath(name).name.lower() for name in file.namelist())
        else:
            yield path.name.lower()


def read_outputs(
    systems: Mapping[str, Sequence[Path]], columns: Sequence[Column], edition: Edition
) -> tuple[dict[str, Scores], list[Invalid]]:
    """Return the scores of each system by column, and the systems without scores."""
    scored: dict[str, Scores] = {}
    invalid, revealed = [], set()
    for system, paths in systems.items():
        found = _scores(paths, columns, edition)
        if isinstance(found, str):
            invalid.append(Invalid(system, [found]))
        else:
            scored[system] = found
        if FILES[1] in _names(paths):
            revealed.add(system)
    worst = {column.key: worst_scores(edition)[column.key] for column in columns}
    hidden = [it for it in scored if it not in revealed and scored[it] == worst]
    if revealed or len(hidden) == len(scored):
        for system in hidden:
            del scored[system]
            problem = f"{systems[system][0]}: expected {FILES[1]}, got only the worst scores, "
            problem += "which a blind phase shows instead of the real scores"
            invalid.append(Invalid(system, [problem]))
    return scored, invalid


def _scores(paths: Sequence[Path], columns: Sequence[Column], edition: Edition) -> Scores | str:
    """Return the scores of one system, or a message about its files."""
    found = [it for path in paths for it in documents(path, Problems(), edition, submission=True)]
    values: dict[str, Any] = {}
    for file in FILES:
        for document in found:
            if document.base.lower() == file:
                try:
                    values |= json.loads(document.read(Problems()) or b"")
                except (ValueError, TypeError, RecursionError):
                    return f"{document.file}: expected a JSON object of scores"
    if not values:
        return f"{paths[0]}: contains no scores, because the submission was not scored"
    for column in columns:
        value: Any = values.get(column.key)
        is_odd = isinstance(value, bool) or not isinstance(value, (int, float))
        if is_odd or not -_MOST < value < _MOST:
            return f'{paths[0]}: expected a finite number under "{column.key}" in {FILES[0]}'
        least, greatest = kind_of(edition).metric(column.metric, edition).bounds
        is_inside = least - _ROUNDING <= value <= greatest + _ROUNDING
        if not is_inside and value not in (column.undefined, worst_scores(edition)[column.key]):
            span = f"from {least:g} to {greatest:g}"
            return f'{paths[0]}: expected a number {span} under "{column.key}", got {value:g}'
    return {column.key: float(values[column.key]) for column in columns}


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


def output_rows(
    tracks: Sequence[Board], scored: Mapping[str, Scores], metrics: Sequence[Metric]
) -> Iterator[tuple[Board | None, list[Row]]]:
    """Yield the ranked systems of each track; the mean over tracks is last, without a board."""
    edition = tracks[0].edition
    names = [metric.name for metric in ranking_metrics(edition)]
    keys = {(it.track, it.metric): it.key for it in columns_of(tracks, metrics)}
    listed = list[dict[str, Any]]()
    for board in tracks:
        by_name = {name: keys.get((board.name.track, name), "") for name in names}
        own = {
            system: {name: values.get(key) for name, key in by_name.items()}
            for system, values in scored.items()
        }
        listed.append(own)
        yield board, _ranked(board.name.track, own, metrics, board.gold.n)
    if edition.average and len(tracks) > 1 and not edition.columns:
        means = {
            system: {name: fmean(own[system][name] for own in listed) for name in names}
            for system in scored
        }
        n = sum(board.gold.n for board in tracks)
        yield None, _ranked(f"mean of {len(tracks)} tracks", means, metrics, n)


def columns_of(tracks: Sequence[Board], metrics: Sequence[Metric]) -> list[Column]:
    """Return the columns of the tracks, and of the mean over them."""
    columns = tracks[0].edition.platform_columns(tuple(metric.name for metric in metrics))
    names = {MEAN, *(board.name.track for board in tracks)}
    return [column for column in columns if column.track in names]


def rows_by_column(
    tracks: Sequence[Board], scored: Mapping[str, Scores], columns: Sequence[Column]
) -> tuple[tuple[str, ...], list[Row]]:
    """Return the keys of columns, and the systems ranked by them as on the platform."""
    edition = tracks[0].edition
    by_name = kind_of(edition).metric
    metrics = [replace(by_name(it.metric, edition), name=it.key) for it in columns]
    n = sum(board.gold.n for board in tracks)
    return tuple(column.key for column in columns), _ranked("all columns", scored, metrics, n)


def _ranked(
    track: str, scores: Mapping[str, Mapping[str, Any]], metrics: Sequence[Metric], n: int
) -> list[Row]:
    by_metric = {it.name: [values[it.name] for values in scores.values()] for it in metrics[:2]}
    cells = [score_cells(values, {}) for values in scores.values()]
    return in_order(track, [*scores], ranked(metrics, by_metric), cells, n)
