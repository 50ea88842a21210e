"""Files out of a zip or tar, told by their size and hash and not by their names or places."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from typing import IO, TYPE_CHECKING

from shroom.core.archives import damages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_DAMAGES: tuple[type[Exception], ...] = (tarfile.TarError, *damages())


class Broken(Exception):  # noqa: N818 - it names what is the matter
    """What should be an archive cannot be read as one."""


def members(stream: IO[bytes], sizes: Collection[int | None]) -> Iterator[tuple[str, bytes]]:
    """Yield the hash and the content of each member that has one of the sizes.

    Nothing is unpacked to disk, and no member of another size is read: an archive cannot write
    where it likes, or grow beyond what is known of the files.

    Parameters
    ----------
    stream : file
        Of a zip, or of a tar, packed or not.
    sizes : collection of int or None
        In bytes.

    Raises
    ------
    Broken
        Where it is no such archive, or a damaged one.

    Examples
    --------
    >>> import io
    >>> from shroom.core.atomic_writing import zipped
    >>> archive = io.BytesIO(zipped({"deep/a.txt": "one", "b.txt": "three"}))
    >>> [(sha256[:8], content) for sha256, content in members(archive, {3})]
    [('7692c3ad', b'one')]
    """
    try:
        for size, content in _contents(stream, sizes):
            if len(content) == size:
                yield hashlib.sha256(content).hexdigest(), content
    except _DAMAGES as error:
        raise Broken(str(error) or type(error).__name__) from error


def _contents(stream: IO[bytes], sizes: Collection[int | None]) -> Iterator[tuple[int, bytes]]:
    stream.seek(0)
    if stream.read(2) == b"PK":
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                if info.file_size in sizes:
                    with archive.open(info) as member:
                        yield info.file_size, member.read(info.file_size + 1)
        return
    stream.seek(0)
    with tarfile.open(fileobj=stream, mode="r:*") as packed:
        for about in packed:
            content = packed.extractfile(about) if about.isreg() else None
            if content is not None and about.size in sizes:
                yield about.size, content.read(about.size + 1)
