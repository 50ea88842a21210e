"""The submissions of several systems: their names, their files, and those with errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from shroom.core.paths import Source, is_junk, is_readme
from shroom.core.printing import printable
from shroom.core.problem_codes import CODES, ERROR, WARNING
from shroom.core.problems import InvalidInput, Problem, Problems, ShroomError, UnknownName
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_names import ENDING
from shroom.scoring.in_memory import Data, InMemory, Submissions, as_source, as_sources
from shroom.scoring.input_files import JSON, TABLES, is_pipe
from shroom.scoring.tables import Table
from shroom.scoring.verdict import Checked

_SUFFIXES = (*JSON, ".zip")
_GOLD = "it is the gold"
_FORMS = "submissions are folders or .json, .jsonl, .csv, .tsv and .zip files"


@dataclass(frozen=True)
class Invalid:
    system: str
    problems: list[str]


def refused(verdict: str, invalid: Iterable[Invalid]) -> Table:
    """Return the errors of submissions as notes under a heading such as ``not ranked``."""
    lines = ((f"- {it.system}", *(f"  {line}" for line in it.problems)) for it in invalid)
    notes = [line for of_one in lines for line in of_one]
    return Table(verdict.capitalize() if notes else "", notes=notes, verdict=verdict)


def submissions_in(
    folder: Source, gold: Source | None = None, edition: Edition | Source | None = None
) -> tuple[dict[str, list[Path]], dict[Path, str]]:
    """Return the submissions of a folder by system, and why each other file is not one."""
    edition, _ = resolve(edition, gold)
    root = Path(folder)
    single = (
        f"{folder}: a single submission; put all submissions into one folder, or use 'shroom score'"
    )
    if not root.is_dir():
        raise UnknownName(single)
    if _is_same(root, gold):
        raise ShroomError(
            f"{folder}: the submissions and the gold are the same folder; specify a folder of "
            "submissions, then the gold"
        )
    systems: dict[str, list[Path]] = {}
    others: dict[Path, str] = {}
    for path in sorted(it for it in root.iterdir() if not is_junk(it.name)):
        reason = _why_no_submission(path, gold, edition)
        if not reason:
            name = path.name if path.is_dir() else system_name(path.name, edition)
            systems.setdefault(name or path.name, []).append(path)
        elif not is_readme(path.name) or reason == _GOLD:
            others[path] = reason
    if not systems:
        first = {why: path for path, why in reversed(others.items())}
        raise ShroomError(
            f"{folder}: contains no submission; add a folder, a zip or a .json file for each system"
            + "".join(
                f"\n{printable(str(it))}: ignored, because {why}" for why, it in first.items()
            )
        )
    files = [path for paths in systems.values() for path in paths]
    if all(path.is_file() and not system_name(path.name, edition) for path in files):
        raise ShroomError(single)
    return systems, others


def _is_same(path: Path, gold: Source | None) -> bool:
    return gold is not None and Path(gold).exists() and path.exists() and path.samefile(gold)


def _why_no_submission(path: Path, gold: Source | None, edition: Edition) -> str:
    """Return why an entry of a folder is not a submission; empty if it is one."""
    if _is_same(path, gold):
        return _GOLD
    if path.is_dir():
        return ""
    if not path.name.lower().endswith((*_SUFFIXES, *TABLES)):
        return _FORMS
    if path.exists() and not path.is_file():
        return "it is not a regular file"
    if path.name.lower().endswith(TABLES) and edition.guess(path.name) is None:
        name = re.sub(ENDING + "$", "", edition.expected_name(edition.submitted))
        return f"the name of a table must contain its split and track, as in TEAM.{name}.csv"
    return ""


def checked_systems(
    systems: Mapping[str, Sequence[Source]],
    gold: Source,
    split: str | None = None,
    edition: Edition | Source | None = None,
) -> tuple[dict[str, Checked], list[Invalid]]:
    """Return the checked systems that can be ranked, and the systems with errors."""
    refuse_piped_gold(gold)
    edition, _ = resolve(edition, gold)
    splits = (split,) if split and split not in edition.submitted else ()
    valid: dict[str, Checked] = {}
    invalid, of_gold = [], list[Problem]()
    for system, paths in systems.items():
        verdict = _merged([check(path, gold, splits=splits, edition=edition) for path in paths])
        if not verdict.ok:
            invalid.append(Invalid(system, _error_lines(verdict.problems)))
            of_gold += _elsewhere(verdict.problems, paths)
        elif split and all(track.name.split != split for track in verdict.tracks):
            invalid.append(Invalid(system, [f"{paths[0]}: no predictions for the split {split}"]))
        else:
            valid[system] = verdict
    if of_gold and not valid:
        problems = Problems()
        problems.extend(dict.fromkeys(of_gold))
        raise InvalidInput(problems)
    return valid, invalid


def _merged(parts: Sequence[Checked]) -> Checked:
    """Return one verdict on all files of a system; each track may have only one file."""
    problems = Problems()
    first: dict[tuple[str, str], str] = {}
    for part in parts:
        problems.extend(part.problems)
        for track in part.tracks:
            file = track.predictions.file
            if (other := first.setdefault(track.name.key, file)) != file:
                expected = f"one file for {track.name}"
                problems.add("file-twice", file, expected, f"a second file besides {other}")
    tracks = [track for part in parts for track in part.tracks]
    return replace(parts[0], problems=problems, tracks=tracks)


def _error_lines(problems: Problems) -> list[str]:
    """Return the lines about errors, without warnings and their fixes."""
    warned = [f"  to fix [{code}]" for code in problems.codes if CODES[code].severity == WARNING]
    return [line for line in problems.lines() if not line.startswith(("warning: ", *warned))]


def _elsewhere(problems: Iterable[Problem], paths: Sequence[Source]) -> list[Problem]:
    """Return the errors outside a submission's files, which are in the gold."""
    return [
        problem
        for problem in problems
        if problem.severity == ERROR
        and not any(Path(problem.file).is_relative_to(str(path)) for path in paths)
    ]


