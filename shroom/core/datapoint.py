"""A datapoint of SHROOM, and the choice of texts that its hypothesis is compared with."""

# The words are those of Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, sections 2 and 3.

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from shroom.core.problems import ShroomError, show


class Label(str, Enum):
    """The verdict of an annotator, or a detector, on a hypothesis."""

    HALLUCINATION = "Hallucination"
    NOT_HALLUCINATION = "Not Hallucination"


class Reference(str, Enum):
    """The side of a datapoint that carries the meaning; ``both`` means ``either``."""

    SRC = "src"
    TGT = "tgt"
    EITHER = "either"

    @classmethod
    def _missing_(cls, value: object) -> Reference | None:
        return cls.EITHER if value == "both" else None


@dataclass(frozen=True)
class Task:
    """The task that the model was given, such as translation.

    SHROOM's tasks are ``Task.DM`` and so on, or ``TASKS["DM"]``. ``Task("DM")`` creates another
    task of that name, which detectors treat like the task ``like``.

    Attributes
    ----------
    name : str
        Name in the data; may be empty.
    reference : Reference
        The side that carries the meaning, unless the datapoint specifies one.
    is_translation : bool
        Whether ``src`` is in another language, so that only multilingual detectors use it.
    like : str
        A task of SHROOM 2024. Detectors fitted on SHROOM 2024 treat this task in the same way. The
        default is TS, for which they have no separate weights or threshold.
    """

    name: str
    reference: Reference = Reference.EITHER
    is_translation: bool = False
    like: str = "TS"

    DM: ClassVar[Task]  #: definition modelling
    MT: ClassVar[Task]  #: machine translation
    PG: ClassVar[Task]  #: paraphrase generation
    TS: ClassVar[Task]  #: text simplification


# The source of DM holds the word in context and not its meaning; the target of TS drops content
# on purpose.
Task.DM = Task("DM", Reference.TGT, like="DM")
Task.MT = Task("MT", Reference.EITHER, is_translation=True, like="MT")
Task.PG = Task("PG", Reference.EITHER, like="PG")
Task.TS = Task("TS", Reference.SRC)
#: The tasks of SHROOM 2024 by name.
TASKS = {task.name: task for task in (Task.DM, Task.MT, Task.PG, Task.TS)}


class Rule(str, Enum):
    """The rule by which a detector chooses the texts to compare the hypothesis with."""

    GIVEN = "given"  #: by the datapoint's ``ref`` or, without one, its task
    SRC = "src"  #: always the source
    TGT = "tgt"  #: always the target
    BOTH = "both"  #: both, whichever supports the hypothesis better


