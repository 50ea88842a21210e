"""A datapoint of SHROOM, and which of its texts a hypothesis is compared with.

The words are those of the task: Mickus et al. (2024), "SemEval-2024 Task 6: SHROOM, a Shared-task
on Hallucinations and Related Observable Overgeneration Mistakes", sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from shroom.core.problems import ShroomError, show


class Label(str, Enum):
    """The verdict of an annotator, or a detector, on a hypothesis."""

    HALLUCINATION = "Hallucination"
    NOT_HALLUCINATION = "Not Hallucination"


class Task(str, Enum):
    """The task whose output the hypothesis is."""

    DM = "DM"  #: definition modelling
    MT = "MT"  #: machine translation
    PG = "PG"  #: paraphrase generation
    TS = "TS"  #: text simplification


class Reference(str, Enum):
    """Which side of a datapoint carries the meaning."""

    SRC = "src"
    TGT = "tgt"
    EITHER = "either"


class Rule(str, Enum):
    """The rule by which a detector chooses what it compares the hypothesis with."""

    GIVEN = "given"  #: by the datapoint's ``ref``, else by its task
    SRC = "src"  #: the source, whatever its ``ref``
    TGT = "tgt"  #: the target, likewise
    BOTH = "both"  #: both of them, whichever supports the hypothesis better


@dataclass(frozen=True)
class Datapoint:
    """One model production, what it may be compared with, and people's verdicts.

    Attributes
    ----------
    hyp : str
        The model's output.
    src, tgt : str
        The model's input and the intended output; either may be empty.
    task : Task
        The task that the model was given.
    ref : Reference or None
        The side that carries the meaning, where the data say so.
    model : str
        The model's name; empty where it is not given (the model-agnostic track).
    id : int or None
        The datapoint's number, in splits that have one.
    labels : tuple of Label
        The annotators' verdicts; empty in unlabelled splits.
    label : Label or None
        Their majority.
    p : float or None
        The share of them that said ``Hallucination``, in [0, 1].
    """

    hyp: str
    src: str
    tgt: str
    task: Task
    ref: Reference | None = None
    model: str = ""
    id: int | None = None
    labels: tuple[Label, ...] = ()
    label: Label | None = None
    p: float | None = None

    @property
    def name(self) -> str:
        """How a message names the datapoint: by its id where it has one, else by its hypothesis."""
        return f"id {self.id}" if self.id is not None else f"hyp {show(self.hyp)}"


def pair(premise: str, hypothesis: str, p: float | None = None, model: str = "") -> Datapoint:
    """Return a premise and a hypothesis that are of none of SHROOM's tasks as a datapoint.

    Its task is TS, which has the common weights of all tasks and whose source carries the meaning.

    Parameters
    ----------
    premise, hypothesis : str
        What may support it, and what is judged.
    p : float or None
        How far it is a hallucination, in [0, 1]; the label is ``Hallucination`` where p > 0.5.
    model : str
        What wrote the hypothesis.

    Examples
    --------
    >>> point = pair("Two cats.", "A dog.", p=1.0)
    >>> point.src, point.label.value
    ('Two cats.', 'Hallucination')
    """
    label = None
    if p is not None:
        label = Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION
    return Datapoint(
        hyp=hypothesis,
        src=premise,
        tgt="",
        task=Task.TS,
        ref=Reference.SRC,
        model=model,
        label=label,
        p=p,
    )


def references(
    datapoint: Datapoint, *, multilingual: bool = False, rule: Rule = Rule.GIVEN
) -> tuple[Reference, ...]:
    """Return the sides that the hypothesis is compared with, the first choice first.

    With two sides, the hypothesis is faithful where *either* supports it. A chosen side that is
    empty falls back to the other.

    Parameters
    ----------
    datapoint : Datapoint
        What to choose for.
    multilingual : bool
        Whether the detector reads the source language of a translation.
    rule : Rule
        What to go by; anything but ``GIVEN`` is for measuring the effect of the rule.

    Returns
    -------
    tuple of Reference
        One or both of ``SRC`` and ``TGT``.

    Raises
    ------
    ShroomError
        Where both sides are empty.

    Examples
    --------
    >>> point = Datapoint(hyp="A cat.", src="Eine Katze.", tgt="One cat.", task=Task.MT)
    >>> [side.value for side in references(point)]
    ['tgt']
    >>> [side.value for side in references(point, multilingual=True)]
    ['src', 'tgt']
    """
    present = [side for side in (Reference.SRC, Reference.TGT) if _text(datapoint, side).strip()]
    if not present:
        raise ShroomError(
            f"datapoint {datapoint.name}: src and tgt are both empty, so there is nothing to "
            "compare the hypothesis with; give one of them or leave the datapoint out"
        )
    chosen = _BY_RULE.get(rule) or _chosen(datapoint, multilingual=multilingual)
    return tuple(side for side in chosen if side in present) or tuple(present)


def premises(
    datapoint: Datapoint, *, multilingual: bool = False, rule: Rule = Rule.GIVEN
) -> tuple[str, ...]:
    """Return the texts of :func:`references`: what the hypothesis is compared with.

    Examples
    --------
    >>> premises(Datapoint(hyp="A cat.", src="What is a cat ?", tgt="A pet.", task=Task.DM))
    ('A pet.',)
    """
    sides = references(datapoint, multilingual=multilingual, rule=rule)
    return tuple(_text(datapoint, side) for side in sides)


_BOTH = (Reference.SRC, Reference.TGT)
_BY_RULE = {Rule.SRC: (Reference.SRC,), Rule.TGT: (Reference.TGT,), Rule.BOTH: _BOTH}


def _chosen(datapoint: Datapoint, *, multilingual: bool) -> tuple[Reference, ...]:
    """Return the sides by the rule alone, whether they are empty or not."""
    ref, task = datapoint.ref, datapoint.task
    if ref in _BOTH:
        return (ref,)
    if task is Task.MT:
        return _BOTH if multilingual else (Reference.TGT,)
    if ref is Reference.EITHER or task is Task.PG:
        return _BOTH
    # The source of DM holds the word in context and not its meaning; the target of TS drops
    # content on purpose.
    return (Reference.TGT,) if task is Task.DM else (Reference.SRC,)


def _text(datapoint: Datapoint, side: Reference) -> str:
    return datapoint.src if side is Reference.SRC else datapoint.tgt
