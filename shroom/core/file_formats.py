"""Unsupported file formats, recognised by first bytes or the ending of the name."""

from __future__ import annotations

from collections.abc import Collection

_AS_CSV = "save it as CSV"
_AS_RECORDS = 'save the data frame with to_json(orient="records")'
_AS_ZIP = "unpack it, and submit the files or a zip of them"
_AS_JSON = "save it as JSON, JSON Lines or CSV"
_TAR = "a tar archive"


_PICKLE = "a pickle, which is never opened because it could run code"
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
#: For each format: the advice, the endings of file names, and the first bytes.
_FORMATS: dict[str, tuple[str, tuple[str, ...], tuple[bytes, ...]]] = {
    "a Parquet file": (_AS_RECORDS, (".parquet", ".pq"), (b"PAR1",)),
    "a Feather or Arrow file": (_AS_RECORDS, (".feather", ".arrow"), (b"ARROW1", b"FEA1")),
    "an old Excel or Word file": (_AS_CSV, (".xls", ".doc"), (b"\xd0\xcf\x11\xe0",)),
    "an Excel workbook": (_AS_CSV, (".xlsx", ".xlsm", ".xlsb"), ()),
    "a Word document": (_AS_JSON, (".docx",), ()),
    "an OpenDocument file": (_AS_CSV, (".ods", ".odt"), ()),
    "a NumPy file": (_AS_JSON, (".npy", ".npz"), (b"\x93NUMPY",)),
    "a PyTorch file": (_AS_JSON, (".pt", ".pth"), ()),
    _TAR: (_AS_ZIP, (".tar", ".tar.gz", ".tgz"), ()),
    "an xz file": (_AS_ZIP, (".xz",), (b"\xfd7zXZ\0",)),
    "a Zstandard file": (_AS_ZIP, (".zst", ".zstd"), (b"\x28\xb5\x2f\xfd",)),
    "a bzip2 file": (_AS_ZIP, (".bz2",), (b"BZh",)),
    "an lz4 file": (_AS_ZIP, (".lz4",), (b"\x04\x22\x4d\x18",)),
    "a 7-Zip archive": (_AS_ZIP, (".7z",), (b"7z\xbc\xaf\x27\x1c",)),
    "a RAR archive": (_AS_ZIP, (".rar",), (b"Rar!\x1a\x07",)),
    _PICKLE: (_AS_JSON, (".pkl", ".pickle"), _PICKLES),
    "an HDF5 file": (_AS_JSON, (".h5", ".hdf5"), (b"\x89HDF",)),
    "an SQLite database": (_AS_JSON, (".sqlite", ".db"), (b"SQLite format 3\0",)),
    "a PDF": (_AS_JSON, (".pdf",), (b"%PDF",)),
}


def format_of(data: bytes, name: str = "") -> str | None:
    """Return the unsupported format of a file, with advice; ``None`` for any other file."""
    if data[257:262] == b"ustar":
        return _with_advice(_TAR)
    for form, (_, endings, starts) in _FORMATS.items():
        if data.startswith(starts) or (not data and name.lower().endswith(endings)):
            return _with_advice(form)
    return None


def _with_advice(form: str) -> str:
    return f"{form} ({_FORMATS[form][0]})"


def format_of_zip(names: Collection[str]) -> str | None:
    """Return the format of a zip by the names of its members; ``None`` for a plain zip."""
    if "[Content_Types].xml" in names:
        is_excel = any(name.startswith("xl/") for name in names)
        return _with_advice("an Excel workbook" if is_excel else "a Word document")
    if {"mimetype", "content.xml"} <= set(names):
        return _with_advice("an OpenDocument file")
    if names and all(name.endswith(".npy") for name in names):
        return _with_advice("a NumPy file")
    if any(name.endswith("/data.pkl") for name in names):
        return _with_advice("a PyTorch file")
    return None
