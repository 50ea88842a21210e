"""Files with the rows of all tracks, in which each row names its track."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from shroom.core.json_reading import BROKEN
from shroom.core.printing import show
from shroom.core.problems import Problems
from shroom.scoring.rows import Role

if TYPE_CHECKING:
    from shroom.scoring.editions.edition import Edition


def by_track(document: Any, edition: Edition, problems: Problems) -> Iterator[Any]:
    """Yield a file for each track in the rows; the file itself if its name has a track."""
    parsed = (edition.parse_all_tracks(document.base, role) for role in (Role.GOLD, Role.DATA))
    name = next(filter(None, parsed), None)
    items = None if name is None else document.items(Problems(), edition.item)
    if name is None or items is None or BROKEN in items:  # which is reported when it is read
        yield document
        return
    key = edition.item.keys.get("lang", "lang")
    spelled = {track.lower(): track for track in edition.track_names}
    rows: dict[str, list[Any]] = {track: [] for track in edition.track_names}
    expected = f"one of {', '.join(rows)}"
    if not any(isinstance(item, dict) and key in item for item in items):
        problems.add("key-missing", document.file, expected, "no item with this key", key=key)
        return
    for index, item in enumerate(items):
        value = item.get(key) if isinstance(item, dict) else None
        track = spelled.get(str(value).lower())
        if track is not None:
            rows[track].append(item)
        else:
            problems.add("row-track", document.file, expected, show(value), index=index, key=key)
    for track, own in rows.items():
        if own:
            base = PurePath(edition.name_of(name.split, track).base).stem
            version = f".v{name.version}" if name.version > 1 else ""
            yield replace(
                document,
                file=f"{document.file} ({track})",
                base=f"{base}{version}.jsonl",
                content="".join(json.dumps(row) + "\n" for row in own).encode(),
            )
