"""Systems on two versions of a gold, whose items are matched."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problem, Problems, ShroomError
from shroom.evaluation.board import Board, Places
from shroom.evaluation.submissions import Invalid, names, refuse_piped_gold, submissions_in
from shroom.metrics.cluster_bootstrap import places
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.rows import Rows
from shroom.scoring.slices import NONE
from shroom.scoring.verdict import Checked


@dataclass(frozen=True, eq=False)
class TwoGolds:
    """The same systems on two golds; items are numbered from 0, first those of the old gold."""

    old: Board
    new: Board
    old_items: Places
    new_items: Places
    n: int

    @property
    def unit(self) -> Places:
        words: list[Hashable] = list(range(self.n))
        for board, items in ((self.new, self.new_items), (self.old, self.old_items)):
            group = board.gold.groups.get(board.edition.item.unit)
            if group is not None:
                for item, place in zip(items.tolist(), group.place.tolist()):
                    word = group.words[place]
                    words[item] = words[item] if word == NONE else word
        return places(words)


def submissions_of(sources: Sequence[Source], edition: Edition) -> dict[str, list[Path]]:
    if len(sources) == 1 and Path(sources[0]).is_dir():
        try:
            return submissions_in(sources[0], edition=edition)[0]
        except ShroomError:  # a single submission, or nothing, which its check reports
            pass
    return {name: [Path(source)] for name, source in zip(names(sources, edition), sources)}


def two_golds(
    systems: Mapping[str, Sequence[Path]], old: Source, new: Source, edition: Edition
) -> tuple[list[TwoGolds], list[Invalid]]:
    """Return the systems on each track that both golds have, and those with errors."""
    refuse_piped_gold(old)
    refuse_piped_gold(new)
    tracks: dict[tuple[str, str], tuple[Board, Board]] = {}
    invalid, problems = [], Problems()
    for system, paths in systems.items():
        by_old, by_new = (
            [check(path, gold, texts=True, limit=None, edition=edition) for path in paths]
            for gold in (old, new)
        )
        errors = _errors(by_old, by_new)
        if errors.errors:
            invalid.append(Invalid(system, list(errors.lines())))
            problems.extend(errors)
            continue
        after_by_file = {it.predictions.file: it for part in by_new for it in part.aligned}
        for before in (it for part in by_old for it in part.aligned):
            if after := after_by_file.get(before.predictions.file):
                name = before.name if before.name.split else after.name
                empty = Board(name, before.gold, edition), Board(name, after.gold, edition)
                for board, pair in zip(tracks.setdefault(name.key, empty), (before, after)):
                    board.add(system, pair)
    if not tracks and invalid:
        raise InvalidInput(problems)
    if not tracks:
        raise ShroomError(
            f"{old} and {new} have no track in common, so there is nothing to compare"
        )
    matched = [_matched(*boards) for boards in tracks.values()]
    return sorted(matched, key=lambda golds: golds.old.name.order), invalid


def _errors(old: Sequence[Checked], new: Sequence[Checked]) -> Problems:
    """Return the errors of a system, except those about items of the other gold."""
    by_old, by_new = (
        {track.predictions.file: track.gold for part in parts for track in part.tracks}
        for parts in (old, new)
    )
    errors: dict[Problem, None] = {}
    for parts, golds, others in ((old, by_old, by_new), (new, by_new, by_old)):
        for problem in (problem for part in parts for problem in part.problems):
            gold, other = golds.get(problem.file), others.get(problem.file)
            if problem.severity == ERROR and not _is_of(problem, gold, other):
                errors[problem] = None
    problems = Problems()
    problems.extend(errors)
    return problems


def _is_of(problem: Problem, gold: Rows | None, other: Rows | None) -> bool:
    if gold is None or other is None or gold.ids is None or other.ids is None:
        return False
    return problem.code == "count" or (
        problem.code == "id-unknown" and problem.id in other.ids.tolist()
    )


def _matched(old: Board, new: Board) -> TwoGolds:
    before, after = old.gold, new.gold
    if before.ids is None or after.ids is None:
        if before.n != after.n:
            raise ShroomError(
                f"{after.file}: expected {before.n} items as in {before.file}, got {after.n}; to "
                "compare files with different items, add ids to both files"
            )
        _refuse_another_order(before, after)
        order = np.arange(before.n)
        return TwoGolds(old, new, order, order, before.n)
    number: dict[Any, int] = {id_: row for row, id_ in enumerate(before.ids.tolist())}
    items = [number.setdefault(id_, len(number)) for id_ in after.ids.tolist()]
    return TwoGolds(old, new, np.arange(before.n), np.array(items, np.intp), len(number))


def _refuse_another_order(before: Rows, after: Rows) -> None:
    """Raise if the texts of golds without ids are in different orders."""
    old, new = ([hyp for hyp, *_ in gold.texts or []] for gold in (before, after))
    moved = [row for row, (a, b) in enumerate(zip(old, new)) if a and b and a != b]
    if 2 * len(moved) > before.n or (moved and sorted(map(str, old)) == sorted(map(str, new))):
        raise ShroomError(
            f"{after.file}: item {moved[0]}: hyp differs from that in {before.file} (in "
            f"{len(moved)} of "
            f"{before.n} items); add ids to both files, or put the items in the same order"
        )
