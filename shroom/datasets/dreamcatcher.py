"""Dreamcatcher: Chinese questions, ten generations each, and labels made from scores.

All labels are automatic: no person judged these generations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Optional, Union

from msgspec import Meta, Struct, field, structs

from shroom.core.datapoint import Datapoint, pair
from shroom.core.json_writing import json_lines
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.fields import Number, Rule, TextOrNone
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary, fields, of
from shroom.metrics.intervals import Intervals

NAME = "dreamcatcher"
TYPES = NORMAL, UNCERTAIN = "normal", "uncertainty"
CATEGORIES = ALL_RIGHT, PARTIAL_RIGHT, ALL_WRONG = "all-right", "partial-right", "all-wrong"

Score = Optional[Number]
#: A keyword and its number.
Keyword = Annotated[dict[str, Number], Meta(min_length=1, max_length=1)]


class Generation(Struct, frozen=True):
    """One generation for a question; scores missing from the file are ``None``."""

    text: str  # the output of the model
    # ``normal``, an answer; or ``uncertainty``, a refusal.
    type: Annotated[Optional[str], Rule(None, words=TYPES)]
    rm_score: Score = None  # A reward model's raw score
    # Similarity of question and generation to question and answer; only normal generations.
    sim2answer_score: Score = None
    # Mean similarity to the question's other normal generations.
    sim2gen_score: Score = None
    # The share of the answer's tokens that are among the generation's keywords.
    unigram_overlap_with_answer_score: Score = None
    # Keywords, each with -ln of its share among those of all generations and of the answer.
    onegram_probs: Annotated[
        Optional[tuple[Keyword, ...]],
        Rule(expected="a list of objects, each with a word and its number"),
    ] = None
    top_k_avg_probs_score: Score = None  # mean of the five smallest, scaled to [0, 1]
    # Of a probe on a model's state at the end of the question, so equal for all generations.
    probe_score: Score = None
    extra: dict[str, Any] = field(default_factory=dict)


class Question(Struct, frozen=True):
    """A row of ``test_generated`` or ``test_autolabeled``."""

    question: str
    answer: str
    type: TextOrNone
    generation: tuple[Generation, ...]  # five of each type in the source's files
    # This and the rank are only in ``test_autolabeled``.
    category: Annotated[Optional[str], Rule(words=CATEGORIES)] = None
    # From the best: a right generation if any, the best refusal, a wrong one if any.
    rank: Optional[tuple[Generation, ...]] = None
    extra: dict[str, Any] = field(default_factory=dict)


class Turn(Struct, frozen=True):
    """One turn of a query: the ``role``, which is ``human``, and the question."""

    role: str
    text: str
    extra: dict[str, Any] = field(default_factory=dict)


class Preference(Struct, frozen=True):
    """A row of ``test_autoranked``: rankings of two or more, for training by preference."""

    query: tuple[Turn, ...]  # one turn, the question; and the texts of the ranking, from the best
    preference: tuple[str, ...]
    task: Annotated[Optional[str], Rule(None, words=CATEGORIES)]
    extra: dict[str, Any] = field(default_factory=dict)  # everything else in the object

    @property
    def category(self) -> str | None:
        """The category of the question."""
        return self.task


Record = Union[Question, Preference]


FORM = Form[Any]({"query": Preference, "preference": Preference, "": Question})
read = partial(records.read, NAME, FORM)


def to_dict(record: Record | Generation | Turn) -> dict[str, Any]:
    """Return a record as the object in the file."""
    content: dict[str, Any] = {}
    for name, value in structs.asdict(record).items():
        if isinstance(value, tuple):
            content[name] = [
                to_dict(it) if isinstance(it, (Generation, Turn)) else it for it in value
            ]
        elif name != "extra" and value is not None:
            content[name] = value
    return {**content, **record.extra}


def write(records: Iterable[Record]) -> str:
    """Return records as JSON Lines, as in the source's labelled and ranked files."""
    return json_lines(map(to_dict, records))


def datapoints(records: Iterable[Record], *, refusals: bool = False) -> list[Datapoint]:
    """Return a datapoint for each normal generation of each question."""
    return [
        pair(f"{record.question}\n{record.answer}", generation.text, _p(record, generation))
        for record in records
        if isinstance(record, Question)
        for generation in record.generation
        if generation.type == NORMAL or refusals
    ]


def _p(record: Question, generation: Generation) -> float | None:
    """Return 0 for a right generation and 1 for a wrong one; ``None`` if it is not labelled."""
    rank = record.rank or ()
    types, texts = [ranked.type for ranked in rank], [ranked.text for ranked in rank]
    if generation.type != NORMAL:
        return None
    if record.category in (ALL_RIGHT, ALL_WRONG):
        return float(record.category == ALL_WRONG)
    if record.category != PARTIAL_RIGHT or UNCERTAIN not in types or generation.text not in texts:
        return None
    return float(texts.index(generation.text) > types.index(UNCERTAIN))


def _in_category(records: Sequence[Record], _: Intervals) -> Row:
    p = [point.p for point in datapoints(records)]
    questions = sum(isinstance(record, Question) for record in records)
    counts = {"questions": questions, "preferences": len(records) - questions}
    return {**counts, "p_0": p.count(0.0), "p_1": p.count(1.0), "no_p": p.count(None)}


DATA_SET = DataSet(
    NAME,
    licence="none stated",
    about="200 Chinese questions, each with 10 automatically labelled and ranked generations",
    source=(
        "Y. Liang, Z. Song, H. Wang and J. Zhang (2024), "
        '"Learning to Trust Your Feelings: Leveraging Self-awareness in LLMs for Hallucination '
        'Mitigation", arXiv:2401.15449'
    ),
    read=read,
    summary=Summary(
        labels={
            **fields("category", kind=Question),
            **fields("task", kind=Preference),
            "type of generation": of(Question, lambda record: [g.type for g in record.generation]),
        },
        texts={
            **fields("question", "answer", kind=Question),
            "generation": of(Question, lambda record: [g.text for g in record.generation]),
            "preference": of(Preference, lambda record: record.preference),
        },
        tables={
            "category": Groups(
                "questions and rankings by category, with the p of each question's normal "
                "generations",
                _in_category,
                {"category": attrgetter("category")},
                by_file=True,
            ),
        },
        notes={"all labels are automatic: no person judged these generations": lambda _: True},
    ),
    views={
        "labels": View(
            "generations compared with question and answer; p comes from automatic labels",
            lambda record: datapoints([record]),
        )
    },
)
