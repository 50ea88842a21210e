"""The edition that a gold is of, recognised by the keys of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import Problems
from shroom.scoring.data_set_forms import row_at
from shroom.scoring.editions.files import NAMES, built_in
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
    documents = [] if is_pipe(gold) else documents_among_others(gold, Problems())
    contents = ((document, document.read(Problems())) for document in documents)
    rows = (row_at(document, data, 0) for document, data in contents if data is not None)
    return next(filter(None, map(edition_with, rows)), None)


def edition_with(keys: Iterable[str]) -> Edition | None:
    """Return the edition whose gold has rows with such keys.

    Examples
    --------
    >>> keys = ["index", "has_factual_mistakes", "has_fluency_mistakes"]
    >>> edition_with(keys).name, edition_with(["index", "labels"])
    ('cap2025', None)
    """
    there = set(keys)
    for edition in map(built_in, NAMES):
        item, annotation = edition.item, edition.annotation
        needed = {aspect.key for aspect in annotation.aspects}
        if annotation.kind == "labelled-spans":
            needed = {item.key("hyp"), "labels", "raw_annots"}
        if needed and {item.id_key, *needed} <= there:
            return edition
    return None