@dataclass(frozen=True)
class Datapoint:
    """One generated text, with its source, its reference and the annotators' labels.

    Attributes
    ----------
    hyp : str
        The model's output.
    src, tgt : str
        The model's input and the intended output; either may be empty.
    task : Task
        The task that the model was given.
    ref : Reference or None
        The side that carries the meaning, if the data specify it.
    model : str
        The model's name; empty if it is not given (the model-agnostic track).
    id : int, str or None
        The datapoint's id, in splits with ids.
    labels : tuple of Label
        The annotators' verdicts; empty in unlabelled splits.
    label : Label or None
        The annotators' majority label.
    p : float or None
        The share of annotators who said ``Hallucination``, in [0, 1]; if they marked spans, the
        share of the characters of ``hyp`` that more than half of the annotators marked.
    spans : tuple of (int, int, float) or None
        Start, end and share of annotators of each marked span; ``None`` if the data have no
        spans.
    other_tgts : tuple of str
        Additional intended outputs. The hypothesis is compared with each of them, and only the
        output with the best support for it is used.
    """

    hyp: str
    src: str
    tgt: str
    task: Task
    ref: Reference | None = None
    model: str = ""
    id: int | str | None = None
    labels: tuple[Label, ...] = ()
    label: Label | None = None
    p: float | None = None
    spans: tuple[tuple[int, int, float], ...] | None = None
    other_tgts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the datapoint in messages: its id or, without one, its hypothesis."""
        return f"id {self.id}" if self.id is not None else f"hyp {show(self.hyp)}"

    @property
    def tgts(self) -> tuple[str, ...]:
        """All intended outputs."""
        return (self.tgt, *self.other_tgts)


def pair(premise: str, hypothesis: str, p: float | None = None, model: str = "") -> Datapoint:
    """Return a datapoint with a premise and a hypothesis from outside SHROOM.

    Its task is TS. Detectors use the weights common to all tasks, and compare the hypothesis with
    ``src``.

    Parameters
    ----------
    premise : str
        The text that may support the hypothesis.
    hypothesis : str
        The text to judge.
    p : float or None
        Degree of hallucination, in [0, 1]; the label is ``Hallucination`` if p > 0.5.
    model : str
        Name of the model that generated the hypothesis.

    Examples
    --------
    >>> point = pair("Two cats.", "A dog.", p=1.0)
    >>> point.src, point.label.value
    ('Two cats.', 'Hallucination')
    """
    label = None
    if p is not None and not 0 <= p <= 1:
        raise ShroomError(f"the p of a datapoint must be a number from 0 to 1, got {p}")
    if p is not None:
        label = Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION
    return Datapoint(hypothesis, premise, "", Task.TS, Reference.SRC, model, label=label, p=p)


def references(
    datapoint: Datapoint, *, multilingual: bool = False, rule: Rule = Rule.GIVEN
) -> tuple[Reference, ...]:
    """Return the sides to compare the hypothesis with, the preferred side first."""
    present = [side for side in _BOTH if getattr(datapoint, side.value).strip()]
    if not present:
        raise ShroomError(
            f"datapoint {datapoint.name}: src and tgt are both empty, so there is nothing to "
            "compare the hypothesis with; add one of them or remove the datapoint"
        )
    chosen = _BY_RULE.get(rule) or _chosen(datapoint, multilingual=multilingual)
    return tuple(side for side in chosen if side in present) or tuple(present)


def premises(
    datapoint: Datapoint, *, multilingual: bool = False, rule: Rule = Rule.GIVEN
) -> tuple[str, ...]:
    """Return the texts of :func:`references`; in DM, without the marks around the defined word."""
    sides = references(datapoint, multilingual=multilingual, rule=rule)
    of_sides = {Reference.SRC: (datapoint.src,), Reference.TGT: datapoint.tgts}
    texts = tuple(text for side in sides for text in of_sides[side])
    is_definition = datapoint.task.like == "DM"
    return tuple(_MARKS.sub("", text) for text in texts) if is_definition else texts


def by_reference(datapoints: Sequence[Datapoint]) -> tuple[Sequence[Datapoint], list[int]]:
    """Return one datapoint per ``tgt``, and the first index for each original datapoint."""
    if not any(point.other_tgts for point in datapoints):
        return datapoints, list(range(len(datapoints)))
    single: list[Datapoint] = []
    starts = []
    for point in datapoints:
        starts.append(len(single))
        single += [replace(point, tgt=text, other_tgts=()) for text in point.tgts]
    return single, starts


_MARKS = re.compile(r"<define>\s*|\s*</define>")
_BOTH = (Reference.SRC, Reference.TGT)
_BY_RULE = {Rule.SRC: (Reference.SRC,), Rule.TGT: (Reference.TGT,), Rule.BOTH: _BOTH}


def _chosen(datapoint: Datapoint, *, multilingual: bool) -> tuple[Reference, ...]:
    """Return the sides by the rule, including empty sides."""
    ref = datapoint.ref or datapoint.task.reference
    if ref in _BOTH:
        return (ref,)
    if datapoint.task.is_translation and not multilingual:
        return (Reference.TGT,)
    return _BOTH
