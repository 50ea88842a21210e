"""What the files of a submission are called, and which of them count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from shroom.problems import show

if TYPE_CHECKING:
    from shroom.documents import Document
    from shroom.problems import Problems

#: The tracks, as file names have them.
TRACKS = ("model-agnostic", "model-aware")

_NAME = re.compile(
    r"(?P<split>train|trial|val|test)\.model-(?P<track>aware|agnostic)(?:\.v(?P<version>\d+))?"
    r"\.(?:jsonl?|csv|tsv)(?:\.gz)?"
)


@dataclass(frozen=True)
class Name:
    """What a file's name tells: ``val.model-aware.v2.json`` is version 2 of the aware val split.

    ``split`` is empty where nothing tells it.
    """

    split: str
    track: str
    version: int = 1

    def __str__(self) -> str:
        return f"{self.split} {self.track}".strip()

    @property
    def base(self) -> str:
        """The file name that a submission wants for it."""
        return f"{self.split}.{self.track}.json"

    @classmethod
    def parse(cls, name: str) -> Name | None:
        """Return what a well-formed name tells, or ``None``.

        Examples
        --------
        >>> Name.parse("val.model-aware.v2.json")
        Name(split='val', track='model-aware', version=2)
        >>> Name.parse("predictions.json") is None
        True
        """
        return cls._from(_NAME.fullmatch(PurePosixPath(name).name))

    @classmethod
    def guess(cls, name: str) -> Name | None:
        """Return what a name tells that may have other words around, such as a team's."""
        return cls._from(_NAME.search(PurePosixPath(name).name)) or cls._from(
            re.search(
                r"(?P<split>train|trial|val|test)\.model-(?P<track>aware|agnostic)(?P<version>)",
                PurePosixPath(name).name,
            )
        )

    @classmethod
    def meant(cls, name: str) -> Name | None:
        """Return what a name can only mean that is spelled otherwise, or ``None``.

        Examples
        --------
        >>> Name.meant("Test_Model-Agnostic.JSON"), Name.meant("test_or_val.aware.json")
        (Name(split='test', track='model-agnostic', version=1), None)
        """
        words = re.findall(r"[a-z]+", PurePosixPath(name).name.lower())
        splits = {word for word in words if word in ("train", "trial", "val", "test")}
        tracks = {
            track for track in TRACKS for word in words if word.removeprefix("model") == track[6:]
        }
        if len(splits) != 1 or len(tracks) != 1:
            return None
        return cls(splits.pop(), tracks.pop())

    @classmethod
    def _from(cls, match: re.Match[str] | None) -> Name | None:
        if match is None:
            return None
        version = max(1, int((match["version"] or "1")[:9]))
        return cls(match["split"], f"model-{match['track']}", version)


def named(
    found: list[Document], problems: Problems, splits: tuple[str, ...] = ()
) -> list[Document]:
    """Return the documents of a submission whose names are right, reporting the others.

    A file that is named directly may have any name; a member of a folder or a zip must tell its
    split and track, and be the only one that does.

    Parameters
    ----------
    found : list of Document
        All documents of a submission.
    problems : Problems
        Gets ``file-name`` and ``file-twice``.
    splits : tuple of str
        The splits that are wanted; val and test by default.
    """
    splits = splits or ("val", "test")
    wanted = splits[0] if len(splits) == 1 else "{" + ",".join(splits) + "}"
    expected_name = f"a name like {wanted}.model-{{agnostic,aware}}.json"
    first: dict[tuple[str, str], str] = {}
    kept = []
    for document in found:
        name = Name.parse(document.base)
        if not document.member:
            kept.append(document)
        elif name is None or name.split not in splits:
            problems.add("file-name", document.file, expected_name, show(document.base))
        elif (name.split, name.track) in first:
            other = first[name.split, name.track]
            expected = f"one file for the {name.track} track"
            problems.add("file-twice", document.file, expected, f"another beside {other}")
        else:
            first[name.split, name.track] = document.file
            kept.append(document)
    return kept


def latest(found: list[Document], problems: Problems) -> dict[tuple[str, str], Document]:
    """Return the latest version for each split and track among well-named documents.

    Two files of one version are reported as ``file-twice``: which of them is meant cannot be told.
    """
    best: dict[tuple[str, str], tuple[int, Document]] = {}
    for document in found:
        name = Name.parse(document.base)
        if name is None:
            continue
        version, before = best.get((name.split, name.track), (0, document))
        if name.version == version:
            expected = f"one file of {document.base}"
            problems.add("file-twice", document.file, expected, f"another beside {before.file}")
        elif name.version > version:
            best[name.split, name.track] = name.version, document
    return {key: document for key, (_, document) in best.items()}
