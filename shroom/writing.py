"""Writing results whole or not at all."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shroom.documents import Source


def write_atomically(path: Source, content: str | bytes) -> None:
    """Write a file whole or not at all: beside the target first, then moved into place.

    Raises
    ------
    ShroomError
        Where it cannot be written.
    """
    import tempfile

    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".shroom-")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode & 0o7777)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise ShroomError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink()


def write_files(out: Source, files: dict[str, str]) -> None:
    """Write a submission as ``out`` names it: a ``.zip``, one file, or a folder.

    One file goes to ``out`` itself if that has an ending, several into a folder.
    """
    path = Path(out)
    if path.suffix.lower() == ".zip":
        write_atomically(path, zipped(files))
    elif len(files) == 1 and path.suffix and not path.is_dir():
        write_atomically(path, _encoded(path.name, next(iter(files.values()))))
    else:
        for name, text in files.items():
            write_atomically(path / name, text)


def _encoded(name: str, text: str) -> bytes:
    """Return the JSON text of a list as the file's name wants it."""
    if name.endswith((".jsonl", ".jsonl.gz")):
        text = "".join(json.dumps(row) + "\n" for row in json.loads(text))
    if not name.endswith(".gz"):
        return text.encode()
    import gzip

    return gzip.compress(text.encode(), mtime=0)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of these files; the same files give the same bytes.

    Examples
    --------
    >>> zipped({"b": "1", "a": "2"}) == zipped({"a": "2", "b": "1"})
    True
    """
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name)  # its time is fixed, and 1980
            member.external_attr = 0o644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
