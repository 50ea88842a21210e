"""Scores in the format of Codabench and CodaLab, limits of submissions, and private gold."""

# Participants see the page of a platform, so it must not show labels or values of the gold.

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, Optional

from shroom.core import archives
from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR, OPTIONS, WARNING
from shroom.core.problems import InvalidInput, Problem, Problems
from shroom.scoring.editions.competition import Column
from shroom.scoring.editions.edition import MEAN, Edition
from shroom.scoring.input_files import JSON, TABLES, documents_among_others, is_pipe
from shroom.scoring.kinds.base import kind_of, ranking_metrics
from shroom.scoring.results import Score

Slices = Mapping[str, Mapping[str, dict[str, Any]]]

#: The fewest items that a slice has.
LEAST_ITEMS = 20
#: Files and folders in a submission.
MAX_ENTRIES = 10_000
_ENDINGS = (*JSON, *TABLES)
#: Greater than the scores of any metric, and small enough for the leaderboards of Codabench.
LARGEST = 1e9


def check_folder(folder: Path, gold: Optional[Path] = None) -> None:
    """Refuse a submission with links, which could lead to the gold, or with too many files."""
    problems, place = Problems(), str(folder)
    if folder.is_symlink():
        problems.add("not-a-file", place, "a file or folder", "a link")
    labelled = (gold, *gold.rglob("*")) if gold else ()
    golds = {_identity(path.stat()) for path in labelled if path.is_file()}
    left, entries, size = [folder] if folder.is_dir() else [], 0, 0
    while left and entries <= MAX_ENTRIES:
        for entry in os.scandir(left.pop()):
            entries += 1
            named = entry.name.lower().endswith(_ENDINGS)
            if entry.is_dir(follow_symlinks=False) and not named:
                left.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                description = "a link" if entry.is_symlink() else "a folder, a pipe or a device"
                problems.add("not-a-file", entry.path, "a file", description)
            elif named:
                about = os.stat(entry.path)  # noqa: PTH116 - the entry's has no inode on Windows
                if about.st_nlink > 1 and _identity(about) in golds:
                    problems.add("not-a-file", entry.path, "a file", "a link to the gold")
                size += about.st_size
    if entries > MAX_ENTRIES:
        problems.add("zip-members", place, f"at most {MAX_ENTRIES} files and folders", "more")
    if size > archives.MAX_BYTES:
        archives.too_large(archives.MAX_BYTES).report(place, problems)
    if problems.errors:
        raise InvalidInput(problems)


def _identity(about: os.stat_result) -> tuple[int, int]:
    return about.st_dev, about.st_ino


def score_without_labels(result: Score, gold: Path) -> Score:
    """Return a score without small slices and without values of the gold in its warnings."""
    tracks = [replace(track, slices=large_slices(track.slices)) for track in result.results]
    warnings = [without_values(problem, gold) for problem in result.warnings]
    return replace(result, results=tracks, warnings=warnings)


def large_slices(slices: Slices) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the slices with enough items whose complement also has enough items."""
    # The items outside the shown slices form a slice, too, whose scores can be computed.
    shown = {}
    for key, parts in slices.items():
        left_out, large = 0, dict(parts)
        for word in sorted(parts, key=lambda word: int(parts[word]["n"])):
            if parts[word]["n"] >= LEAST_ITEMS and not 0 < left_out < LEAST_ITEMS:
                break
            left_out += parts[word]["n"]
            del large[word]
        if large:
            shown[key] = large
    return shown


def without_options(text: str) -> str:
    """Return text or HTML without advice on options that the scoring program does not have."""
    for advice in OPTIONS.values():
        text = text.replace(advice, "").replace(escape(advice), "")
    return text


def without_labels(problems: Problems, unlabelled: Problems) -> Problems:
    """Return the errors of a check with gold, and the warnings of a check without gold."""
    # A blind phase must not show the labels: a warning may depend on them, an error never does.
    shown = problems.replaced(lambda problem: problem if problem.severity == ERROR else None)
    shown.extend(unlabelled.replaced(lambda it: it if it.severity == WARNING else None))
    return shown


def without_values(problem: Problem, gold: Path) -> Problem:
    """Return a problem without values from the gold."""
    if problem.file != str(gold) and not problem.file.startswith(f"{gold}{os.sep}"):
        return problem
    description = "invalid gold (the details are hidden; please tell the organisers)"
    return replace(problem, expected="valid gold", found=description, id=None, key=None)


def platform_scores(score: Score) -> dict[str, float]:
    """Return the scores for the platforms: a finite number for the key of every column."""
    # Codabench ranks a submission without a number first, so undefined scores become the worst.
    if len({result.track for result in score.results}) < len(score.results):
        problems, expected = Problems(), "one split, as the platforms require"
        listed = ", ".join(f"{result.split} {result.track}" for result in score.results)
        problems.add("splits-mixed", "the submission", expected, listed)
        raise InvalidInput(problems)
    by_track = {MEAN: score.mean, **{result.track: result.scores for result in score.results}}
    scores = {}
    for column, worst in _worst(score.edition):
        value = by_track.get(column.track, {}).get(column.metric)
        value = column.undefined if value is None else value
        scores[column.key] = worst if value is None else value
    return scores


def worst_scores(edition: Edition) -> dict[str, float]:
    """Return the worst possible score of each column."""
    return {column.key: worst for column, worst in _worst(edition)}


def _worst(edition: Edition) -> Iterator[tuple[Column, float]]:
    metrics = {metric.name: metric for metric in ranking_metrics(edition)}
    for column in edition.platform_columns(tuple(metrics)):
        metric = metrics.get(column.metric) or kind_of(edition).metric(column.metric, edition)
        least, greatest = metric.bounds
        better = metric.higher_is_better
        yield column, max(least, -LARGEST) if better else min(greatest, LARGEST)


def as_yaml(scores: Mapping[str, float]) -> str:
    """Return the scores of columns as ``key: value`` lines, which are valid YAML."""
    lines = []
    for key, value in scores.items():
        digits = repr(value)  # YAML takes a power of ten only after a decimal point
        lines.append(f"{key}: {digits if '.' in digits else digits.replace('e', '.0e')}\n")
    return "".join(lines)


def missing_tracks(score: Score, gold: Source) -> list[Problem]:
    """Return a warning for each track of the gold that is missing, and so ranks last."""
    edition, values = score.edition, platform_scores(score)
    present = {result.track for result in score.results}
    listed = [] if is_pipe(gold) else documents_among_others(gold, Problems(), edition)
    there = {name.track for it in listed if (name := edition.guess(it.base)) is not None}
    warnings = []
    for track in edition.track_names:
        if track not in present and track in (there or edition.track_names):
            own = [values[column.key] for column, _ in _worst(edition) if column.track == track]
            shown = " and ".join(dict.fromkeys(f"{value:g}" for value in own)) or "missing"
            found = f"no predictions for this track, so its scores are {shown}"
            warning = Problem("track-missing", "the submission", f"the {track} track", found)
            warnings.append(warning)
    return warnings
