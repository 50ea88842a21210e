"""Running scorers over questions, one after another, each generation once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Callable

from shroom.annotate.base import Failure, Work, with_scores, without
from shroom.annotate.score_log import key_of
from shroom.inference.run_settings import RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shroom.annotate.base import Scorer
    from shroom.annotate.score_log import Log
    from shroom.datasets.dreamcatcher.records import Question
    from shroom.inference.run_settings import Run


@dataclass(frozen=True)
class Failed:
    """A generation that a scorer could not score.

    Attributes
    ----------
    question, generation : int
        Places, from 0.
    scorer, reason : str
        The name of the scorer, and the reason.
    """

    question: int
    generation: int
    scorer: str
    reason: str


@dataclass(frozen=True)
class ScoringResult:
    """The result of running scorers.

    Attributes
    ----------
    questions : list of Question
        The questions in order, with the fields of all scorers.
    made, known : dict of int
        The numbers of generations that each scorer has scored now, and before.
    failed : list of Failed
        The generations that could not be scored.
    """

    questions: list[Question]
    made: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)


def uses_precision(scorer: Scorer) -> bool:
    """Return whether scores depend on the precision of the run, as those of classifiers do."""
    return bool(getattr(scorer, "uses_precision", False))


def waiting(
    scorer: Scorer,
    questions: Sequence[Question],
    known: Mapping[str, Mapping[str, Any]],
    run: Run = RUN,
) -> list[Work]:
    """Return for each question the generations that a scorer has yet to score."""
    identity = _identity(scorer, run)
    return [
        Work(
            question,
            tuple(
                place
                for place in scorer.places(question)
                if key_of(identity, question, place) not in known
            ),
        )
        for question in questions
    ]


def score(
    questions: Sequence[Question],
    scorers: Sequence[Scorer],
    log: Log | None = None,
    run_of: Callable[[Scorer], Run] = lambda _: RUN,
) -> ScoringResult:
    """Return the questions with the fields of all scorers, which run in the order given.

    A generation that comes again, in a question with the same texts, is scored once.

    Parameters
    ----------
    questions : sequence of Question
        With their generations.
    scorers : sequence of Scorer
        Each sees what those before have added.
    log : Log, optional
        Open; what it knows is not done again, and what is made is added at once.
    run_of : callable
        How each scorer is run.
    """
    result = ScoringResult(list(questions))
    known = dict(log.known) if log else {}
    for scorer in scorers:
        run = run_of(scorer)
        identity = _identity(scorer, run)
        work = waiting(scorer, result.questions, known, run)
        result.known[scorer.name] = sum(
            len(scorer.places(each.question)) - len(each.wanted) for each in work
        )
        todo = list({_texts(each.question): each for each in work if each.wanted}.values())
        reasons: dict[str, str] = {}
        done = 0
        for place, generation, scores in scorer.score(todo, run):
            key = key_of(identity, todo[place].question, generation)
            if isinstance(scores, Failure):
                reasons[key] = scores.reason
                continue
            known[key] = scores
            done += 1
            if log:
                log.add(key, scores)
        result.made[scorer.name] = done
        for row, question in enumerate(result.questions):
            result.questions[row] = _with_known(
                question, row, scorer, identity, known, reasons, result
            )
    return result


def _identity(scorer: Scorer, run: Run) -> str:
    """Return all that the scores depend on besides the question."""
    if not uses_precision(scorer):
        return scorer.identity
    # Named always: without a precision, logs of older kits have scores of whatever was fastest.
    return f"{scorer.identity} {run.precision or 'float32'}"


def _texts(question: Question) -> tuple[Any, ...]:
    said = tuple((each.text, each.type) for each in question.generation)
    return question.question, question.answer, said


def _with_known(
    question: Question,
    row: int,
    scorer: Scorer,
    identity: str,
    known: Mapping[str, Mapping[str, Any]],
    reasons: Mapping[str, str],
    result: ScoringResult,
) -> Question:
    """Return a question with what a scorer has made; what it could not is noted as failed."""
    generations = list(question.generation)
    for place in scorer.places(question):
        key = key_of(identity, question, place)
        # What an earlier run has left of this scorer is not to be taken for what this one says.
        generations[place] = without(generations[place], scorer.fields)
        if key in known:
            generations[place] = with_scores(generations[place], known[key])
        else:
            reason = reasons.get(key, "the scorer gave nothing")
            result.failed.append(Failed(row, place, scorer.name, reason))
    return replace(question, generation=tuple(generations))
