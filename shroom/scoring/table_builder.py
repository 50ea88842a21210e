"""What every reader of rows needs: their ids, and reports with the place of each problem."""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.problems import Problems, show
from shroom.scoring.csv_files import RowWithGaps
from shroom.scoring.item_values import id_in, problem_of_id
from shroom.scoring.table import P, Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.scoring.editions.edition import Item


class TableBuilder:
    """The ids of a file's rows, and reports about them.

    Parameters
    ----------
    file : str
        Name of the file in messages.
    problems : Problems
        Gets what is wrong.
    item : Item
        The form of a row: its kind of ids, and the keys of the files.
    role : Role
        Role that the file is read in.

    Examples
    --------
    >>> from shroom.scoring.editions.edition import Item
    >>> builder = TableBuilder("gold.jsonl", Problems(), Item("string", {"id": "index"}))
    >>> builder.add_id(0, {"index": "en-val-0"})
    >>> builder.finish()[0].tolist()
    ['en-val-0']
    """

    def __init__(self, file: str, problems: Problems, item: Item, role: Role = Role.GOLD) -> None:
        self.file, self.problems = file, problems
        self.predictions = role is Role.PREDICTIONS
        self.item, self.id_key, self.id_kind = item, item.id_key, item.id
        self.ids: Any = array("q") if self.id_kind == "integer" else []
        self.has_id, self._without_id = array("b"), array("q")
        #: First row and number of occurrences of each unknown key.
        self._unknown: dict[str, tuple[int, int]] = {}
        #: How many warnings there are besides those that ``problems`` has, by code.
        self._more: dict[str, int] = {}

    def add_id(self, index: int, item: dict[str, Any] | None) -> None:
        """Add the id of a row; ``None`` stands for a row that is not an object."""
        key, is_integer = self.id_key, self.id_kind == "integer"
        raw = item[key] if item is not None and key in item else None
        value = id_in(raw, self.id_kind)
        self.ids.append((0 if is_integer else "") if value is None else value)
        self.has_id.append(value is not None)
        if item is None or self.id_kind == "none":
            return
        if key not in item:
            self._without_id.append(index)
        elif value is None:
            code, expected = problem_of_id(self.id_kind)
            self.report(code, index, expected, raw, key=key)
        elif is_integer and type(raw) is not int:
            self.report("id-string", index, str(value), raw, key=key)

    def report(
        self,
        code: str,
        index: int,
        expected: str,
        value: object,
        *,
        key: str | None = None,
        form: Callable[[Any], str] = show,
    ) -> None:
        """Report a value, which ``form`` puts into words if the problem is kept."""
        if code in self._more:
            self._more[code] += 1
            return
        description = partial(form, value)
        self.problems.add(code, self.file, expected, description, key=key, **self.place(index))
        if self.problems.only_counts(code):
            self._more[code] = 0

    def report_missing_key(self, index: int, key: str, item: dict[str, Any]) -> None:
        """Report a key that a row needs and does not have."""
        if isinstance(item, RowWithGaps) and key in map(self.item.key, item.empty):
            is_p = key == self.item.key(P)
            code, expected = ("p-number", "a number") if is_p else ("label-value", "a label")
            self.report(code, index, expected, "an empty cell", key=key, form=str)
            return
        keys = [*map(self.item.key, item)]
        self.report("key-missing", index, f'the key "{key}"', keys, form=_keys_of)

    def count_unknown(self, index: int, key: str) -> None:
        """Note an unknown key, which is reported once, with the number of rows."""
        first, times = self._unknown.get(key, (index, 0))
        self._unknown[key] = first, times + 1

    def place(self, index: int) -> dict[str, Any]:
        """Return the place of a row, for :meth:`~shroom.core.problems.Problems.add`."""
        return {"index": index, "id": self.ids[index] if self.has_id[index] else None}

    def finish(self) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
        """Report what needs all rows; return the ids, and which rows have one where some lack it.

        Both are ``None`` where no row has an id, the second one where all have.
        """
        for key, (first, times) in self._unknown.items():
            description = show(key) + (f" here and in {times - 1} more" if times > 1 else "")
            first_place = self.place(first)
            self.problems.add(
                "key-unknown", self.file, "the known keys", description, **first_place
            )
        for code, count in self._more.items():
            self.problems.add_count(code, self.file, count)
        has_id = np.array(self.has_id, bool)
        if not has_id.any():
            if len(has_id) and not self.predictions and self.id_kind == "string":
                expected, description = "an id in every row", f"none on {len(has_id)} items"
                self.problems.add("id-missing", self.file, expected, description, key=self.id_key)
            return None, None
        for index in self._without_id:
            place: dict[str, Any] = {"index": index, "key": self.id_key}
            self.problems.add(
                "id-missing", self.file, "an id, as other items have", "none", **place
            )
        ids = np.array(self.ids, np.int64) if self.id_kind == "integer" else np.array(self.ids)
        return ids, None if has_id.all() else has_id


def _keys_of(keys: list[str]) -> str:
    return f"keys {show(keys)}"
