"""Running scorers over questions, one after another, each generation once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar

from msgspec.structs import replace

from shroom.annotate.base import Failure, Scorer, Work, value_of, with_scores, without
from shroom.core.json_writing import json_digest
from shroom.core.result_log import ResultLog
from shroom.datasets.dreamcatcher import Question
from shroom.inference.run_settings import RUN, Run


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
    computed, reused : dict of int
        The numbers of generations that each scorer has scored now, and before.
    failed : list of Failed
        The generations that could not be scored.
    """

    questions: list[Question]
    computed: dict[str, int] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)


class Log(ResultLog[str, "Mapping[str, Any]"]):
    """The fields that a scorer adds to a generation, by key, so that a run can be resumed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "log"
    >>> with Log(path).open() as log:
    ...     log.add("a key", {"rm_score": 0.5})
    >>> Log(path, resume=True).read().known
    {'a key': {'rm_score': 0.5}}
    """

    kind: ClassVar[str] = "scores"

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Store the fields of a generation."""
        self.write([key, fields])
        self.known[key] = fields

    @staticmethod
    def parse(record: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the key and the fields of a generation."""
        key, fields = record
        if not isinstance(fields, Mapping):
            raise TypeError("expected fields")
        return [(str(key), fields)]


def key_of(identity: str, question: Question, place: int) -> str:
    """Return the key of a generation for a scorer: what its scores depend on, and no more.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> one, two = (Question("Q?", a, None, (Generation("A", "normal"),)) for a in "AB")
    >>> key_of("x", one, 0) == key_of("x", one, 0), key_of("x", one, 0) == key_of("x", two, 0)
    (True, False)
    """
    return json_digest([identity, *_texts(question), place])[:32]


def waiting(
    scorer: Scorer,
    questions: Sequence[Question],
    scored: Mapping[str, Mapping[str, Any]],
    run: Run = RUN,
) -> list[Work]:
    """Return for each question the generations that a scorer has yet to score."""
    identity = _identity(scorer, run)
    return [
        Work(
            question,
            tuple(
                g for g in scorer.places(question) if key_of(identity, question, g) not in scored
            ),
        )
        for question in questions
    ]


def score(
    questions: Sequence[Question],
    scorers: Sequence[Scorer],
    log: Log | None = None,
    run: Run = RUN,
    progress: Callable[[str], AbstractContextManager[Callable[..., None]]] = (
        lambda _name: nullcontext(lambda *_: None)
    ),
) -> ScoringResult:
    """Return the questions with the fields of all scorers, which run in the order given.

    A generation that comes again, in a question with the same texts, is scored once.

    A scorer sees what those before have added. The scores of the log are not computed again, and
    new ones are added at once. ``progress`` gives a context for a scorer's name.
    """
    result = ScoringResult(list(questions))
    stored = dict(log.known) if log else {}
    for scorer in scorers:
        identity = _identity(scorer, run)
        work = waiting(scorer, result.questions, stored, run)
        result.reused[scorer.name] = sum(
            len(scorer.places(item.question)) - len(item.pending) for item in work
        )
        distinct = {key_of(identity, item.question, 0): item for item in work if item.pending}
        todo = list(distinct.values())
        total = sum(len(item.pending) for item in todo)
        computed, reasons = 0, dict[str, str]()
        if total:
            with progress(scorer.name) as report:
                for done, (place, g, scores) in enumerate(scorer.score(todo, run), start=1):
                    report(done, total)
                    key = key_of(identity, todo[place].question, g)
                    if isinstance(scores, Failure):
                        reasons[key] = scores.reason
                        continue
                    stored[key] = scores
                    computed += 1
                    if log:
                        log.add(key, scores)
        result.computed[scorer.name] = computed
        for row, question in enumerate(result.questions):
            result.questions[row] = _with_stored(
                question, row, scorer, identity, stored, reasons, result.failed
            )
    return result


def is_finished(
    questions: Sequence[Question], scorers: Sequence[Scorer], output: Sequence[Question]
) -> bool:
    """Return whether the questions of an output are those given, with all that scorers add."""
    return len(questions) == len(output) and all(
        _texts(question) == _texts(written)
        and all(
            any(value_of(written.generation[place], name) is not None for name in scorer.fields)
            for scorer in scorers
            for place in scorer.places(question)
        )
        for question, written in zip(questions, output)
    )


def _identity(scorer: Scorer, run: Run) -> str:
    """Return everything that the scores depend on besides the question."""
    if not scorer.uses_precision:
        return scorer.identity
    # Named always: without a precision, logs of older kits have scores of whatever was fastest.
    return f"{scorer.identity} {run.precision or 'float32'}"


def _texts(question: Question) -> list[Any]:
    generations = [[generation.text, generation.type] for generation in question.generation]
    return [question.question, question.answer, generations]


def _with_stored(
    question: Question,
    row: int,
    scorer: Scorer,
    identity: str,
    stored: Mapping[str, Mapping[str, Any]],
    reasons: Mapping[str, str],
    failed: list[Failed],
) -> Question:
    """Return a question with the scores of a scorer; what it could not score is added to failed."""
    generations = list(question.generation)
    for place in scorer.places(question):
        key = key_of(identity, question, place)
        # What an earlier run has left of this scorer is not to be taken for what this one says.
        generations[place] = without(generations[place], scorer.fields)
        if key in stored:
            generations[place] = with_scores(generations[place], stored[key])
        else:
            reason = reasons.get(key, "the scorer gave nothing")
            failed.append(Failed(row, place, scorer.name, reason))
    return replace(question, generation=tuple(generations))
