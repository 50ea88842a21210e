"""Prompt templates: text files with places for the context, the sentence and the examples."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.core.datapoint import Task
from shroom.core.problems import ShroomError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(__file__).parent / "templates"
#: What a template may have in braces.
PLACES = ("context", "sentence", "task", "examples")
#: What it must have.
NEEDED = ("context", "sentence")
#: The templates that the kit has: a file for all tasks, or a folder with one for each.
BUILT_IN = {
    "support": FOLDER / "support",
    "official": FOLDER / "official.txt",
    "official-chat": FOLDER / "official-chat.txt",
}


@dataclass(frozen=True)
class Template:
    """The text of a prompt, with places to be filled.

    Attributes
    ----------
    parts : tuple of (str, str or None)
        A literal text and the place after it.

    Examples
    --------
    >>> template = Template.parse("{{{task}}} {context} / {sentence}", "an example")
    >>> template.fill(context="{task}", sentence="b", task="DM", examples="")
    '{DM} {task} / b'
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(
        cls,
        text: str,
        file: str,
        places: Sequence[str] = PLACES,
        needed: Sequence[str] = NEEDED,
    ) -> Template:
        """Return the template of a text; ``file`` is how messages name it.

        Parameters
        ----------
        places, needed : sequence of str
            What it may have in braces, and what it must.

        Raises
        ------
        ShroomError
            Where a place is unknown or missing, or a brace stands alone.
        """
        parts = []
        try:
            for literal, place, form, conversion in string.Formatter().parse(text):
                if place is not None and (place not in places or form or conversion):
                    raise ShroomError(_unknown(place, file, places))
                parts.append((literal, place))
        except ValueError as error:
            raise ShroomError(
                f"{file}: {error}; a template has its places in braces, such as {{{places[0]}}}, "
                "and writes a brace itself twice: {{ and }}"
            ) from error
        template = cls(tuple(parts))
        for place in needed:
            if not template.has(place):
                raise ShroomError(f"{file}: the template has no {{{place}}}; it needs one")
        return template

    def has(self, place: str) -> bool:
        """Return whether there is such a place."""
        return any(place == there for _, there in self.parts)

    def fill(self, **texts: str) -> str:
        """Return the prompt; what is filled in is never read as a template again.

        Half characters, which no server and no tokenizer takes, become question marks.
        """
        filled = "".join(text + (texts[place] if place else "") for text, place in self.parts)
        return filled.encode("utf-8", "replace").decode("utf-8")


def templates(name: str) -> dict[Task, Template]:
    """Return the template of each task.

    Parameters
    ----------
    name : str
        One of ``BUILT_IN``, a file for all tasks, or a folder with ``DM.txt``, ``MT.txt``,
        ``PG.txt`` and ``TS.txt``.

    Raises
    ------
    ShroomError
        Where it cannot be read or is no template.
    """
    path = BUILT_IN.get(name, Path(name))
    if path.is_dir():
        return {task: read(path / f"{task.value}.txt") for task in Task}
    if not path.exists():
        raise ShroomError(
            f"template {name}: there is no such file or folder;{nearest(name, BUILT_IN)} the kit "
            f"has: {', '.join(BUILT_IN)}"
        )
    return dict.fromkeys(Task, read(path))


def read(path: Path, places: Sequence[str] = PLACES, needed: Sequence[str] = NEEDED) -> Template:
    """Return the template of a file; see :meth:`Template.parse`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ShroomError(
            f"{path}: is missing; a folder of templates has one file for each task: "
            + ", ".join(f"{task.value}.txt" for task in Task)
        ) from error
    except (OSError, ValueError) as error:
        raise ShroomError(f"{path}: cannot be read as text in UTF-8: {error}") from error
    # A file ends with a line end; a prompt that waits for the answer does not.
    return Template.parse(text.rstrip("\r\n"), str(path), places, needed)


def _unknown(place: str, file: str, places: Sequence[str]) -> str:
    known = ", ".join(f"{{{name}}}" for name in places)
    hint = nearest(place, places)
    return f"{file}: {{{place}}} is no place that can be filled;{hint} there are: {known}"
