"""Dreamcatcher: Chinese questions, ten generations each, and labels made from scores.

All labels are automatic: nobody judged these generations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Optional, Union

from msgspec import Struct, convert, field, structs

from shroom.core.datapoint import Datapoint, pair
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.groups import Groups, Row, frequent
from shroom.datasets.records import Form, Number, Odd, Report, Rule, TextOrNone
from shroom.datasets.summary import Summary, of
from shroom.metrics.intervals import Intervals

NAME = "dreamcatcher"
TYPES = NORMAL, UNCERTAIN = "normal", "uncertainty"
CATEGORIES = ALL_RIGHT, PARTIAL_RIGHT, ALL_WRONG = "all-right", "partial-right", "all-wrong"

Score = Annotated[Optional[Number], Rule(null=False)]


def _pairs(value: Any, *_: Any) -> tuple[tuple[str, float], ...]:
    """Return the keywords, which are objects of one number each in the file."""
    words = convert(value, list[dict[str, Number]])
    if any(len(word) != 1 for word in words):
        raise Odd
    return tuple(item for word in words for item in word.items())


class Generation(Struct, frozen=True):
    """One generation for a question; a score that the file does not have is ``None``.

    Attributes
    ----------
    text : str
        What the model said.
    type : str or None
        ``normal``, an answer; or ``uncertainty``, a refusal.
    rm_score : float or None
        A reward model's raw score.
    sim2answer_score : float or None
        How similar question and generation are to question and answer, by embeddings, in [0, 1].
        Of normal generations only, like the next four fields.
    sim2gen_score : float or None
        How similar they are, on average, to the question's other normal generations.
    unigram_overlap_with_answer_score : float or None
        The share of the answer's tokens that are among the generation's keywords; in the source's
        files scaled to [0, 1].
    onegram_probs : tuple of (str, float), or None
        The generation's keywords, each with -ln of its share among the keywords of all
        generations, refusals too, and of the answer.
    top_k_avg_probs_score : float or None
        The mean of the five least of them, scaled to [0, 1].
    probe_score : float or None
        A linear probe on the hidden state of a language model at the end of the question, so the
        same for all generations of a question, in [0, 1].
    extra : dict
        Everything else in the object, and what has another type than it should.
    """

    text: str
    # ``normal``, an answer; or ``uncertainty``, a refusal.
    type: Annotated[Optional[str], Rule(None, null=False, words=TYPES)]
    rm_score: Score = None
    # How similar it is to the answer, both with the question; of normal generations only.
    sim2answer_score: Score = None
    # The same with the question's other normal generations, on average.
    sim2gen_score: Score = None
    # The share of the answer's tokens that are among the generation's keywords.
    unigram_overlap_with_answer_score: Score = None
    # Keywords, each with -ln of its share among those of all generations and of the answer.
    onegram_probs: Annotated[
        Optional[tuple[tuple[str, float], ...]],
        Rule(parse=_pairs, expected="a list of objects of a word and its number (read as none)"),
    ] = None
    top_k_avg_probs_score: Score = None
    # Of a probe on a model's state at the end of the question: one for all its generations.
    probe_score: Score = None
    extra: dict[str, Any] = field(default_factory=dict)


class Question(Struct, frozen=True):
    """A row of ``test_generated`` or ``test_autolabeled``.

    Attributes
    ----------
    question, answer, type : str
        In Chinese; the answer is right, and the type is the field of knowledge, in free words.
    generation : tuple of Generation
        Five of each type in the source's files.
    category : str or None
        ``all-right``, ``partial-right`` or ``all-wrong``; only in ``test_autolabeled``.
    rank : tuple of Generation or None
        From the best: a right generation if any, the best refusal, a wrong one if any. They are
        among ``generation``. Only in ``test_autolabeled``.
    extra : dict
        Everything else in the object, and what has another type than it should.
    """

    question: str
    answer: str
    type: TextOrNone
    generation: tuple[Generation, ...]
    # This and the rank are only in ``test_autolabeled``.
    category: Annotated[Optional[str], Rule(null=False, words=CATEGORIES)] = None
    # From the best: a right generation if any, the best refusal, a wrong one if any.
    rank: Annotated[Optional[tuple[Generation, ...]], Rule(null=False)] = None
    extra: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def prepare(item: dict[str, Any], report: Report) -> dict[str, Any]:
        """Return a row whose rank has the objects of its generations, each read once."""
        generations, rank = item.get("generation"), item.get("rank")
        if not isinstance(generations, list) or not isinstance(rank, list):
            return item
        same = {_sorted(generation): generation for generation in reversed(generations)}
        for number, ranked in enumerate(rank):
            if isinstance(ranked, dict) and _sorted(ranked) not in same:
                report.add("rank-unknown", f"rank[{number}]", "one of the generations", "another")
        return {**item, "rank": [same.get(_sorted(ranked), ranked) for ranked in rank]}


class Turn(Struct, frozen=True):
    """One turn of a query: the ``role``, which is ``human``, and the question."""

    role: str
    text: str
    extra: dict[str, Any] = field(default_factory=dict)


class Preference(Struct, frozen=True):
    """A row of ``test_autoranked``: rankings of two or more, for training by preference.

    Attributes
    ----------
    query, preference : tuple
        One turn, the question; and the texts of the ranking, from the best.
    task : str or None
        The question's category.
    extra : dict
        Everything else in the object.
    """

    query: tuple[Turn, ...]
    preference: tuple[str, ...]
    task: Annotated[Optional[str], Rule(None, null=False, words=CATEGORIES)]
    extra: dict[str, Any] = field(default_factory=dict)


Record = Union[Question, Preference]


def _sorted(item: Any) -> str:
    # By their texts, as a NaN is not equal to itself.
    return json.dumps(item, sort_keys=True)


FORM = Form[Any]({"query": Preference, "preference": Preference, "": Question}, across=False)
read = partial(records.read, NAME, FORM)


def to_dict(record: Record | Generation | Turn) -> dict[str, Any]:
    """Return a record as the object in the file.

    Examples
    --------
    >>> to_dict(Generation("是", "normal", rm_score=0.5, extra={"gpt_judgement": "right"}))
    {'text': '是', 'type': 'normal', 'rm_score': 0.5, 'gpt_judgement': 'right'}
    """
    content: dict[str, Any] = {}
    for name, value in structs.asdict(record).items():
        if name == "onegram_probs" and value is not None:
            content[name] = [{token: number} for token, number in value]
        elif isinstance(value, tuple):
            content[name] = [item if isinstance(item, str) else to_dict(item) for item in value]
        elif name != "extra" and value is not None:
            content[name] = value
    return {**content, **record.extra}


def lines(records: Iterable[Record]) -> Iterator[str]:
    r"""Yield each record as a line, without its end, exactly as in the source's file.

    ``test_generated`` has no blanks and escapes slashes; the other two have blanks and do not.

    Examples
    --------
    >>> print(*lines([Question("1/2?", "1/2", "数学", ())]))
    {"question":"1\/2?","answer":"1\/2","type":"数学","generation":[]}
    """
    for record in records:
        line = _line(record, ensure_ascii=False)
        # Half of a surrogate pair, which only an escape can bring in, cannot be written as UTF-8.
        halves = any("\ud800" <= character <= "\udfff" for character in line)
        yield _line(record, ensure_ascii=True) if halves else line


def _line(record: Record, *, ensure_ascii: bool) -> str:
    if isinstance(record, Question) and record.category is None and record.rank is None:
        row = to_dict(record)
        dense = json.dumps(row, ensure_ascii=ensure_ascii, separators=(",", ":"))
        return dense.replace("/", "\\/")
    return json.dumps(to_dict(record), ensure_ascii=ensure_ascii)


def write(records: Iterable[Record]) -> str:
    """Return records in the form of the source's files; see :func:`lines`."""
    return "".join(line + "\n" for line in lines(records))


