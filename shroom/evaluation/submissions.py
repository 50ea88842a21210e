"""The submissions of several systems: their names, their files, and those with errors."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shroom.core.paths import Source, is_junk, is_readme
from shroom.core.problems import InvalidInput, Problems, ShroomError, UnknownName
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_names import ENDING
from shroom.scoring.in_memory import Data, InMemory, Submissions, as_source, as_sources
from shroom.scoring.input_files import JSON, TABLES, is_pipe
from shroom.scoring.tables import Table
from shroom.scoring.verdict import Checked

#: What a submission in a folder is.
FORMS = (
    "submissions are folders, .json, .jsonl and .zip files, and tables with a split and a track in "
    "their names"
)


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
) -> tuple[dict[str, list[Path]], list[Path]]:
    """Return the submissions of a folder by system, and the other files except the gold."""
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
    others: list[Path] = []
    for path in sorted(it for it in root.iterdir() if not (is_junk(it.name) or _is_same(it, gold))):
        if _is_submission(path, edition):
            name = path.name if path.is_dir() else system_name(path.name, edition)
            systems.setdefault(name or path.name, []).append(path)
        elif not is_readme(path.name):
            others.append(path)
    if not systems:
        raise ShroomError(f"{folder}: contains no submission; {FORMS}")
    files = [path for paths in systems.values() for path in paths]
    if all(path.is_file() and not system_name(path.name, edition) for path in files):
        raise ShroomError(single)
    return systems, others


def _is_same(path: Path, gold: Source | None) -> bool:
    return gold is not None and Path(gold).exists() and path.exists() and path.samefile(gold)


def _is_submission(path: Path, edition: Edition) -> bool:
    name = path.name.lower()
    is_table = name.endswith(TABLES) and edition.guess(path.name) is not None
    # A link may be broken, which its check reports; a pipe would never end.
    is_file = path.is_file() or path.is_symlink()
    return path.is_dir() or (is_file and (is_table or name.endswith((*JSON, ".zip"))))


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
    invalid, problems = [], Problems()
    for system, paths in systems.items():
        verdict = _merged([check(path, gold, splits=splits, edition=edition) for path in paths])
        if not verdict.ok:
            invalid.append(Invalid(system, list(verdict.problems.lines())))
            problems.extend(verdict.problems)
        elif split and all(track.name.split != split for track in verdict.tracks):
            invalid.append(Invalid(system, [f"{paths[0]}: no predictions for the split {split}"]))
        else:
            valid[system] = verdict
    refuse_all_invalid(invalid, valid, problems)
    return valid, invalid


def refuse_all_invalid(
    invalid: Sequence[Invalid], valid: Collection[object], problems: Problems | None = None
) -> None:
    """Raise if all systems have errors."""
    if not valid and problems is not None and problems.errors:
        raise InvalidInput(problems)
    if not valid:
        raise ShroomError("\n".join(line for system in invalid for line in system.problems))


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
    """Return a unique name for each path: that of its system, otherwise the path."""
    short = [_name(path, edition) for path in paths]
    named: dict[str, set[str]] = {}
    for name, path in zip(short, paths):
        named.setdefault(name, set()).add(str(path))
    long = [name if len(named[name]) == 1 else str(path) for name, path in zip(short, paths)]
    repeated = (long[:place].count(name) for place, name in enumerate(long))
    return [f"{name} ({count + 1})" if count else name for name, count in zip(long, repeated)]


def system_name(file: str, edition: Edition) -> str:
    """Return the part of a file's name before its split and track."""
    name = edition.system_in(file)
    return re.sub(rf"(?:{ENDING}|\.zip)$", "", file) if name is None else name


def _name(path: Source, edition: Edition) -> str:
    if os.fspath(path) == "-":
        return "pipe"
    if isinstance(path, InMemory):
        return path.name
    last, folder = Path(path).absolute(), Path(path).absolute().parent
    return last.name if last.is_dir() else system_name(last.name, edition) or folder.name
