"""The edition that a gold is of, recognised by the keys of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import Problems
from shroom.scoring.data_set_forms import row_at
from shroom.scoring.editions.files import built_in, built_in_names
from shroom.scoring.input_files import documents_among_others, is_pipe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.core.paths import Source
    from shroom.scoring.editions.edition import Edition


def edition_of(gold: Source) -> Edition | None:
    """Return the edition of a file, a folder or a zip of gold; ``None`` if none is recognised.

    The first row of the first file decides. Editions of binary labels and of spans share their
    keys with a data set, and are recognised as that.
    """
    if is_pipe(gold):
        return None
    for document in documents_among_others(gold, Problems()):
        data = document.read(Problems())
        edition = None if data is None else edition_with(row_at(document, data, 0).keys())
        if edition is not None:
            return edition
    return None


def edition_with(keys: Iterable[str]) -> Edition | None:
    """Return the edition whose gold has rows with such keys.

    Examples
    --------
    >>> keys = ["index", "has_factual_mistakes", "has_fluency_mistakes"]
    >>> edition_with(keys).name, edition_with(["index", "labels"])
    ('cap2025', None)
    """
    there = set(keys)
    for edition in map(built_in, built_in_names()):
        needed = {edition.item.id_key}
        if edition.annotation.kind == "aspects":
            needed |= {aspect.key for aspect in edition.annotation.aspects}
        elif edition.annotation.kind == "labelled-spans":
            needed |= {edition.item.keys.get("hyp", "hyp"), "labels", "raw_annots"}
        else:
            continue
        if needed <= there:
            return edition
    return None