def datapoints(records: Iterable[Record], *, refusals: bool = False) -> list[Datapoint]:
    """Return a datapoint for each normal generation of each question.

    The premise is the question and its answer. p is from the automatic labels: 0 in a question
    that is all-right, 1 in one that is all-wrong. In one that is partial-right only the ranked
    generations have a p: 0 above the refusal, 1 below it. Elsewhere p and label are ``None``.

    With ``refusals`` the ``uncertainty`` generations are returned as well. They claim nothing, so
    their p is ``None`` throughout. Preferences have no answer, so there are no datapoints of them.
    """
    return [
        pair(f"{record.question}\n{record.answer}", generation.text, _p(record, generation))
        for record in records
        if isinstance(record, Question)
        for generation in record.generation
        if generation.type == NORMAL or refusals
    ]


def _p(record: Question, generation: Generation) -> float | None:
    if generation.type != NORMAL:
        return None
    if record.category in (ALL_RIGHT, ALL_WRONG):
        return float(record.category == ALL_WRONG)
    types = [ranked.type for ranked in record.rank or ()]
    if record.category != PARTIAL_RIGHT or UNCERTAIN not in types:
        return None
    refusal = types.index(UNCERTAIN)
    places = [place for place, r in enumerate(record.rank or ()) if r.text == generation.text]
    return float(places[0] > refusal) if places else None


