"""Items that are hard, with what people and systems say of them: as text, json and csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from shroom.core.datapoint import Datapoint
from shroom.core.problems import printable
from shroom.evaluation.item_difficulty import Item
from shroom.report.csv_cells import as_csv
from shroom.scoring.display.text import align, footnote, number, starred
from shroom.scoring.file_names import Name

#: Texts of more characters are shortened for people.
LONGEST = 400
_INDENT = 4
_COLUMNS = (
    *("split", "track", "rank", "row", "id", "task", "model", "ref", "gold_label", "gold_p"),
    *("difficulty", "system", "label", "p", "right", "hyp", "src", "tgt"),
    "in_sample",
)


@dataclass(frozen=True)
class Listing:
    """Some items of one track, and why these.

    Attributes
    ----------
    name : Name
        The split and track.
    n : int
        The number of all items.
    order : str
        ``hardest``, ``unsolved`` or ``differing``.
    systems : tuple of str
        The systems that were asked about: one, all, or two.
    total : int
        How many items the system labels wrong, no system labels right, or one of two does.
    items : list of Item
        The listed items, with their texts if they are known.
    signature : str
        Signature of the scores.
    in_sample : dict of int
        How many of all items the detector of each system was fitted on.
    """

    name: Name
    n: int
    order: str
    systems: tuple[str, ...]
    total: int
    items: list[Item]
    signature: str
    in_sample: dict[str, int] = field(default_factory=dict)

    def shown(self, system: str) -> str:
        """Return a system's name, with a star if its predictions are in-sample."""
        return starred(system, self.in_sample.get(system, 0))

    @property
    def title(self) -> str:
        """A line that says which items these are."""
        asked, of = [*map(self.shown, self.systems)], f"{self.total} of {self.n} items"
        if self.order == "hardest":
            text = f"{asked[0]} labels {of} wrong; the {len(self.items)} hardest"
        elif self.order == "differing":
            text = f"{asked[0]} or {asked[1]}, but not both, labels {of} right"
        elif len(asked) == 1:
            text = f"{asked[0]} labels {of} wrong"
        else:
            text = f"none of {len(asked)} systems labels {of} right"
        shown = f"; shown: {len(self.items)}" if len(self.items) < self.total else ""
        return f"{self.name}: {text}{'' if self.order == 'hardest' else shown}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json; what of the texts is not known as ``None``."""
        return {
            "track": self.name.track,
            "split": self.name.split,
            "n": self.n,
            "order": self.order,
            "systems": list(self.systems),
            "in_sample": self.in_sample,
            "total": self.total,
            "items": [{**item.to_dict(), **_texts(item.point)} for item in self.items],
            "signature": self.signature,
        }


def _texts(point: Datapoint | None) -> dict[str, str | None]:
    if point is None:
        return dict.fromkeys(("task", "model", "ref", "hyp", "src", "tgt"))
    return {
        "task": point.task.name,
        "model": point.model,
        "ref": None if point.ref is None else point.ref.value,
        "hyp": point.hyp,
        "src": point.src,
        "tgt": point.tgt,
    }


def to_csv(listings: Sequence[Listing]) -> str:
    """Return listings as csv, a row for each item and system."""
    return as_csv([_COLUMNS, *(row for listing in listings for row in _csv_rows(listing))])


def _csv_rows(listing: Listing) -> Iterator[list[object]]:
    for rank, item in enumerate(listing.to_dict()["items"], 1):
        gold = {"gold_label": item["label"], "gold_p": item["p"], "rank": rank}
        for system, prediction in item["systems"].items():
            cells = {
                **item,
                **gold,
                **prediction,
                "system": system,
                "right": int(prediction["right"]),
            }
            cells.update(split=listing.name.split, track=listing.name.track)
            cells.update(in_sample=listing.in_sample.get(system, 0))
            yield [cells[column] for column in _COLUMNS]


def to_text(listings: Sequence[Listing], width: int) -> str:
    """Return listings for people, in lines of at most ``width`` columns where words allow it."""
    lines = []
    for listing in listings:
        lines += [*_wrapped(listing.title, width), ""]
        for place, item in enumerate(listing.items, 1):
            lines += [*_lines(place, item, listing, width), ""]
        if star := footnote((name, k, listing.n) for name, k in listing.in_sample.items()):
            lines += [*_wrapped(star, width), ""]
    lines += dict.fromkeys(listing.signature for listing in listings)
    return "\n".join(lines) + "\n"


def _lines(place: int, item: Item, listing: Listing, width: int) -> Iterator[str]:
    texts = _texts(item.point)
    facts = [f"{place}. item {item.row}" + ("" if item.id is None else f" (id {item.id})")]
    facts += filter(None, (texts["task"], texts["model"], texts["ref"] and f"ref {texts['ref']}"))
    yield from _wrapped(", ".join(facts), width)
    for key in ("hyp", "src", "tgt"):
        text = texts[key] or ("(empty)" if item.point and key == "hyp" else "")
        lead = " " * _INDENT + key
        for line in _wrapped(text, width - len(lead) - 2) if text else ():
            yield f"{lead}  {line}"
            lead = " " * len(lead)
    rows = [("", "label", "p", ""), ("annotators", item.label.value, number(item.p), "")]
    for system, verdict in item.systems.items():
        mark = "right" if verdict.right else "wrong"
        name = printable(listing.shown(system))
        rows.append((name, verdict.label.value, number(verdict.p), mark))
    yield from (" " * _INDENT + line for line in align(rows, left=2))


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text's lines as a terminal may show them, counting wide characters as two."""
    from rich.console import Console
    from rich.text import Text

    width = max(width, 20)
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    lines = Text(printable(short)).wrap(Console(width=width), width)
    return [line.plain.rstrip() for line in lines]
