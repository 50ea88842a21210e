"""The prompts about generations, in the language of each question."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.annotate.words.languages import CHINESE, ENGLISH, language_of
from shroom.detectors.judge.prompts import Prompt, TemplateKind

if TYPE_CHECKING:
    from shroom.annotate.base import Work

_FOLDER = Path(__file__).parent / "templates"
_PLACES = ("question", "answer", "generation")
#: The scorer's templates, with a variant for each language.
TEMPLATES = TemplateKind(
    {name: _FOLDER / name for name in ("reason", "word")}, (CHINESE, ENGLISH), _PLACES, _PLACES
)


class Prompts:
    """Writes prompts.

    Parameters
    ----------
    name : str
        ``"reason"``, ``"word"``, a file, or a folder with ``zh.txt`` for questions in Chinese and
        ``en.txt`` for all others.
    most : int
        Maximum number of characters of a generation.

    Raises
    ------
    ShroomError
        If a file cannot be read or is not a template.
    """

    def __init__(self, name: str, most: int) -> None:
        self.most = most
        self._templates = TEMPLATES.read(name)

    @property
    def identity(self) -> str:
        """A digest of the templates, and the maximum length."""
        parts = repr([template.parts for template in self._templates.values()])
        return f"{hashlib.sha256(parts.encode()).hexdigest()[:12]} {self.most}"

    def of(self, work: Work, place: int) -> Prompt:
        """Return the prompt of a generation."""
        question = work.question
        chinese = language_of([question.question]) == CHINESE
        template = self._templates[CHINESE if chinese else ENGLISH]
        generation = question.generation[place].text[: self.most]
        others = (("question", question.question), ("answer", question.answer))
        return Prompt(template, "generation", generation, others)
