"""A reward model's raw score of a generation as a reply to its question."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from shroom.annotate.scorers.slices import gathered, in_slices
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.judge.prompts import Template
from shroom.inference import hub
from shroom.inference.sequence_classifier import SequenceClassifier
from shroom.inference.tokenization import PairReader, in_chat, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.annotate.base import Scores, Work
    from shroom.datasets.dreamcatcher.records import Question
    from shroom.inference.run_settings import Run

FORMS = CHAT, PAIR = "chat", "pair"
_PLACES = ("question", "generation")


class Reward:
    """Scores every generation, including refusals, by a reward model; higher is better.

    Adds ``rm_score``, the model's only logit, which may be any number.

    Parameters
    ----------
    model, revision : str
        A sequence classifier with one class: a folder, or a name on the hub with its commit, tag
        or branch.
    template : str, optional
        Form of the input: ``"chat"``, two turns of the tokenizer's chat template; ``"pair"``, two
        texts; or a text of your own with ``{question}`` and ``{generation}``. The default is a chat
        if the tokenizer has a template, else a pair.

    References
    ----------
    Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449. Their program also
    tells the model when a refusal is expected; this one does not.
    """

    name = "reward"
    fields = ("rm_score",)
    uses_precision = True

    def __init__(
        self,
        model: str | None = None,
        revision: str | None = None,
        template: str | None = None,
    ) -> None:
        if model is None:
            raise ShroomError(
                "reward needs a model: a folder or the hub's name of a reward model, such as "
                "OpenAssistant/reward-model-deberta-v3-base"
            )
        self.model = settings.text("model", model)
        self.revision = None if revision is None else settings.text("revision", revision)
        self.template = None if template is None else settings.text("template", template)
        if self.template not in (None, *FORMS):
            Template.parse(str(self.template), "template", _PLACES, _PLACES)
        self._loaded: dict[tuple[str | None, str | None], _Model] = {}

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the question."""
        return f"reward {hub.identity(self.model, self.revision)} {self.template!r}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of all generations."""
        return tuple(range(len(question.generation)))

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the raw score of each generation."""
        owners = gathered(
            [
                ((plain(item.question.question), plain(item.question.generation[g].text)), place, g)
                for place, item in enumerate(work)
                for g in item.wanted
            ]
        )
        for place, generation, value in in_slices(
            owners, self._rewards, run, length=lambda pair: sum(map(len, pair))
        ):
            yield place, generation, {"rm_score": value}

    def _rewards(self, pairs: list[tuple[str, str]], run: Run) -> list[float]:
        key = (run.device, run.precision)
        if key not in self._loaded:
            self._loaded[key] = _Model(self.model, self.revision, self.template, run)
        return self._loaded[key].rewards(pairs, f"reward {self.template!r}", run)


class _Model:
    """A reward model on a device, with the form of its input."""

    def __init__(self, name: str, revision: str | None, template: str | None, run: Run) -> None:
        self._model = model = SequenceClassifier("reward", name, revision, run)
        if model.config.num_labels != 1:
            raise ShroomError(
                f"{name}: has {model.config.num_labels} classes; a reward model has one, its score"
            )
        self._name, self._room = name, model.room
        self._reader = _reader(name, model.tokenizer, model.room, template)

    def rewards(self, pairs: list[tuple[str, str]], scope: str, run: Run) -> list[float]:
        """Return the score of each question and generation."""
        lengths = self._reader.lengths(pairs)
        long = sum(length > self._room for length in lengths)
        if long:
            run.note(
                f"{long} questions with their generations were cut to the {self._room} tokens that "
                f"{self._name} reads"
            )
        shortened = [min(length, self._room) for length in lengths]
        logits = self._model.logits(pairs, shortened, self._reader.batch, scope, run)
        values: list[float] = logits[:, 0].tolist()
        return values


def _reader(name: str, tokenizer: Any, room: int, template: str | None) -> PairReader | _TextReader:
    """Return the object that makes a model's input from pairs."""
    chat = bool(getattr(tokenizer, "chat_template", None))
    if template == CHAT and not chat:
        raise ShroomError(
            f'{name}: its tokenizer has no chat template; give template: "pair", or a text of '
            "your own with {question} and {generation}"
        )
    if template == PAIR or (template is None and not chat):
        return PairReader(tokenizer, room)
    own = None
    if template not in (None, CHAT):
        own = Template.parse(str(template), "template", _PLACES, _PLACES)
    return _TextReader(name, tokenizer, room, own)


class _TextReader:
    """Makes a model's input from question and generation as one text, whose end is cut.

    Parameters
    ----------
    name : str
        Name of the model in messages.
    tokenizer : tokenizer of transformers
        Its chat template is used if ``template`` is not given.
    room : int
        Maximum number of tokens.
    template : Template or None
        The user's template. The tokenizer's start token precedes the text.
    """

    def __init__(self, name: str, tokenizer: Any, room: int, template: Template | None) -> None:
        self._name = name
        self._tokenizer, self._room, self._template = tokenizer, room, template

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return the tokens of each pair before anything is cut."""
        return [len(self._ids(pair)) for pair in pairs]

    def batch(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return the arrays of pairs, each of shape [pairs, tokens]."""
        ids = [self._ids(pair)[: self._room] for pair in pairs]
        return self._tokenizer.pad({"input_ids": ids}, return_tensors="np", verbose=False)

    def _ids(self, pair: tuple[str, str]) -> list[int]:
        question, generation = pair
        if self._template:
            text = self._template.fill(question=question, generation=generation)
        else:
            turns = [("user", question), ("assistant", generation)]
            way_out = 'give template: "pair", or a text of your own'
            text = in_chat(self._tokenizer, self._name, turns, asks=False, way_out=way_out)
        # A chat template contains the start token.
        marks = self._template is not None
        ids: list[int] = self._tokenizer(text, add_special_tokens=marks, verbose=False)["input_ids"]
        return ids
