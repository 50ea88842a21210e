"""The rows of the Dreamcatcher files, with all their fields."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Union

TYPES = NORMAL, UNCERTAIN = "normal", "uncertainty"
CATEGORIES = ALL_RIGHT, PARTIAL_RIGHT, ALL_WRONG = "all-right", "partial-right", "all-wrong"


@dataclass(frozen=True)
class Generation:
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
    type: str | None
    rm_score: float | None = None
    sim2answer_score: float | None = None
    sim2gen_score: float | None = None
    unigram_overlap_with_answer_score: float | None = None
    onegram_probs: tuple[tuple[str, float], ...] | None = None
    top_k_avg_probs_score: float | None = None
    probe_score: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A row of ``test_generated`` or ``test_autolabeled``.

    Attributes
    ----------
    question, answer : str
        In Chinese; the answer is right.
    type : str or None
        The field of knowledge, in free words.
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
    type: str | None
    generation: tuple[Generation, ...]
    category: str | None = None
    rank: tuple[Generation, ...] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """One turn of a query.

    Attributes
    ----------
    role : str
        ``human``.
    text : str
        The question.
    extra : dict
        Everything else in the object.
    """

    role: str
    text: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Preference:
    """A row of ``test_autoranked``: rankings of two or more, for training by preference.

    Attributes
    ----------
    query : tuple of Turn
        One turn, the question.
    preference : tuple of str
        The texts of the ranking, from the best.
    task : str or None
        The question's category.
    extra : dict
        Everything else in the object.
    """

    query: tuple[Turn, ...]
    preference: tuple[str, ...]
    task: str | None
    extra: dict[str, Any] = field(default_factory=dict)


#: A row of any of the files.
Record = Union[Question, Preference]


def to_dict(record: Record | Generation | Turn) -> dict[str, Any]:
    """Return a record as the object in the file.

    Examples
    --------
    >>> to_dict(Generation("是", "normal", rm_score=0.5, extra={"gpt_judgement": "right"}))
    {'text': '是', 'type': 'normal', 'rm_score': 0.5, 'gpt_judgement': 'right'}
    """
    content: dict[str, Any] = {}
    for attribute in fields(record):
        value = getattr(record, attribute.name)
        if attribute.name == "onegram_probs" and value is not None:
            content[attribute.name] = [{token: number} for token, number in value]
        elif isinstance(value, tuple):
            content[attribute.name] = [
                item if isinstance(item, str) else to_dict(item) for item in value
            ]
        elif attribute.name != "extra" and value is not None:
            content[attribute.name] = value
    return {**content, **record.extra}