def read(
    submissions: Submissions,
    gold: Data,
    *,
    by: tuple[str, ...] = (),
    edition: Edition | Source | None = None,
) -> tuple[dict[str, Checked], Problems]:
    """Check several submissions, and return them by their names, with all problems.

    The gold is sliced by the keys ``by``. Submissions in a mapping have its keys as names, others
    the name of their file or folder.
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
    """Return submissions by the keys of a mapping, otherwise by :func:`names`."""
    sources = as_sources(submissions)
    if isinstance(submissions, Mapping):
        return dict(zip(map(str, submissions), sources))
    return dict(zip(names(sources, edition), sources))


def refuse_piped_gold(gold: Source) -> None:
    """Raise :class:`ShroomError` if the gold is a pipe, which can be read only once."""
    if is_pipe(gold):
        raise ShroomError(
            f"{gold}: the gold is read once for each submission, so it cannot come from a pipe; "
            f"write it to a file first"
        )


def names(paths: Sequence[Source], edition: Edition) -> list[str]:
    """Return a short, unique name for each path: that of the system, or else of the folder."""
    parts = [_parts(path, edition) for path in paths]
    short_names: list[str] = []
    for own in parts:
        others = [other for other in parts if other != own]
        depths = range(1, len(own))
        free = (it for it in depths if all(other[-it:] != own[-it:] for other in others))
        name = "/".join(own[-next(free, len(own)) :])
        numbered = chain([name], (f"{name} ({number})" for number in count(2)))
        short_names.append(next(it for it in numbered if it not in short_names))
    return short_names


def system_name(file: str, edition: Edition) -> str:
    """Return the part of a file's name before its split and track."""
    name = edition.system_in(file)
    return re.sub(rf"(?:{ENDING}|\.zip)$", "", file) if name is None else name


def _parts(path: Source, edition: Edition) -> list[str]:
    if os.fspath(path) == "-":
        return ["pipe"]
    if isinstance(path, InMemory):
        return [path.name]
    *folders, last = Path(path).absolute().parts[1:] or ("submission",)
    name = last if Path(path).is_dir() else system_name(last, edition)
    return [*folders, name] if name else list(folders) or [last]
