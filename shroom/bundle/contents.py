"""The files of a bundle, and its competition as JSON values."""

from __future__ import annotations

import datetime as dt
import functools
import io
import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from shroom.core.archives import listed
from shroom.core.printing import printable, show
from shroom.core.problems import Problems, ShroomError

FILE = "competition.yaml"
#: The largest ``competition.yaml`` in bytes.
MAX_YAML = 1 << 20
#: The most values of a competition, repeated ones counted each time; few have a thousand.
MAX_VALUES = 20_000
#: The first bytes of the images that the platform accepts: PNG, JPEG, GIF and WebP.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_METADATA = ("metadata.yaml", "metadata")
_OUTSIDE = re.compile(r"/|[A-Za-z]:|\.\.(?:/|$)")
_COMMAND = re.compile(rb"""^["']?command["']?\s*:\s*\S""", re.MULTILINE)


class Contents:
    """The files of a zip; ``problems`` are the problems of the zip."""

    def __init__(self, source: str | os.PathLike[str] | bytes, file: str) -> None:
        self.file = file if isinstance(source, bytes) else os.fspath(source)
        self.problems = Problems()
        archive = io.BytesIO(source) if isinstance(source, bytes) else Path(source)
        if isinstance(archive, Path) and not archive.is_file():
            raise ShroomError(f"{self.file} is not a zip file; zip the files of the bundle")

        @functools.cache
        def member(name: str) -> bytes | None:
            return listed(archive, self.file, self.problems, (name,))[name]

        names = [name for name in listed(archive, self.file, self.problems) if name[-1:] != "/"]
        #: A function that reads each file, by its normalised name.
        self.files = {_normal(name): functools.partial(member, name) for name in names}
        #: The names that lead out of the bundle when it is unpacked.
        self.outside = [name for name in names if _OUTSIDE.match(_normal(name))]

    def read(self, name: object) -> bytes:
        content = self.files.get(_normal(name), lambda: None)()
        if content is None:
            raise ShroomError(f"expected a file in the bundle, got {show(name)}")
        return content

    def is_image(self, name: object) -> bool:
        return self.read(name).startswith(_IMAGES)

    def is_text(self, name: object) -> bool:
        text = self.read(name).decode("utf-8", "replace")
        if not text.strip():
            raise ShroomError(f"expected a text file, got the empty file {show(name)}")
        if "\ufffd" in text:
            raise ShroomError(f"expected a UTF-8 text file, got {show(name)}")
        return True

    def has(self, name: object) -> bool:
        """Return whether there is a file or folder with this name."""
        path = _normal(name)
        return path in self.files or any(other.startswith(f"{path}/") for other in self.files)

    def is_program(self, name: object) -> bool:
        """Return true; raise an error if a zip or folder contains no command to run."""
        path = _normal(name)
        if path in self.files:
            program = io.BytesIO(self.files[path]() or b"")
            files = listed(program, str(name), self.problems, _METADATA)
        else:
            inside = {key: f"{path}/{key}" for key in _METADATA}
            files = {key: self.read(own) for key, own in inside.items() if self.has(own)}
        metadata = next((key for key in _METADATA if key in files), None)
        if metadata is None and self.has(name):  # the schema reports a missing program
            top = show(sorted(files)[:5])
            raise ShroomError(f"expected metadata.yaml or metadata at the top level, got {top}")
        if metadata and not _COMMAND.search(files[metadata] or b""):
            raise ShroomError(f"expected a command in {metadata}, got none")
        return True


def _normal(name: object) -> str:
    """Return a normalised path; a path outside the bundle stays outside."""
    return posixpath.normpath(str(name).replace("\\", "/"))


def described(contents: Contents) -> dict[str, Any]:
    """Return a competition as JSON values."""
    if FILE not in contents.files:
        near = [name for name in contents.files if name.endswith(f"/{FILE}")]
        got = f"{show(near[0])}; zip the files, not their folder" if near else "none"
        raise ShroomError(f"expected this file at the top level of the bundle, got {got}")
    content = contents.files[FILE]() or b""
    if len(content) > MAX_YAML:
        raise ShroomError(f"expected at most {MAX_YAML} bytes, got {len(content)}")
    data = _parsed(content)
    if not isinstance(data, dict):
        raise ShroomError(f"expected keys and values, got {show(data)}")
    if data.get("version") not in (2, "2"):
        got = show(data["version"]) if "version" in data else "none"
        raise ShroomError(f"version: expected 2, got {got}; the kit can check only version 2")
    _dates_as_text(data.get("phases"))
    # The platform rejects dates elsewhere, so they must not be texts for the schema.
    text = json.dumps(data, default=lambda other: [str(other)], skipkeys=True)
    values: dict[str, Any] = json.loads(text)
    return values


def _parsed(content: bytes) -> Any:
    import yaml

    try:
        text = content.decode("utf-8")
        _refuse_multiplied(yaml.compose(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(printable(str(error)).split())
        raise ShroomError(f"expected YAML in UTF-8, got other text: {reason}") from error


def _refuse_multiplied(root: Any) -> None:
    """Raise an error if aliases multiply the number of values beyond ``MAX_VALUES``."""
    nodes, count = [root] if root else [], 1
    while nodes:
        children = nodes.pop().value
        if isinstance(children, list):
            count += len(children)
            if count > MAX_VALUES:
                raise ShroomError(f"expected at most {MAX_VALUES} values, got more")
            for child in children:  # an entry of a list, or the key and value of a mapping
                nodes += child if isinstance(child, tuple) else [child]


def _dates_as_text(phases: Any) -> None:
    """Convert starts and ends of phases to texts, of whose times the platform reads the day."""
    for phase in phases if isinstance(phases, list) else ():
        for key in ("start", "end") if isinstance(phase, dict) else ():
            if isinstance(phase.get(key), dt.date):
                phase[key] = str(phase[key])[:10]
