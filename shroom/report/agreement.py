"""Agreement as tables: among the annotators, and of automatic scores with people."""

from __future__ import annotations

from shroom.annotate.human_agreement import Agreements
from shroom.core.problems import printable
from shroom.scoring.annotator_agreement import Agreement, Estimate, Figures
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import confidence, doubts, interval, methods, number

_LEGEND = """\
human accuracy and rho: one annotator, left out and compared with the others (a tie counts 1/2)
against label: one annotator against the majority of all, their own vote included
label as p: rho of the gold's label used as p, the ceiling of a p that is 0 or 1
"""
_METRICS = ("rho", "auroc", "accuracy", "cohen_kappa")


def of_annotators(result: Agreement) -> str:
    """Return the annotators' agreement, the human ceiling, and what is undefined."""
    settings = result.intervals
    ci = confidence(settings)
    agreement: list[tuple[str, ...] | None] = [
        ("", "n", "annotators", "alpha", ci, "kappa", "pairwise", "unanimous")
    ]
    ceiling: list[tuple[str, ...] | None] = [
        ("", "human accuracy", ci, "human rho", ci, "against label", "label as p", ci)
    ]
    undefined, shown = [], []
    for gold in result.results:
        agreement.append(None)
        ceiling.append(None)
        title = printable(gold.title)
        tasks = [(f"task {printable(task)}", figures) for task, figures in gold.by_task.items()]
        for name, figures in (("", gold.whole), *tasks):
            row = f"  {name}" if name else title
            agreement.append((row, *_agreement(figures)))
            ceiling.append((row, *_ceiling(figures)))
            place = f"{title} {name}".rstrip()
            shown += [(f"{place}, {it}", one.ci) for it, one in figures.estimates.items()]
            undefined += [
                f"{place}: {figure} is undefined: {why}"
                for figure, why in figures.to_dict()["undefined"].items()
            ]
    lines = [*align(agreement), "", *align(ceiling), "", *_LEGEND.splitlines(), *undefined]
    lines += ["", *(gold.signature for gold in result.results)]
    if settings.resamples:
        drawn = f"{settings.resamples} resamples, seed {settings.seed}"
        lines.append(f"intervals: {methods(settings)}, {drawn}")
        lines += doubts(shown)
    return "\n".join(lines) + "\n"


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


def with_people(result: Agreements) -> str:
    """Return how far each automatic score agrees with people, and how to read the table."""
    heading = ("", "n", "more is", *(cell for name in _METRICS for cell in (name, "")))
    rows = []
    for row in result.rows:
        cells = [printable(row.name), str(row.n), row.direction]
        for name in _METRICS:
            cells += [number(row.scores.get(name)), interval(row.intervals.get(name))]
        rows.append(tuple(cells))
    lines = [*align([heading, None, *rows]), ""]
    majority = max(result.wrong, result.judged - result.wrong) / max(result.judged, 1)
    lines.append(
        f"{result.wrong} of {result.judged} judged generations are wrong, so the majority label "
        f"has accuracy {majority:.3f}"
    )
    lines.append("accuracy and kappa are at thresholds chosen on other questions")
    if result.how.resamples:
        percent = f"{100 * result.how.confidence:.12g}%"
        drawn = f"{result.how.resamples} resamples of questions, seed {result.how.seed}"
        lines.append(f"{percent} intervals: {methods(result.how)}, {drawn}")
        lines += doubts(
            (f"{row.name}, {it}", ci) for row in result.rows for it, ci in row.intervals.items()
        )
    if result.unknown:
        lines.append(f"{result.unknown} judgements are of no generation")
    return "\n".join(lines) + "\n"