def _labelled(record: Record) -> Iterator[Datapoint | None]:
    for point in datapoints([record]):
        yield point if point.p is not None else None


def _category(record: Record) -> str | None:
    return record.category if isinstance(record, Question) else record.task


def _in_file(records: Sequence[Record], _: Intervals) -> Row:
    questions = [record for record in records if isinstance(record, Question)]
    kinds = [generation.type for question in questions for generation in question.generation]
    return {
        "questions": len(questions),
        "preferences": len(records) - len(questions),
        "generations": len(kinds),
        "normal": kinds.count(NORMAL),
        "uncertain": kinds.count(UNCERTAIN),
        "with_category": sum(question.category is not None for question in questions),
        "ranked": sum(question.rank is not None for question in questions),
        "ranked_two_or_more": sum(len(question.rank or ()) > 1 for question in questions),
    }


def _in_category(records: Sequence[Record], _: Intervals) -> Row:
    p = [point.p for point in datapoints(records)]
    questions = sum(isinstance(record, Question) for record in records)
    counts = {"questions": questions, "preferences": len(records) - questions}
    return {**counts, "p_0": p.count(0.0), "p_1": p.count(1.0), "no_p": p.count(None)}


DATA_SET = DataSet(
    NAME,
    licence="none stated",
    about="10 generations for each of 200 Chinese questions, labelled and ranked automatically",
    source=(
        "Y. Liang, Z. Song, H. Wang and J. Zhang (2024), "
        '"Learning to Trust Your Feelings: Leveraging Self-awareness in LLMs for Hallucination '
        'Mitigation", arXiv:2401.15449'
    ),
    read=read,
    summary=Summary(
        labels={
            "category": of(Question, lambda record: [record.category]),
            "task": of(Preference, lambda record: [record.task]),
            "type of generation": of(Question, lambda record: [g.type for g in record.generation]),
        },
        texts={
            "question": of(Question, lambda record: [record.question]),
            "answer": of(Question, lambda record: [record.answer]),
            "generation": of(Question, lambda record: [g.text for g in record.generation]),
            "preference": of(Preference, lambda record: record.preference),
        },
        tables={
            "file": Groups(
                "questions with generations, and rankings of two or more for training",
                _in_file,
                by_file=True,
            ),
            "category": Groups(
                "questions and rankings by category, and the p of their normal generations",
                _in_category,
                {"category": _category},
                by_file=True,
                order=frequent,
            ),
        },
        notes={"all labels are automatic: nobody judged these generations": lambda _: True},
    ),
    views={
        "labels": View(
            "generations against question and answer; p is from the automatic labels", _labelled
        )
    },
)
