"""The names of files: the split and track of each, and which file is used for a track."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

#: The tracks, as file names have them.
TRACKS = ("model-agnostic", "model-aware")
#: The splits, in the order in which they are shown.
SPLITS = ("trial", "train", "val", "test")

_BEGINNING = rf"(?P<split>{'|'.join(SPLITS)})\.model-(?P<track>aware|agnostic)"
_NAME = re.compile(_BEGINNING + r"(?:\.v(?P<version>\d+))?\.(?:jsonl?|csv|tsv)(?:\.gz)?")


@dataclass(frozen=True)
class Name:
    """The parts of a file's name: ``val.model-aware.v2.json`` is version 2 of the aware val split.

    ``split`` is empty where it is not known.
    """

    split: str
    track: str
    version: int = 1

    def __str__(self) -> str:
        return f"{self.split} {self.track}".strip()

    @property
    def key(self) -> tuple[str, str]:
        """Its split and track."""
        return self.split, self.track

    @property
    def order(self) -> tuple[int, str]:
        """The place of a file among others: by its split, then by its track."""
        return ("", *SPLITS).index(self.split), self.track

    @property
    def base(self) -> str:
        """The file name in a submission."""
        return f"{self.split}.{self.track}.json"

    @classmethod
    def parse(cls, name: str) -> Name | None:
        """Return the parts of a well-formed name, or ``None``.

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
        """Return the parts of a name that may have other words around, such as a team's."""
        return cls._from(_NAME.search(PurePosixPath(name).name)) or cls._from(
            re.search(_BEGINNING + "(?P<version>)", PurePosixPath(name).name)
        )

    @classmethod
    def meant(cls, name: str) -> Name | None:
        """Return the parts of a name that is spelled otherwise but unambiguous, or ``None``.

        Examples
        --------
        >>> Name.meant("Test_Model-Agnostic.JSON"), Name.meant("test_or_val.aware.json")
        (Name(split='test', track='model-agnostic', version=1), None)
        """
        words = re.findall(r"[a-z]+", PurePosixPath(name).name.lower())
        splits = {word for word in words if word in SPLITS}
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
