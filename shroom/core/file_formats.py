"""The formats of files that are not read, by the first bytes of a file or the end of its name."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

_AS_CSV = "save it as CSV"
_AS_RECORDS = 'write the data frame with to_json(orient="records")'
_AS_ZIP = "unpack it, and hand in the files or a zip of them"
_AS_JSON = "write JSON, JSON Lines or CSV"


class Format(NamedTuple):
    """A format that is not read.

    Attributes
    ----------
    name, advice : str
        How messages name a file of it, and what they advise.
    endings : tuple of str
        Of the names of its files.
    starts : tuple of bytes
        What its files begin with, one of these.
    at : int
        The place of these bytes.
    """

    name: str
    advice: str
    endings: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()
    at: int = 0


_EXCEL = Format("an Excel workbook", _AS_CSV, (".xlsx", ".xlsm", ".xlsb"))
_WORD = Format("a Word document", _AS_JSON, (".docx",))
_OPEN = Format("an OpenDocument file", _AS_CSV, (".ods", ".odt"))
_NUMPY = Format("a NumPy file", _AS_JSON, (".npy", ".npz"), (b"\x93NUMPY",))
_TORCH = Format("a PyTorch file", _AS_JSON, (".pt", ".pth"))
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
FORMATS = (
    Format("a Parquet file", _AS_RECORDS, (".parquet", ".pq"), (b"PAR1",)),
    Format("a Feather or Arrow file", _AS_RECORDS, (".feather", ".arrow"), (b"ARROW1", b"FEA1")),
    Format("an old Excel or Word file", _AS_CSV, (".xls", ".doc"), (b"\xd0\xcf\x11\xe0",)),
    *(_EXCEL, _WORD, _OPEN, _NUMPY, _TORCH),
    Format("a tar archive", _AS_ZIP, (".tar", ".tar.gz", ".tgz"), (b"ustar",), 257),
    Format("an xz file", _AS_ZIP, (".xz",), (b"\xfd7zXZ\0",)),
    Format("a Zstandard file", _AS_ZIP, (".zst", ".zstd"), (b"\x28\xb5\x2f\xfd",)),
    Format("a bzip2 file", _AS_ZIP, (".bz2",), (b"BZh",)),
    Format("an lz4 file", _AS_ZIP, (".lz4",), (b"\x04\x22\x4d\x18",)),
    Format("a 7-Zip archive", _AS_ZIP, (".7z",), (b"7z\xbc\xaf\x27\x1c",)),
    Format("a RAR archive", _AS_ZIP, (".rar",), (b"Rar!\x1a\x07",)),
    Format("a pickle, which could run code and is never opened", _AS_JSON, (".pkl", ".pickle"),
           _PICKLES),
    Format("an HDF5 file", _AS_JSON, (".h5", ".hdf5"), (b"\x89HDF",)),
    Format("an SQLite database", _AS_JSON, (".sqlite", ".db"), (b"SQLite format 3\0",)),
    Format("a PDF", _AS_JSON, (".pdf",), (b"%PDF",)),
)  # fmt: skip


def format_of(data: bytes, name: str = "") -> str | None:
    """Return the format of a file that is not read, with advice; ``None`` for any other file.

    Parameters
    ----------
    data : bytes
        At least the first 300 bytes of the file; nothing to go by the name only.
    name : str
        The name of the file.

    Examples
    --------
    >>> format_of(b"PAR1....")
    'a Parquet file (write the data frame with to_json(orient="records"))'
    >>> format_of(b"", "x.7z"), format_of(b"[]")
    ('a 7-Zip archive (unpack it, and hand in the files or a zip of them)', None)
    """
    for form in FORMATS:
        begins = form.starts and bytes(data[form.at : form.at + 16]).startswith(form.starts)
        if begins or (not data and name.lower().endswith(form.endings or ("\0",))):
            return f"{form.name} ({form.advice})"
    return None


def format_of_zip(names: Collection[str]) -> str | None:
    """Return the format of a zip whose members have these names; ``None`` for an ordinary zip.

    Examples
    --------
    >>> format_of_zip(["[Content_Types].xml", "xl/workbook.xml"])
    'an Excel workbook (save it as CSV)'
    """
    found = None
    if "[Content_Types].xml" in names:
        found = _EXCEL if any(name.startswith("xl/") for name in names) else _WORD
    elif {"mimetype", "content.xml"} <= set(names):
        found = _OPEN
    elif names and all(name.endswith(".npy") for name in names):
        found = _NUMPY
    elif any(name.endswith("/data.pkl") for name in names):
        found = _TORCH
    return None if found is None else f"{found.name} ({found.advice})"
