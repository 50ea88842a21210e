"""Several systems on one track: the same items, the same gold, in the same order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.metrics.base import Metric
from shroom.metrics.bootstrap import joint_bootstrap
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.intervals import FEWEST, Intervals
from shroom.metrics.rank_intervals import by_rank, rank_intervals, ranks
from shroom.scoring.align import AlignedPair
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_names import Name
from shroom.scoring.in_memory import Data, InMemory, Submissions, as_source, as_sources
from shroom.scoring.input_files import is_pipe
from shroom.scoring.rows import Rows
from shroom.scoring.signature import gold_hash, joined, signature
from shroom.scoring.units import unit_of
from shroom.scoring.verdict import Checked


@dataclass(eq=False)
class Contest:
    """The predictions of several systems on one track.

    Attributes
    ----------
    name : Name
        The split and track.
    gold : Rows
        The gold.
    edition : Edition
        The shared task.
    tracks : dict of AlignedPair
        Each system's predictions by its name, aligned with the gold.
    """

    name: Name
    gold: Rows
    edition: Edition
    tracks: dict[str, AlignedPair] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The systems' names."""
        return list(self.tracks)

    @property
    def in_sample(self) -> dict[str, int]:
        """How many of the items each system's detector was fitted on, by its name."""
        return {system: track.in_sample for system, track in self.tracks.items()}

    @property
    def signature(self) -> str:
        """Signature of the scores, with every alignment that occurs."""
        aligned = dict.fromkeys(track.alignment for track in self.tracks.values())
        return joined(
            signature(self.name.track, self.gold, align, self.edition) for align in aligned
        )

    def statistics(self, metric: Metric) -> list[NDArray[Any]]:
        """Return each system's statistics of the items: arrays of shape [n, k]."""
        return [metric.statistics(*track.columns) for track in self.tracks.values()]

    @property
    def unit(self) -> NDArray[np.intp] | None:
        """The unit of each item; see :func:`~shroom.scoring.units.unit_of`."""
        return unit_of(self.gold, self.edition)

    def scored(self, metric: Metric) -> list[tuple[Metric, NDArray[Any]]]:
        """Return the metric and the statistics of each system, of units if items belong to some."""
        unit, statistics = self.unit, self.statistics(metric)
        return [(metric, it) if unit is None else clustered(metric, it, unit) for it in statistics]

    def add(self, system: str, track: AlignedPair) -> None:
        """Add a system's predictions.

        Raises
        ------
        ShroomError
            If they are compared with another gold, or the system has been added before.
        """
        if system in self.tracks:
            before = self.tracks[system].predictions.file
            raise ShroomError(
                f"{track.predictions.file}: is of the same system and track as {before}; rename or "
                f"remove one of them"
            )
        if gold_hash(track.gold) != gold_hash(self.gold):
            raise ShroomError(
                f"{track.predictions.file}: is scored on other gold ({track.gold.file}) than the "
                f"others ({self.gold.file}), so it cannot be ranked among them"
            )
        self.tracks[system] = track

    def resampled(
        self, metrics: Sequence[Metric], intervals: Intervals
    ) -> dict[str, NDArray[np.float64]]:
        """Return all systems' scores on the same resamples: ``{metric: [systems, b]}``.

        Empty for no intervals, and for fewer than ``FEWEST`` items or units.
        """
        scored = [pair for metric in metrics for pair in self.scored(metric)]
        if not intervals.resamples or len(scored[0][1]) < FEWEST:
            return {}
        scores = joint_bootstrap(scored, intervals.resamples, intervals.seed)
        return {metric.name: part for metric, part in zip(metrics, np.split(scores, len(metrics)))}

    def ranks(
        self,
        metrics: Sequence[Metric],
        resampled: Mapping[str, NDArray[np.float64]],
        confidence: float,
    ) -> list[tuple[int, tuple[int, int] | None]]:
        """Return the rank of each system, and its interval.

        Parameters
        ----------
        metrics : sequence of Metric
            The one that ranks, and the one that breaks ties, if there is one.
        resampled : mapping of array, shape [systems, b]
            What :meth:`resampled` returns; empty for no intervals.
        confidence : float
            In (0, 1).
        """
        scores = {metric.name: [*map(metric, self.statistics(metric))] for metric in metrics[:2]}
        rank = ranks(*by_rank(metrics, scores)).tolist()
        if not resampled:
            return [(place, None) for place in rank]
        bounds = rank_intervals(*by_rank(metrics, resampled), confidence)
        return [(place, (low, high)) for place, (low, high) in zip(rank, bounds.tolist())]


