"""A reward model's raw score of a generation as a reply to its question."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shroom.annotate.base import Item, Scorer, Scores
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import UNCERTAIN, Question
from shroom.detectors.settings import Name, Text
from shroom.inference import classifier, hub
from shroom.inference.language_model.model import Template
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import PairReader, in_chat, plain

#: The texts that reward models of the source read, and the forms of their questions.
REWARDS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_PLACES = ("question", "generation", "end")


@dataclass(eq=False)
class Reward(Scorer):
    """Scores every generation, including refusals, by a reward model; higher is better."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449: their prompts also
    # contain a generation's type, and ask for a refusal if it is one.
    # Adds ``rm_score``, the model's only logit, which may be any number.

    name = "reward"
    fields = ("rm_score",)
    uses_precision = True
    model: Name
    revision: Name | None = None
    #: By default the tokenizer's chat template, or without one, two texts.
    template: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._prompt = REWARDS.get(self.template or "", {"template": self.template})
        form = self._prompt["template"]
        self._text = Template.parse(form, "template", _PLACES, _PLACES[:2]) if form else None
        self._loaded: dict[Any, tuple[classifier.Classifier, PairReader | _TextReader]] = {}

    @cached_property
    def identity(self) -> str:
        return f"reward {hub.identity(self.model, self.revision)} {self._prompt}"

    def places(self, question: Question) -> Sequence[int]:
        return range(len(question.generation))

    def item(self, question: Question, place: int) -> Item:
        """Return the question in the form for a generation, and the generation."""
        generation = question.generation[place]
        name = "refusal" if generation.type == UNCERTAIN else "question"
        form = self._prompt.get(name) or "{question}"
        asked = form.format(question=question.question, task=generation.type or "")
        return plain(asked), plain(generation.text)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        key = (run.device, run.precision)
        if key not in self._loaded:
            self._loaded[key] = self._load(run)
        model, reader = self._loaded[key]
        lengths = np.asarray(reader.lengths(items))
        if long := int((lengths > model.room).sum()):
            run.note(
                f"{counted(long, 'pair')} of question and generation had to be truncated: "
                f"{self.model} reads at most {model.room} tokens"
            )
        lengths = np.minimum(lengths, model.room)
        logits = model.logits(items, lengths, reader.batch, f"reward {self._prompt}", run)
        return [{"rm_score": value} for value in logits[:, 0].tolist()]

    def _load(self, run: Run) -> tuple[classifier.Classifier, PairReader | _TextReader]:
        """Return the model, and the object that turns pairs into its input."""
        model = classifier.load("reward", self.model, self.revision, run)
        if model.config.num_labels != 1:
            raise ShroomError(
                f"{self.model} has {model.config.num_labels} classes, but a reward model has only "
                "one class"
            )
        if self._text or getattr(model.tokenizer, "chat_template", None):
            return model, _TextReader(self.model, model.tokenizer, model.room, self._text)
        return model, PairReader(model.tokenizer, model.room)


@dataclass
class _TextReader:
    """Makes a model's input from question and generation as one text, cut at its end."""

    name: str
    tokenizer: Any
    room: int
    template: Template | None  # by default the tokenizer's chat template

    def lengths(self, pairs: Sequence[Item]) -> list[int]:
        """Return the tokens of each pair before anything is cut."""
        return [len(self._ids(*pair)) for pair in pairs]

    def batch(self, pairs: Sequence[Item]) -> Any:
        """Return the arrays of pairs, each of shape [pairs, tokens]."""
        ids = [self._ids(*pair)[: self.room] for pair in pairs]
        return self.tokenizer.pad({"input_ids": ids}, return_tensors="np", verbose=False)

    def _ids(self, question: str, generation: str) -> list[int]:
        if self.template:
            end = self.tokenizer.eos_token or ""
            text = self.template.fill(question=question, generation=generation, end=end)
        else:
            turns = [("user", question), ("assistant", generation)]
            way_out = "set template to your own text"
            text = in_chat(self.tokenizer, self.name, turns, asks=False, way_out=way_out)
        # A chat template contains the start token.
        marks = self.template is not None
        ids: list[int] = self.tokenizer(text, add_special_tokens=marks, verbose=False)["input_ids"]
        return ids
