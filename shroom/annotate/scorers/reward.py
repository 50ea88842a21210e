"""A reward model's raw score of a generation as a reply to its question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from shroom.annotate.base import Item, Scorer, Scores
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import UNCERTAIN, Question
from shroom.detectors.settings import Name, Text
from shroom.inference import classifier, hub
from shroom.inference.language_model.model import Template
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import PairReader, in_chat, plain

FORMS = CHAT, PAIR = "chat", "pair"
_PLACES = ("question", "generation", "end")
_QUESTION_PLACES = ("question", "task")


class Prompt(NamedTuple):
    """The form of a text that a reward model reads."""

    template: str
    # Forms with ``{question}`` and ``{task}``, which is the generation's ``type`` or ``task``.
    question: str
    refusal: str


#: The prompts of the source's program (scorer/reward_model_scorer.py): the Chinese one, and that of
#: ``model_type: llama2_13b_en``.
_TASK = "请回答下列{task}问题：{question}"
PROMPTS = {
    "dreamcatcher": Prompt(
        "<human>:{question}\n<bot>:{generation}{end}",
        _TASK,
        f"{_TASK}\n对于这个问题，请简短地回答你由于缺乏对应的知识或信息，因此不知道或不确定答案。",
    ),
    "dreamcatcher-en": Prompt(
        "[INST] <<SYS>><</SYS>>{question} [/INST] {generation}{end}",
        _TASK,
        f"{_TASK}\nFor this question, please answer that you are unsure of the answer due to lack "
        "of corresponding knowledge or information.",
    ),
}


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
    template: Text | None = None
    question: Text | None = None
    refusal: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        prompt = PROMPTS.get(self.template or "")
        self._form = prompt.template if prompt else self.template
        if self._form not in (None, *FORMS):
            _parsed(self._form)
        question = self.question or (prompt.question if prompt else "{question}")
        default = prompt.refusal if prompt and not self.question else question
        forms = {"question": question, "refusal": self.refusal or default}
        self._templates = {
            name: Template.parse(form, name, _QUESTION_PLACES, _QUESTION_PLACES[:1])
            for name, form in forms.items()
        }
        self._changed = "" if set(forms.values()) == {"{question}"} else f" {forms}"
        self._loaded: dict[tuple[str | None, str | None], _Model] = {}

    @cached_property
    def identity(self) -> str:
        identity = hub.identity(self.model, self.revision)
        return f"reward {identity} {self._form!r}{self._changed}"

    def places(self, question: Question) -> tuple[int, ...]:
        return tuple(range(len(question.generation)))

    def item(self, question: Question, place: int) -> Item:
        """Return the question in the form for a generation, and the generation."""
        generation = question.generation[place]
        template = self._templates["refusal" if generation.type == UNCERTAIN else "question"]
        task = str(generation.type or generation.extra.get("task", ""))
        return template.fill(question=question.question, task=task), plain(generation.text)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        key = (run.device, run.precision)
        if key not in self._loaded:
            self._loaded[key] = _Model(self.model, self.revision, self._form, run)
        return [{"rm_score": value} for value in self._loaded[key].rewards(items, run)]


class _Model:
    """A reward model on a device, with the form of its input."""

    def __init__(self, name: str, revision: str | None, form: str | None, run: Run) -> None:
        self._model = model = classifier.load("reward", name, revision, run)
        if model.config.num_labels != 1:
            raise ShroomError(
                f"{name} has {model.config.num_labels} classes, but a reward model has only one "
                "class"
            )
        self._name, self._room, self._scope = name, model.room, f"reward {form!r}"
        self._reader = _reader(name, model.tokenizer, model.room, form)

    def rewards(self, pairs: Sequence[Item], run: Run) -> list[float]:
        lengths = self._reader.lengths(pairs)
        long = sum(length > self._room for length in lengths)
        if long:
            run.note(
                f"{counted(long, 'pair')} of question and generation had to be truncated: "
                f"{self._name} reads at most {self._room} tokens"
            )
        named = getattr(self._model.config, "pad_token_id", None)
        if named is not None and named == self._model.tokenizer.eos_token_id:
            run.note(
                f"{self._name}: config.json uses the end token as padding, so the score is read "
                "at the token before the end token, as in transformers"
            )
        lengths = [min(length, self._room) for length in lengths]
        logits = self._model.logits(pairs, lengths, self._reader.batch, self._scope, run)
        values: list[float] = logits[:, 0].tolist()
        return values


def _reader(name: str, tokenizer: Any, room: int, form: str | None) -> PairReader | _TextReader:
    """Return the object that turns pairs into a model's input."""
    chat = bool(getattr(tokenizer, "chat_template", None))
    if form == CHAT and not chat:
        raise ShroomError(
            f'{name}: the tokenizer has no chat template; set template to "pair", or to your own '
            "text with {question} and {generation}"
        )
    if form == PAIR or (form is None and not chat):
        return PairReader(tokenizer, room)
    return _TextReader(name, tokenizer, room, None if form in (None, CHAT) else _parsed(form))


def _parsed(form: str) -> Template:
    return Template.parse(form, "template", _PLACES, _PLACES[:2])


class _TextReader:
    """Makes a model's input from question and generation as one text, cut at its end."""

    # By default the tokenizer's chat template is used.

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
            end = self._tokenizer.eos_token or ""
            text = self._template.fill(question=question, generation=generation, end=end)
        else:
            turns = [("user", question), ("assistant", generation)]
            way_out = 'set template to "pair", or to your own text'
            text = in_chat(self._tokenizer, self._name, turns, asks=False, way_out=way_out)
        # A chat template contains the start token.
        marks = self._template is not None
        ids: list[int] = self._tokenizer(text, add_special_tokens=marks, verbose=False)["input_ids"]
        return ids
