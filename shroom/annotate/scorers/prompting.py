"""What a judge is asked about a generation, in the language of its question."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.annotate.words.languages import CHINESE, ENGLISH, language_of
from shroom.core.problems import ShroomError, nearest
from shroom.detectors.judge.prompts import Template, read

if TYPE_CHECKING:
    from shroom.annotate.base import Work

_FOLDER = Path(__file__).parent / "templates"
PLACES = ("question", "answer", "generation")
#: The templates that the kit has.
BUILT_IN = ("reason", "word")
_LANGUAGES = (CHINESE, ENGLISH)


@dataclass(frozen=True)
class Prompt:
    """A template with what goes into it; ``context`` is what is cut where a model reads less."""

    template: Template
    question: str
    answer: str
    context: str

    def __str__(self) -> str:
        return self.text(len(self.context))

    def text(self, length: int) -> str:
        """Return the prompt with so many characters of the generation."""
        return self.template.fill(
            question=self.question, answer=self.answer, generation=self.context[:length]
        )


class Prompts:
    """Writes prompts.

    Parameters
    ----------
    name : str
        One of ``BUILT_IN``, a file, or a folder with ``zh.txt`` for questions in Chinese and
        ``en.txt`` for all others.
    most : int
        The most characters of a generation.

    Raises
    ------
    ShroomError
        Where it cannot be read or is no template.
    """

    def __init__(self, name: str, most: int) -> None:
        self.most = most
        path = Path(name).expanduser()
        if name in BUILT_IN:
            files = {language: _FOLDER / f"{name}-{language}.txt" for language in _LANGUAGES}
        elif path.is_dir():
            files = {language: path / f"{language}.txt" for language in _LANGUAGES}
        elif path.exists():
            files = dict.fromkeys(_LANGUAGES, path)
        else:
            raise ShroomError(
                f"template: there is no file or folder {name};{nearest(name, BUILT_IN)} the kit "
                f"has: {', '.join(BUILT_IN)}"
            )
        self._templates = {language: read(file, PLACES, PLACES) for language, file in files.items()}

    @property
    def identity(self) -> str:
        """What tells the prompts from others'."""
        said = repr([template.parts for template in self._templates.values()])
        return f"{hashlib.sha256(said.encode()).hexdigest()[:12]} {self.most}"

    def of(self, work: Work, place: int) -> Prompt:
        """Return the prompt of a generation."""
        asked = work.question
        chinese = language_of([asked.question]) == CHINESE
        template = self._templates[CHINESE if chinese else ENGLISH]
        text = asked.generation[place].text[: self.most]
        return Prompt(template, asked.question, asked.answer, text)
