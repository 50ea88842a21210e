"""What the readers of all kinds of annotation but the binary one share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from shroom.core.doubled_keys import Doubled, again
from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problems, show
from shroom.scoring.table import GROUPS, KEYS, Group, Role
from shroom.scoring.table_builder import TableBuilder

if TYPE_CHECKING:
    from shroom.scoring.editions.edition import Edition


class Rows(TableBuilder):
    """The rows of a file: their ids, their groups, and reports about them.

    Parameters
    ----------
    role : Role
        Role that the file is read in.
    file : str
        Name of the file in messages.
    problems : Problems
        Gets what is wrong.
    edition : Edition
        The edition of the file.
    *keys : str
        Keys of predictions besides those that all editions have.
    not_an_object : str
        The code of a row that is not an object.
    """

    def __init__(
        self,
        role: Role,
        file: str,
        problems: Problems,
        edition: Edition,
        *keys: str,
        not_an_object: str = "item-object",
    ) -> None:
        super().__init__(file, problems, edition.item, role)
        self.not_an_object = not_an_object
        self._keys = edition.item.keys
        self._known = {*keys, *map(self.key, KEYS), *edition.own_keys}
        self._items: list[dict[str, Any]] = []

    def key(self, name: str) -> str:
        """Return the key of the files for one of the kit's own."""
        return self._keys.get(name, name)

    def objects(self, items: Iterable[Any]) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """Yield each row with its place; ``None`` for one that is not an object."""
        for index, item in enumerate(items):
            is_object = isinstance(item, dict)
            self.add_id(index, item if is_object else None)
            if is_object:
                self._report_keys(index, item)
            elif item is not BROKEN:
                found = partial(show, item)
                self.problems.add(self.not_an_object, self.file, "an object", found, index=index)
            if not self.predictions:
                self._items.append(item if is_object else {})
            yield index, item if is_object else None

    def groups(self, places: Iterable[int] | None = None) -> dict[str, Group]:
        """Return the columns of gold or data by which scores can be sliced.

        Parameters
        ----------
        places : iterable of int, optional
            The rows that are used; all by default.
        """
        keys = {name: self.key(name) for name in GROUPS}
        items = self._items if places is None or not self._items else [
            self._items[place] for place in places
        ]  # fmt: skip
        return {
            name: Group.of([_word(item.get(key)) for item in items])
            for name, key in keys.items()
            if any(key in item for item in items)
        }

    def _report_keys(self, index: int, item: dict[str, Any]) -> None:
        if not self.predictions:
            return
        if isinstance(item, Doubled):
            self.report("key-doubled", index, "each key once", item, form=again)
        for key in item.keys() - self._known:
            self.count_unknown(index, key)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""
