"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Optional

from shroom.core.archives import is_absurd
from shroom.core.paths import Source, is_inside, is_junk
from shroom.core.problems import ShroomError

#: Files and folders that are read; ``-`` and ``None`` are none.
Inputs = Iterable[Optional[Source]]
#: Endings of file names.
Endings = tuple[str, ...]


def write_atomically(path: Source, content: str | bytes) -> None:
    """Write a file completely or not at all; write to pipes directly, and follow links."""
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".shroom-{os.urandom(8).hex()}")
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            if target.exists():  # before the content can be read by others
                temporary.chmod(target.stat().st_mode & 0o7777)
            stream.write(data)
        temporary.replace(target)
    except OSError as error:
        raise ShroomError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if os.path.exists(temporary):  # noqa: PTH110 - which never raises
            temporary.chmod(0o600)  # Windows removes no file that is read-only
            temporary.unlink()


def write_files(out: Source, files: Mapping[str, str], inputs: Inputs) -> None:
    """Write a submission to ``out``: a ``.zip``, a file, a folder, or ``-`` for stdout."""
    targets = prepare(out, list(files), inputs)
    if os.fspath(out) == "-":
        sys.stdout.write(next(iter(files.values())))
    elif names_a_zip(out):
        write_atomically(out, zipped({name: encoded(name, files[name]) for name in files}))
    else:
        for target, text in zip(targets, files.values()):
            write_atomically(target, encoded(target.name, text))


def prepare(out: Source, names: list[str], inputs: Inputs, read: Endings = ()) -> list[Path]:
    """Return the files that :func:`write_files` will write; refuse impossible outputs."""
    single_file = os.fspath(out) == "-" or names_a_file(out)
    if len(names) > 1 and single_file:
        raise ShroomError(
            f"{out} is a single file, but there are {len(names)} files to write; "
            "use a .zip, or a folder (NAME/)"
        )
    if os.fspath(out) == "-":
        return []
    path = Path(out)
    targets = [path] if single_file or names_a_zip(out) else [path / name for name in names]
    check_targets(targets, inputs, (".json", ".jsonl") if single_file else (), read)
    return targets


def check_targets(
    targets: Iterable[Source],
    inputs: Inputs = (),
    endings: Endings = (),
    read: Endings = (),
    *,
    folders: bool = False,
) -> None:
    """Refuse targets that would change an input or cannot be written, before the work begins.

    The names of targets must have one of the ``endings``. No target may be a file with an ending in
    ``read`` inside an input folder, because it would be read there. With ``folders``, a target may
    be a folder.
    """
    sources = [Path(path) for path in inputs if path is not None and os.fspath(path) != "-"]
    for name in [name for name in targets if os.fspath(name) != "-"]:
        target = Path(name)
        if target.exists() and any(is_inside(target, path) for path in sources):
            raise ShroomError(f"{name} is an input, which is never overwritten; use another output")
        if endings and names_a_file(name) and ending(name) not in endings:
            expected = " or ".join(endings)
            raise ShroomError(f"{name}: the name must end in {expected}")
        if not (folders and target.is_dir()):
            _refuse_unwritable(target)
        is_read = target.name.lower().endswith(read) and not is_junk(target.name)
        if is_read and any(is_inside(target, path) for path in sources):
            raise ShroomError(
                f"{name} is inside an input folder, so the next run would read it; use "
                "another location"
            )


def _refuse_unwritable(target: Path) -> None:
    if target.exists() and not target.is_file() and not target.is_dir():
        return  # a device or a pipe is written to as it is
    above = next(parent for parent in target.absolute().parents if parent.exists())
    if not above.is_dir():
        raise ShroomError(f"{target} cannot be written: {above} is not a folder")
    if target.is_dir():
        raise ShroomError(f"{target} is a folder; use the name of a file")
    if not os.access(above, os.W_OK):
        raise ShroomError(f"{target} cannot be written: {above} is read-only")


def names_a_zip(out: Source) -> bool:
    """Return whether an output is a zip, by its name."""
    return os.fspath(out).lower().endswith(".zip")


def names_a_file(out: Source) -> bool:
    """Return whether an output is a single file, not a zip or a folder, by its name."""
    path = Path(out)
    if os.fspath(out).endswith(("/", os.sep)):
        return False
    # Names such as s0.3 and gpt-3.5-turbo have no ending.
    return path.suffix[1:2].isalpha() and path.suffix.lower() != ".zip" and not path.is_dir()


def ending(out: Source) -> str:
    """Return the ending of a file's name, without ``.gz``."""
    return Path(os.fspath(out).lower().removesuffix(".gz")).suffix


def encoded(name: str, text: str) -> bytes:
    """Return rows in JSON in the format of the file's name; JSON Lines stay JSON Lines."""
    form = ending(name) if text.lstrip().startswith("[") else ""
    if form == ".jsonl":
        text = "".join(json.dumps(row) + "\n" for row in json.loads(text))
    elif form in (".csv", ".tsv"):
        text = _table(json.loads(text), "," if form == ".csv" else "\t")
    data = text.encode()
    if not name.endswith(".gz"):
        return data
    import gzip

    return gzip.compress(data, 0 if _shrinks_too_far(data) else 9, mtime=0)


def _table(rows: list[dict[str, object]], separator: str) -> str:
    """Return rows as CSV with a header; lists, objects and booleans are JSON."""
    import csv

    header = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        cells = (row.get(key) for key in header)
        writer.writerow(
            json.dumps(cell, ensure_ascii=False) if isinstance(cell, (list, dict, bool)) else cell
            for cell in cells
        )
    return text.getvalue()


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of the files; the same files always give the same bytes."""
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name)  # its time is fixed, and 1980
            member.external_attr = 0o644 << 16
            data = content.encode() if isinstance(content, str) else content
            stored = _shrinks_too_far(data)
            archive.writestr(member, data, zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _shrinks_too_far(data: bytes) -> bool:
    """Return whether the compressed data would be refused as a zip bomb."""
    import zlib

    return is_absurd(len(data), 0) and is_absurd(len(data), len(zlib.compress(data)))
