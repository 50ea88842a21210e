"""Write the files of ``valid/`` and ``invalid/`` that a text editor would not show as they are.

Run ``python tests/scoring/formats/make.py`` after a change here; a test compares the files with
what it makes. No compression library takes part, since versions differ in their output: blocks are
stored, or else written out below.
"""

from __future__ import annotations

import bz2
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BASE = (HERE / "valid" / "plain.json").read_bytes()
LINES = (HERE / "valid" / "lines.jsonl").read_bytes()
AWARE = (HERE / "valid" / "plain-with-ids.json").read_bytes()
AGNOSTIC_NAME = "val.model-agnostic.json"
AWARE_NAME = "test.model-aware.json"

STORED, DEFLATED, BZIP2 = 0, 8, 12
ENCRYPTED, DESCRIPTOR = 0x1, 0x8
UNIX, DOS = 3, 0

#: What zlib makes of two million spaces and of 100,000 brackets.
SPACES = bytes.fromhex("edc18100000000c32095f9531ee45501") + bytes(1937) + b"\x6f\x06"
BRACKETS = bytes.fromhex("edc13101000000c2a0a0ebdfc31a1e4001") + bytes(96) + b"\xaf\x06"


class Member(NamedTuple):
    """One member of a zip, as its headers tell it."""

    name: str
    content: bytes
    method: int = STORED
    flags: int = 0
    packed: bytes | None = None
    checksum: int | None = None


def stored_block(content: bytes) -> bytes:
    """Return a deflate stream of one stored block."""
    return struct.pack("<BHH", 1, len(content), len(content) ^ 0xFFFF) + content


def gzipped(content: bytes, packed: bytes | None = None, checksum: int | None = None) -> bytes:
    """Return a gzip file without name and time."""
    packed = stored_block(content) if packed is None else packed
    checksum = zlib.crc32(content) if checksum is None else checksum
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return header + packed + struct.pack("<II", checksum, len(content))


def zipped(*members: Member, system: int = UNIX) -> bytes:
    """Return a zip of the members, in their order, all of 1980-01-01."""
    body, directory = b"", b""
    for member in members:
        name = member.name.encode()
        packed = member.packed
        if packed is None:
            deflate = member.method == DEFLATED
            packed = stored_block(member.content) if deflate else member.content
        checksum = zlib.crc32(member.content) if member.checksum is None else member.checksum
        sizes = struct.pack("<III", checksum, len(packed), len(member.content))
        common = struct.pack("<HHHHH", 20, member.flags, member.method, 0, 33)
        late = bool(member.flags & DESCRIPTOR)  # checksum and sizes follow the content
        directory += b"PK\x01\x02" + struct.pack("<BB", 20, system) + common + sizes
        directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(body)) + name
        body += b"PK\x03\x04" + common + (bytes(12) if late else sizes)
        body += struct.pack("<HH", len(name), 0) + name + packed
        body += b"PK\x07\x08" + sizes if late else b""
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def texts() -> dict[str, bytes]:
    """Return the files whose line ends or encodings an editor would hide."""
    bom = b"\xef\xbb\xbf"
    with_hyp = BASE.decode().replace("{", '{"hyp": "Der Löwe", ', 1)
    table = (HERE / "valid" / "plain.csv").read_text(encoding="utf-8")
    tgts = iter(["tgt", *["Der Löwe"] * 6])
    table_with_tgt = "".join(f"{line},{next(tgts)}\n" for line in table.splitlines())
    return {
        "valid/crlf.json": BASE.replace(b"\n", b"\r\n"),
        "valid/crlf.jsonl": LINES.replace(b"\n", b"\r\n"),
        "valid/cr.json": BASE.replace(b"\n", b"\r"),
        "valid/bom.json": bom + BASE,
        "valid/bom.jsonl": bom + LINES,
        "invalid/utf-16.json": b"\xff\xfe" + with_hyp.encode("utf-16-le"),
        "invalid/utf-16-big-endian.json": b"\xfe\xff" + with_hyp.encode("utf-16-be"),
        "invalid/utf-16-unmarked.json": with_hyp.encode("utf-16-le"),
        "invalid/parquet.json": b"PAR1" + bytes(8) + b"PAR1",
        "invalid/latin-1.json": with_hyp.encode("latin-1"),
        "invalid/surrogate-raw.json": with_hyp.encode().replace("ö".encode(), b"\xed\xa0\x80"),
        "invalid/bom-twice.json": bom + bom + BASE,
        "invalid/nul.json": BASE + b"\0",
        "valid/bom.csv": bom + table.encode(),
        "valid/utf-16.csv": b"\xff\xfe" + table_with_tgt.encode("utf-16-le"),
        "valid/windows-1252.csv": table_with_tgt.encode("cp1252"),
        "invalid/broken-utf-8.csv": table_with_tgt.encode() + b"\xff",
        "invalid/nul.csv": table.encode() + b"\0",
    }