def contests(checked: Mapping[str, Checked]) -> list[Contest]:
    """Return one contest for each split and track that any system has been checked on.

    Parameters
    ----------
    checked : mapping
        By the systems' names; each without errors, and checked against gold.
    """
    entered = [(system, track) for system, verdict in checked.items() for track in verdict.aligned]
    # A file whose name has no split is of the split of the others that have its gold.
    named = {track.gold.file: track.name for _, track in reversed(entered) if track.name.split}
    by_track: dict[tuple[str, str], Contest] = {}
    for system, track in entered:
        name = track.name if track.name.split else named.get(track.gold.file, track.name)
        contest = by_track.setdefault(
            (name.split, name.track), Contest(name, track.gold, track.edition)
        )
        contest.add(system, track)
    return sorted(by_track.values(), key=lambda contest: contest.name.order)


def absent(contests: Sequence[Contest]) -> dict[str, list[str]]:
    """Return the systems that are not on a track but on another one, by the track's name."""
    systems = sorted({system for contest in contests for system in contest.systems})
    lacking = {
        contest.name.track: [system for system in systems if system not in contest.tracks]
        for contest in contests
    }
    return {track: names for track, names in lacking.items() if names}


def read(
    submissions: Submissions,
    gold: Data,
    *,
    by: tuple[str, ...] = (),
    edition: Edition | Source | None = None,
) -> tuple[dict[str, Checked], Problems]:
    """Check several submissions, and return them by their names, with all problems.

    The keys ``by`` are those to slice the gold by. Submissions that are given by name have these
    names, others that of their file or folder.

    Raises
    ------
    InvalidInput
        With the problems of all submissions, if any of them has errors.
    """
    gold = as_source(gold, "gold")
    refuse_piped_gold(gold)
    edition, _ = resolve(edition, gold)
    verdicts = {
        name: check(source, gold, by=by, edition=edition)
        for name, source in by_name(submissions, edition).items()
    }
    problems = Problems()
    for verdict in verdicts.values():
        problems.extend(verdict.problems)
    if problems.errors:
        raise InvalidInput(problems)
    return verdicts, problems


def by_name(submissions: Submissions, edition: Edition) -> dict[str, Source]:
    """Return submissions by the names that they have, or else by :func:`names`."""
    sources = as_sources(submissions)
    if isinstance(submissions, Mapping):
        return dict(zip(map(str, submissions), sources))
    return dict(zip(names(sources, edition), sources))


def refuse_piped_gold(gold: Source) -> None:
    """Raise :class:`ShroomError` where the gold is a pipe, which can be read only once."""
    if is_pipe(gold):
        raise ShroomError(
            f"{gold}: the gold is read once for each submission, so it cannot come from a pipe; "
            f"write it to a file first"
        )


def names(paths: Sequence[Source], edition: Edition) -> list[str]:
    """Return a short name for each path, all of them different.

    A file whose name has only split and track is named after its folder.

    Examples
    --------
    >>> from shroom.scoring.editions.files import default
    >>> paths = ["a/val.model-aware.json", "b/val.model-aware.json", "d/c.zip", "e/c.zip", "a"]
    >>> names(paths, default())
    ['a', 'b', 'd/c', 'e/c', 'a (2)']
    """
    parts = [_parts(path, edition) for path in paths]
    short_names: list[str] = []
    for path_parts in parts:
        depth = 1
        others = [other for other in parts if other != path_parts]
        while depth < len(path_parts) and any(
            other[-depth:] == path_parts[-depth:] for other in others
        ):
            depth += 1
        short_names.append(_numbered("/".join(path_parts[-depth:]), short_names))
    return short_names


def system_name(file: str, edition: Edition) -> str:
    """Return the part of a file's name before its split and track.

    Examples
    --------
    >>> from shroom.scoring.editions.files import default
    >>> [system_name(f"{name}val.model-aware.v2.json", default()) for name in ("team7.", "")]
    ['team7', '']
    """
    name = edition.system_in(file)
    return _without_suffix(file) if name is None else name


def _parts(path: Source, edition: Edition) -> list[str]:
    if os.fspath(path) == "-":
        return ["pipe"]
    if isinstance(path, InMemory):
        return [path.name]
    *folders, last = Path(path).absolute().parts[1:] or ("submission",)
    name = last if Path(path).is_dir() else system_name(last, edition)
    return [*folders, name] if name else list(folders) or [last]


def _without_suffix(file: str) -> str:
    for suffix in (".gz", ".json", ".jsonl", ".csv", ".tsv", ".zip"):
        file = file.removesuffix(suffix)
    return file


def _numbered(name: str, names: Sequence[str]) -> str:
    numbered = (f"{name} ({number})" for number in count(2))
    return next(candidate for candidate in chain([name], numbered) if candidate not in names)
