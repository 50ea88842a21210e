"""File names: split, track and version by the patterns of an edition."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from shroom.scoring.rows import Role

#: Characters of a file name.
LONGEST = 255
#: The endings of the names of files that are read, as a regular expression.
ENDING = r"\.(?:jsonl?|csv|tsv)(?:\.gz)?"

#: Additions by browsers and desktops to the name of a copy, and by editors to the end of a name.
_SLIP = re.compile(rf"(?: ?\(\d+\)| - copy| copy(?: \d+)?)?({ENDING})(?:\.txt|\1)?$", re.IGNORECASE)


def without_slips(file: str) -> str:
    """Return a name without accidental additions, as in ``x (1).json`` and ``x.json.txt``."""
    return _SLIP.sub(r"\1", file)


@dataclass(frozen=True)
class Name:
    """Split, track and version of a file."""

    split: str
    track: str
    version: int = 1
    #: What a file of predictions for them is called.
    base: str = field(default="", compare=False)
    #: The place among others: by split, then by track.
    order: tuple[int, int] = field(default=(0, 0), compare=False)

    def __str__(self) -> str:
        return f"{self.split} {self.track}".strip()

    @property
    def key(self) -> tuple[str, str]:
        """Its split and track."""
        return self.split, self.track


class FileNames:
    """The file names of an edition; :class:`~.editions.edition.Edition` inherits this."""

    #: Of an edition: the patterns of the names, the splits and the tracks.
    files: Any
    splits: Any
    tracks: Any

    @property
    def track_names(self) -> tuple[str, ...]:
        """The names of the tracks; one empty name if there are none."""
        return tuple(track.name for track in self.tracks) or ("",)

    @property
    def split_names(self) -> tuple[str, ...]:
        """The names of the splits, in order."""
        return tuple(split.name for split in self.splits)

    def name_of(self, split: str, track: str, version: int = 1) -> Name:
        """Return the name of predictions for a split and track."""
        splits, tracks = ("", *self.split_names, split), ("", *self.track_names, track)
        base = file_name(self.predictions_pattern, split, track)
        return Name(split, track, version, base, (splits.index(split), tracks.index(track)))

    def parse(self, file: str, role: Role | None = None) -> Name | None:
        """Return split and track of a well-formed file name, or ``None``."""
        matches = (it.fullmatch(_base(file)) for it in self._whole[role and role.value])
        return self._named(next(filter(None, matches), None))

    def parse_all_tracks(self, file: str, role: Role) -> Name | None:
        """Return the split of a file that has the rows of all tracks, or ``None``."""
        pattern: str = getattr(self.files, role.value)
        if not pattern or not self._lacks_track(pattern):
            return None
        return self._named(self._whole_name(pattern).fullmatch(_base(file)))

    def _lacks_track(self, pattern: str) -> bool:
        """Return whether there are several tracks, but no track in names by a pattern."""
        return len(self.tracks) > 1 and not re.search(r"\{(track|lang)\}", pattern)

    def guess(self, file: str) -> Name | None:
        """Return split and track of a name that may have other words, such as a team's name."""
        return self._named(self._search(file))

    def _search(self, file: str) -> re.Match[str] | None:
        matches = (it.search(_base(file)) for it in (*self._whole[None], *self._beginnings))
        return next(filter(None, matches), None)

    def meant(self, file: str) -> Name | None:
        """Return split and track of a name in another, unambiguous spelling, or ``None``."""
        words = re.findall(r"[a-z0-9]+", _base(file).lower())
        splits = [split for split in dict.fromkeys(self.split_names) if split.lower() in words]
        tracks = [track for track, own in self._track_words.items() if own.intersection(words)]
        if not self.tracks:
            tracks = [""]
        return self.name_of(splits[0], tracks[0]) if len(splits) == len(tracks) == 1 else None

    def system_in(self, file: str) -> str | None:
        """Return the part of a file's name before split and track; ``None`` if it has neither."""
        match = self._search(file)
        return match and match.string[: match.start()].rstrip(".-_")

    def _named(self, match: re.Match[str] | None) -> Name | None:
        if match is None:
            return None
        parts = {"split": self.split_names[0], "track": self.track_names[0], "version": "1"}
        parts |= {part: text for part, text in match.groupdict().items() if text}
        return self.name_of(parts["split"], parts["track"], max(1, int(parts["version"][:9])))

    def expected_name(self, splits: tuple[str, ...], role: str = "predictions") -> str:
        """Return the file names of some splits and a role as one pattern."""
        pattern: str = getattr(self.files, role) or self.predictions_pattern
        pattern = pattern.replace("{lang}", "{track}").replace("{split}", _braced(splits))
        return pattern.replace("{track}", _braced(self.track_names))

    @property
    def predictions_pattern(self) -> str:
        """The pattern of the names of predictions."""
        default = "{split}.{track}.json" if self.tracks else "{split}.json"
        return str(self.files.predictions or default)

    @cached_property
    def _whole(self) -> dict[str | None, list[re.Pattern[str]]]:
        """The patterns of whole file names, by the role of a file and (``None``) of all roles."""
        own, usual = self.files, self.predictions_pattern
        files: dict[str | None, list[str]] = {
            "predictions": [usual],
            "gold": [own.gold or usual],
            "data": [own.data] if own.data else [usual, *filter(None, [own.gold])],
        }
        for names in files.values():  # see input_files: then each track has a file of this name
            if any(map(self._lacks_track, names)):
                names.insert(0, usual)
        files[None] = list(dict.fromkeys(name for names in files.values() for name in names))
        return {role: list(map(self._whole_name, names)) for role, names in files.items()}

    def _whole_name(self, file: str) -> re.Pattern[str]:
        return re.compile(rf"{self._regex_of(file)}(?:\.v(?P<version>\d+))?{ENDING}")

    @cached_property
    def _beginnings(self) -> list[re.Pattern[str]]:
        files = dict.fromkeys((self.predictions_pattern, self.files.gold, self.files.data))
        return [re.compile(rf"{self._regex_of(file)}(?![^\W\d_])") for file in files if file]

    def _regex_of(self, file: str) -> str:
        """Return a pattern of file names, without the ending, as a regular expression."""
        pattern = re.sub(ENDING + "$", "", file).replace("{lang}", "{track}")
        regex = re.escape(pattern).replace(r"\*", "[^/]*?")
        for group, names in (("split", self.split_names), ("track", self.track_names)):
            words = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
            place = re.escape(f"{{{group}}}")
            regex = regex.replace(place, f"(?P<{group}>{words})", 1)
            regex = regex.replace(place, f"(?P={group})")
        # Not within a word, so that the track en is not found in "golden".
        return rf"(?<![^\W_]){regex}"

    @cached_property
    def _track_words(self) -> dict[str, set[str]]:
        """The words that identify each track: the unique words of its name."""
        split = {name: re.findall(r"[a-z0-9]+", name.lower()) for name in self.track_names}
        tracks = Counter(word for words in split.values() for word in set(words))
        return {
            name: {word for word in words if tracks[word] == 1} | {"".join(words)}
            for name, words in split.items()
        }


def file_name(pattern: str, split: str, track: str) -> str:
    """Return a file name by a pattern of an edition."""
    name = re.sub(r"\{(?:track|lang)\}", track, pattern.replace("*", ""))
    return name.replace("{split}", split)


def _base(file: str) -> str:
    """Return the name of a file; empty if it is longer than file systems allow."""
    base = PurePosixPath(file).name
    return base if len(base) <= LONGEST else ""


def _braced(names: tuple[str, ...]) -> str:
    """Return names as one pattern: their common beginning, then the rest of each."""
    if len(names) == 1:
        return names[0]
    shared = os.path.commonprefix(names)  # noqa: RUF071 - of words, not of paths
    common = re.sub(r"[^\W_]*$", "", shared)
    return f"{common}{{{','.join(name[len(common) :] for name in names)}}}"
