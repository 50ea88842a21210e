"""What people have said of generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import items_of
from shroom.scoring.item_values import number_in
from shroom.scoring.table import P

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shroom.core.paths import Source

    #: p(Hallucination) by question and text.
    Judgements = Mapping[tuple[str, str], float]


def read(*paths: Source, problems: Problems | None = None) -> Judgements:
    """Return what people have said of generations.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines or JSON lists of ``{"question", "text"}`` with ``p(Hallucination)`` in [0, 1] or
        ``label``, as SHROOM has them.
    problems : Problems, optional
        Gets everything that is wrong, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    """
    problems = Problems() if problems is None else problems
    found: dict[tuple[str, str], float] = {}
    for document, rows in items_of(paths, problems):
        for index, row in enumerate(rows):
            place: dict[str, Any] = {"index": index}
            if not isinstance(row, dict):
                problems.add("item-object", document.file, "an object", show(row), **place)
                continue
            texts = [row.get("question"), row.get("text")]
            if not all(isinstance(text, str) for text in texts):
                expected, given = 'the keys "question" and "text"', f"keys {show(list(row))}"
                problems.add("key-missing", document.file, expected, given, **place)
                continue
            p = _judged(row, document.file, place, problems)
            key = str(texts[0]), str(texts[1])
            if key in found:
                expected = "each generation once"
                problems.add("row-doubled", document.file, expected, "it again", **place)
            elif p is not None:
                found[key] = p
    if problems.errors:
        raise InvalidInput(problems)
    return found


def _judged(
    row: dict[str, Any], file: str, place: dict[str, Any], problems: Problems
) -> float | None:
    if P in row:
        p = None if isinstance(row[P], str) else number_in(row[P])
        if p is None or not 0 <= p <= 1:
            problems.add("p-range", file, "a number in [0, 1]", show(row[P]), key=P, **place)
        return p
    words = {"Hallucination": 1.0, "Not Hallucination": 0.0}
    label = row.get("label")
    if label not in words:
        expected = " or ".join(f'"{word}"' for word in words)
        problems.add("label-value", file, expected, show(label), key="label", **place)
        return None
    return words[label]
