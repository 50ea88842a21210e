"""The name of a file of predictions or gold: its split, its track and its version."""

from __future__ import annotations

from dataclasses import dataclass, field

#: The endings of the names of files that are read, as a regular expression.
ENDING = r"\.(?:jsonl?|csv|tsv)(?:\.gz)?"


@dataclass(frozen=True)
class Name:
    """Split, track and version of a file.

    Attributes
    ----------
    split, track : str
        Names of the edition; the split is empty where it is not known.
    version : int
        2 for ``val.model-aware.v2.json``.
    base : str
        What a file of predictions for them is called.
    order : tuple of int
        The place among others: by split, then by track.
    """

    split: str
    track: str
    version: int = 1
    base: str = field(default="", compare=False)
    order: tuple[int, int] = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return f"{self.split} {self.track}".strip()

    @property
    def key(self) -> tuple[str, str]:
        """Its split and track."""
        return self.split, self.track
