"""Edition files: reading, validating and finding them."""

# Python 3.9 has no TOML reader, so the scoring program gets a validated edition as JSON.

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.plain import WrongEdition, from_plain, given, read_plain
from shroom.scoring.editions.validation import validated
from shroom.scoring.in_memory import InMemory

#: The name of an edition file beside its gold.
FILE = "edition.toml"
#: The default edition.
DEFAULT = "semeval2024"
#: The kit's editions; the scoring program has their names but not their files.
NAMES = ("cap2025", "mushroom2025", "semeval2024", "visions2026")
_FOLDER = Path(__file__).parent


@functools.cache
def built_in(name: str) -> Edition:
    """Return one of the kit's own editions."""
    import tomllib  # missing in Python 3.9; the scoring program reads its edition as JSON

    # These files need no validation: a test checks them.
    return from_plain(tomllib.loads(text_of(name)))


def text_of(name: str) -> str:
    """Return the file of one of the kit's own editions; see :func:`built_in`."""
    if name not in NAMES:
        raise UnknownName(
            f"no edition '{printable(name)}';{nearest(name, NAMES)} the kit's editions are "
            f"{', '.join(NAMES)}. For your own edition, specify the path of its edition.toml"
        )
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def template() -> str:
    """Return an edition file with comments, to be edited."""
    return (_FOLDER / "template.txt").read_text(encoding="utf-8")


def default() -> Edition:
    """Return the default edition."""
    return built_in(DEFAULT)


def resolve(
    edition: Edition | Source | None, *sources: Source | None
) -> tuple[Edition, Path | None]:
    """Return the edition, and the ``edition.toml`` beside the first source if it was used."""
    if isinstance(edition, Edition):
        return edition, None
    if edition is None:
        source = next((source for source in sources if source is not None), None)
        beside = None if source is None else file_beside(source)
        return (default() if beside is None else read(beside)), beside
    path = Path(edition)
    file = path / FILE if path.is_dir() else path
    is_file = file.is_file() or path.suffix in (".toml", ".json")
    is_named = str(edition) in NAMES or not is_file
    return (built_in(str(edition)) if is_named else read(file)), None


def file_beside(gold: Source) -> Path | None:
    """Return the edition file in a folder of gold, or beside a file of gold; else ``None``."""
    if isinstance(gold, InMemory) or str(gold) == "-":
        return None
    path = Path(gold)
    found = (path if path.is_dir() else path.parent) / FILE
    return found if found.is_file() else None


def read(path: Path) -> Edition:
    """Return the edition in a file; raise an error that lists every problem with its place."""
    plain = read_plain(path)
    try:
        edition = validated(plain, path.parent)
    except WrongEdition as error:
        raise WrongEdition(error.problems, path) from error
    if edition.name in NAMES and digest(edition):
        raise ShroomError(
            f"{path}: name: '{edition.name}' is an edition of the kit; choose another name"
        )
    return edition


def digest(edition: Edition) -> str:
    """Return six hexadecimal digits of the hash of an edition; empty for the kit's editions."""
    content = given(edition)
    if edition.name in NAMES:
        there = (_FOLDER / f"{edition.name}.toml").is_file()
        if not there or content == given(built_in(edition.name)):
            return ""
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of edition files, for text editors."""
    import msgspec

    title = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    listed = {**title, **msgspec.json.schema(Edition)}
    for key in ("start", "end"):  # in Python a datetime is a date, but not in JSON Schema
        choices = listed["$defs"]["Phase"]["properties"][key]["anyOf"]
        choices.append({"type": "string", "format": "date-time"})
    return listed
