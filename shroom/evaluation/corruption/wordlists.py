"""The kit's word lists: plain files with one entry per line."""

from __future__ import annotations

import functools
import itertools
import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent / "words"


class Unit(NamedTuple):
    dimension: str
    factor: Fraction


def lines(name: str) -> list[str]:
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.split("\n") if line.strip() and line[0] != "#"]


@functools.cache
def words(name: str) -> frozenset[str]:
    """Return a list of words; a line may have several."""
    return frozenset(" ".join(lines(name)).split())


@functools.cache
def auxiliaries() -> dict[str, str]:
    """Return the auxiliary of each one-word negation."""
    rows = [line.split() for line in lines("auxiliaries")]
    return {negated: plain for plain, *others in rows for negated in others}


@functools.cache
def numbers(kind: str) -> dict[str, int]:
    """Return the words of a kind with their numbers: ``scale`` or ``other``."""
    rows = [line.split() for line in lines("numbers")]
    return {word: int(value) for of, word, value in rows if of == kind}


@functools.cache
def units() -> dict[str, Unit]:
    rows = [line.split() for line in lines("units")]
    return {it: Unit(kind, Fraction(factor)) for kind, factor, *names in rows for it in names}


@functools.cache
def names() -> dict[str, list[tuple[str, ...]]]:
    """Return the known names by kind, grouped by what they name."""
    listed: dict[str, list[tuple[str, ...]]] = {}
    for kind, _, rest in (line.partition(": ") for line in lines("names")):
        groups = [re.sub("^the |(?<=/)the ", "", group).split("/") for group in rest.split("; ")]
        listed.setdefault(kind, []).extend(map(tuple, groups))
    return listed


@functools.cache
def groups_of(kind: str) -> list[tuple[str, ...]]:
    """Return the known names of a kind; full names combine first names and surnames."""
    part, _, full = kind.partition(" ")
    if full:
        pairs = itertools.product(names()[part], names()["surname"])
        return [(f"{first[0]} {family[0]}",) for first, family in pairs]
    return names().get(kind, [])


@functools.cache
def kinds() -> dict[str, str]:
    return {name: kind for kind, groups in names().items() for group in groups for name in group}


@functools.cache
def same_names() -> dict[str, tuple[str, ...]]:
    """Return each known name with all names of its group."""
    return {name: group for groups in names().values() for group in groups for name in group}


@functools.cache
def with_article() -> frozenset[str]:
    """Return the listed names that follow "the", without the article."""
    return frozenset(re.findall(r"\bthe ([^/;\n]+)", "\n".join(lines("names"))))
