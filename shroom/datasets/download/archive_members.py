"""Files in a zip or tar archive, identified by their size and hash instead of by name."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from typing import TYPE_CHECKING

from shroom.core.archives import damages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

#: What reading a damaged archive raises.
DAMAGES: tuple[type[Exception], ...] = (tarfile.TarError, *damages())


def members(path: Path, sizes: Collection[int | None]) -> Iterator[tuple[str, bytes]]:
    """Yield the SHA-256 hash and the content of each member with one of the sizes in bytes.

    Nothing is extracted to disk, and members of other sizes are not read, so the names and the
    uncompressed sizes in an archive do no harm.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shroom.core.atomic_writing import zipped
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "archive.zip"
    ...     _ = path.write_bytes(zipped({"deep/a.txt": "one", "b.txt": "three"}))
    ...     [(sha256[:8], content) for sha256, content in members(path, {3})]
    [('7692c3ad', b'one')]
    """
    for content in _contents(path, sizes):
        yield hashlib.sha256(content).hexdigest(), content


def _contents(path: Path, sizes: Collection[int | None]) -> Iterator[bytes]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(i) for i in archive.infolist() if i.file_size in sizes)
        return
    with tarfile.open(path) as packed:
        for about in packed:
            content = packed.extractfile(about) if about.isreg() and about.size in sizes else None
            if content is not None:
                yield content.read()