def gzips() -> dict[str, bytes]:
    """Return the gzip files."""
    whole = gzipped(BASE)
    return {
        "valid/plain.json.gz": whole,
        "valid/lines.jsonl.gz": gzipped(LINES),
        "valid/plain.csv.gz": gzipped((HERE / "valid" / "plain.csv").read_bytes()),
        "valid/gzip-named-json.json": whole,
        "valid/gzip-two-parts.json.gz": gzipped(BASE[:100]) + gzipped(BASE[100:]),
        "invalid/truncated.json.gz": whole[: len(whole) // 2],
        "invalid/checksum.json.gz": gzipped(BASE, checksum=0),
        "invalid/header-only.json.gz": whole[:10],
        "invalid/rest-after.json.gz": whole + b"and more",
        "invalid/absurd.json.gz": gzipped(b" " * 2_000_000, packed=SPACES),
        "invalid/brackets.json.gz": gzipped(b"[" * 100_000, packed=BRACKETS),
        "invalid/brackets-lines.jsonl.gz": gzipped(b"[" * 100_000, packed=BRACKETS),
    }


def zips() -> dict[str, bytes]:
    """Return the zips that hold what they should, as different systems make them."""
    finder = b"\0\0\0\1Bud1" + bytes(24)  # how a .DS_Store starts
    fork = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "  # how an AppleDouble file starts
    late = DESCRIPTOR
    macos = zipped(
        Member("submission/", b""),
        Member(f"submission/{AGNOSTIC_NAME}", BASE, DEFLATED, late),
        Member(f"__MACOSX/submission/._{AGNOSTIC_NAME}", fork, DEFLATED, late),
        Member("submission/.DS_Store", finder, DEFLATED, late),
        Member("__MACOSX/submission/._.DS_Store", fork, DEFLATED, late),
        Member(f"submission/{AWARE_NAME}", AWARE, DEFLATED, late),
        Member(f"__MACOSX/submission/._{AWARE_NAME}", fork, DEFLATED, late),
    )
    windows = zipped(
        Member("run\\", b""),
        Member(f"run\\{AGNOSTIC_NAME}", BASE, DEFLATED),
        Member(f"run\\{AWARE_NAME}", AWARE, DEFLATED),
        Member("run\\Thumbs.db", b"\xd0\xcf\x11\xe0", DEFLATED),
        system=DOS,
    )
    both = zipped(Member(AGNOSTIC_NAME, BASE, DEFLATED), Member(AWARE_NAME, AWARE, DEFLATED))
    return {
        "valid/macos.zip": macos,
        "valid/windows.zip": windows,
        "valid/deflated.zip": both,
        "valid/zip-named-json.json": both,
        "valid/wrapped-twice.zip": zipped(Member(f"team/run 1/{AGNOSTIC_NAME}", BASE)),
        "valid/version.zip": zipped(Member("val.model-agnostic.v2.json", BASE)),
        "valid/gzip-inside.zip": zipped(Member(f"{AGNOSTIC_NAME}.gz", gzipped(BASE))),
        "valid/other-files.zip": zipped(Member(AGNOSTIC_NAME, BASE), Member("notes.txt", b"1st")),
        "valid/absolute-path.zip": zipped(Member(f"/home/team/{AGNOSTIC_NAME}", BASE)),
    }


def bad_zips() -> dict[str, bytes]:
    """Return the zips that must be refused, each for one reason."""
    plain = Member(AGNOSTIC_NAME, BASE)
    whole = zipped(plain)
    spaces = b" " * 2_000_000
    absurd = Member(AGNOSTIC_NAME, spaces, DEFLATED, packed=SPACES)
    bomb = Member(f"{AGNOSTIC_NAME}.gz", gzipped(spaces, packed=SPACES))
    red = "\x1b[31mred\n"
    return {
        "invalid/absurd.zip": zipped(absurd),
        "invalid/absurd-gzip-inside.zip": zipped(bomb),
        "invalid/bzip2.zip": zipped(Member(AGNOSTIC_NAME, BASE, BZIP2, packed=bz2.compress(BASE))),
        "invalid/checksum.zip": zipped(Member(AGNOSTIC_NAME, BASE, checksum=0)),
        "invalid/deflate-broken.zip": zipped(Member(AGNOSTIC_NAME, BASE, DEFLATED, packed=BASE)),
        "invalid/encrypted.zip": zipped(Member(AGNOSTIC_NAME, BASE, flags=ENCRYPTED)),
        "invalid/head-only.zip": whole[:4],
        "invalid/name-escape.zip": zipped(Member(f"{red}.json", BASE)),
        "invalid/name-escape-twice.zip": zipped(Member(f"{red}/{AGNOSTIC_NAME}", BASE), plain),
        "invalid/name.zip": zipped(Member("predictions.json", BASE)),
        "invalid/nested-named-json.zip": zipped(Member(AGNOSTIC_NAME, whole)),
        "invalid/nested.zip": zipped(Member("submission.zip", whole)),
        "invalid/no-file-but-junk.zip": zipped(Member(f"__MACOSX/._{AGNOSTIC_NAME}", b"\0")),
        "invalid/no-file-but-others.zip": zipped(Member("notes.txt", b"Nothing yet.\n")),
        "invalid/no-file.zip": zipped(),
        "valid/outside.zip": zipped(Member(f"../{AGNOSTIC_NAME}", BASE)),
        "invalid/truncated.zip": whole[: len(whole) // 2],
        "invalid/twice.zip": zipped(
            Member(f"a/{AGNOSTIC_NAME}", BASE), Member(f"b/{AGNOSTIC_NAME}", BASE)
        ),
    }


def made() -> dict[str, bytes]:
    """Return the content of every file that is made here, by its path."""
    return {**texts(), **gzips(), **zips(), **bad_zips()}


if __name__ == "__main__":
    for path, content in made().items():
        (HERE / path).write_bytes(content)
