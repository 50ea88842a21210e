"""The annotators' agreement and the human ceiling as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from shroom.core.problems import printable
from shroom.scoring.annotator_agreement import Agreement, Estimate, Figures, GoldAgreement
from shroom.scoring.display.text import align, confidence, interval, number

_LEGEND = """\
human accuracy and rho: one annotator, left out and held against the others (a tie counts 1/2)
against label: one annotator against the majority of all, their own vote included
label as p: rho of the gold's label used as p, the ceiling of a p that is 0 or 1
"""


def render(found: Agreement) -> str:
    """Return the figures as text: agreement, the human ceiling, and what is undefined."""
    how = found.intervals
    ci = confidence(how)
    agreement: list[tuple[str, ...] | None] = [
        ("", "n", "annotators", "alpha", ci, "kappa", "pairwise", "unanimous")
    ]
    ceiling: list[tuple[str, ...] | None] = [
        ("", "human accuracy", ci, "human rho", ci, "against label", "label as p", ci)
    ]
    for result in found.results:
        agreement.append(None)
        ceiling.append(None)
        for title, figures in _parts(result):
            agreement.append((title, *_agreement(figures)))
            ceiling.append((title, *_ceiling(figures)))
    lines = [*align(agreement), "", *align(ceiling), "", *_LEGEND.splitlines(), *_undefined(found)]
    lines += ["", *(result.signature for result in found.results)]
    if how.resamples:
        lines.append(f"intervals: {how.method}, {how.resamples} resamples, seed {how.seed}")
    return "\n".join(lines) + "\n"


def _parts(result: GoldAgreement) -> Iterator[tuple[str, Figures]]:
    yield printable(result.title), result.whole
    for task, figures in result.by_task.items():
        yield f"  task {printable(task)}", figures


def _agreement(figures: Figures) -> tuple[str, ...]:
    return (
        str(figures.n),
        str(figures.annotators),
        *_with_interval(figures.krippendorff_alpha),
        number(figures.fleiss_kappa.value),
        number(figures.pairwise_agreement.value),
        number(figures.unanimous.value),
    )


def _ceiling(figures: Figures) -> tuple[str, ...]:
    human = figures.human_ceiling
    return (
        *_with_interval(human.accuracy),
        *_with_interval(human.rho),
        number(human.label_accuracy.value),
        *_with_interval(figures.binary_p_ceiling),
    )


def _with_interval(estimate: Estimate) -> tuple[str, str]:
    return number(estimate.value), interval(estimate.ci)


def _undefined(found: Agreement) -> Iterator[str]:
    """Yield a line for each figure that is undefined, saying why."""
    for result in found.results:
        for title, figures in _parts(result):
            place = printable(result.title) + (title[1:] if title.startswith(" ") else "")
            for name, why in figures.to_dict()["undefined"].items():
                yield f"{place}: {name} is undefined: {why}"
