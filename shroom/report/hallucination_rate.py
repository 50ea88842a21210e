"""The estimated share of hallucinations as a table."""

from __future__ import annotations

from shroom.metrics.prediction_powered import Estimate
from shroom.prediction.hallucination_rate import GroupRate, HallucinationRate
from shroom.scoring.display.columns import align


def render(rate: HallucinationRate) -> str:
    """Return the table, and what its columns are."""
    interval = f"{100 * rate.confidence:g}% interval"
    labels = ("labelled", "labels alone", interval, "labels for half")
    head = ("", "outputs", "naive", "corrected", interval, *labels)
    lines = [
        *([f"warning: {rate.warning}", ""] if rate.warning else []),
        *align([head, None, *map(_row, rate.groups)]),
        "",
        f"naive: share of outputs that {rate.detector} labels Hallucination",
        "corrected: prediction-powered estimate; labels alone: share of the labels, by task",
        "labels for half: number of labels that would halve the interval of the estimate",
        "the labelled outputs have to be a random sample of the outputs, or of those of each task",
    ]
    if rate.out_of_fold:
        lines.append(
            f"{rate.detector} was fitted on {rate.out_of_fold} of the labelled outputs, for which "
            "it gives its out-of-fold p"
        )
    if rate.labelled_outputs:
        lines.append(
            f"{rate.labelled_outputs} of the outputs are among the labelled ones as well, and "
            "count twice; leave them out of one of the two"
        )
    return "\n".join(lines) + "\n"


def _row(group: GroupRate) -> tuple[str, ...]:
    needed = group.labels_for_half
    return (
        f"{group.by} {group.group}".strip() or "all",
        str(group.n_outputs),
        f"{group.naive:.3f}",
        *_cells(group.corrected),
        str(group.n_labelled),
        *_cells(group.labels_alone),
        "–" if needed is None else str(needed),
    )


def _cells(estimate: Estimate | None) -> tuple[str, str]:
    if estimate is None:
        return "–", ""
    low, high = estimate.interval
    return f"{estimate.mean:.3f}", f"[{low:.3f}, {high:.3f}]"
