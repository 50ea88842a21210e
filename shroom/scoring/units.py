"""Units: groups of items that belong together, such as answers to the same question."""

# Items of a unit are not independent, so intervals and paired tests resample whole units.

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.core.problems import Problems, printable
from shroom.metrics.cluster_bootstrap import places
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document
from shroom.scoring.rows import Role, Rows
from shroom.scoring.slices import NONE, add_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from shroom.metrics.intervals import Intervals
    from shroom.scoring.editions.edition import Edition


def unit_of(gold: Rows, edition: Edition) -> NDArray[np.intp] | None:
    """Return the unit of each item, from 0; ``None`` if every item is its own unit."""
    group = gold.groups.get(edition.item.unit) if edition.item.unit else None
    if group is None:
        return None
    words = (group.words[place] for place in group.place.tolist())
    # An item without a value is its own unit.
    units = places([row if word == NONE else word for row, word in enumerate(words)])
    return units if len(units) and int(units.max()) + 1 < len(units) else None


def add_keys(
    gold: Rows, document: Document, by: Sequence[str], others: Sequence[Document], edition: Edition
) -> None:
    """Add groups by other keys and by units to gold, from its rows or its data file."""
    key = edition.item.unit
    add_groups(gold, document.items(Problems(None)) or [], [*by, *([key] if key else [])])
    if not key or key in gold.groups:
        return
    name = edition.guess(document.base)
    if gold.ids is None or name is None or not edition.files.data:
        return
    if isinstance(document.content, Path) and not document.member:
        paths = sorted(document.content.parent.iterdir())
        others = [
            Document(str(it), it.name, it, names=document.names) for it in paths if it.is_file()
        ]
    data = latest(list(others), Problems(), edition, Role.DATA).get(name.key)
    rows = None if data is None else data.items(Problems(), edition.item)
    by_id = {row.get(edition.item.id_key): row for row in rows or () if isinstance(row, dict)}
    keys = gold.keys
    add_groups(gold, [by_id.get(it) for it in gold.ids.tolist()], (key,))
    gold.keys = keys  # messages only list keys of the gold itself


def with_unit(intervals: Intervals, golds: Iterable[Rows], edition: Edition) -> Intervals:
    """Return settings with the edition's units, or with the key of missing units."""
    key, golds = edition.item.unit, list(golds)
    return replace(
        intervals,
        unit=key if any(unit_of(gold, edition) is not None for gold in golds) else "",
        missing_unit=key if any(missing_units(gold, edition) for gold in golds) else "",
    )


def share_items(golds: Iterable[Rows], edition: Edition) -> bool:
    """Return whether several golds share an id, a text or a unit, as languages may."""
    seen: set[object] = set()
    for gold in golds:
        units = gold.groups.get(edition.item.unit)
        own: set[object] = set() if gold.ids is None else set(gold.ids.tolist())
        own |= {text for texts in gold.texts or () for text in texts if text}
        own |= {("unit", word) for word in units.words if word != NONE} if units else set()
        if seen & own:
            return True
        seen |= own
    return False


def missing_units(gold: Rows, edition: Edition) -> str:
    """Return a sentence if the gold lacks the edition's units; otherwise nothing."""
    key = edition.item.unit
    if not key or key in gold.groups:
        return ""
    return (
        f"{printable(gold.file)}: no item has {printable(key)}, so the intervals treat the items "
        "as independent; put the data file next to the gold"
    )
