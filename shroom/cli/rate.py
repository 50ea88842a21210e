"""``shroom rate``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from shroom.cli import Command
from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    SETTINGS,
    format_option,
)
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import NO_CACHE, opened_cache, run_options
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import Problems
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import DEFAULT

if TYPE_CHECKING:
    from shroom.inference.run_settings import Run
    from shroom.metrics.prediction_powered import Estimate
    from shroom.prediction.hallucination_rate import GroupRate, HallucinationRate
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom rate val.model-agnostic.json --labelled val.model-aware.json --detector lexical",
        "shroom rate data/ --labelled gold/ --confidence 0.9",
        "shroom rate data/ --labelled gold/ --format json -o rate.json",
    ),
)
@click.argument("data", type=INPUT)
@click.option(
    "--labelled",
    type=INPUT,
    required=True,
    help="Labelled outputs of the same kind, which show the detector's errors.",
)
@click.option(
    "--detector",
    default=DEFAULT,
    show_default=True,
    help="Detector to use: a name that `shroom list detectors` lists, or a recipe's file.",
)
@click.option("--model", help="Model of the detector: a file, a folder or a name on the hub.")
@SETTINGS
@click.option(
    "--confidence",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@run_options()
@NO_CACHE
@format_option("text", "json", about="Print a table, or one JSON object.")
@edition_option("labelled")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
def command(
    *,
    data: str,
    labelled: str,
    detector: str,
    model: str | None,
    settings: dict[str, Any],
    confidence: float,
    run: Run,
    no_cache: bool,
    edition: Edition,
    form: str,
    output: str | None,
) -> None:
    """Estimate the share of hallucinations in DATA, which needs no labels.

    A detector labels DATA, and its errors on labelled outputs of the same kind correct the
    estimate.
    """
    from shroom.prediction.hallucination_rate import hallucination_rate
    from shroom.scoring.datapoint_files import read

    if output:
        refuse_overwriting([output], [data, labelled, model])
    recipe = Recipe.of(detector)
    chosen = recipe.make(**{**settings, **({"model": model} if model else {})})
    problems = Problems()
    outputs, sample = read(data, problems, edition), read(labelled, problems, edition)
    say(problems)
    with shown_progress("judging") as report:
        run = replace(
            run,
            precision=run.precision or recipe.precision,
            note=lambda text: say([f"note: {text}"]),
            report=report,
            cache=None if no_cache else opened_cache(lambda text: say([f"note: {text}"])),
        )
        rate = hallucination_rate(chosen, outputs, sample, confidence=confidence, run=run)
    if form == "json":
        deliver(json.dumps(rate.to_dict(), allow_nan=False) + "\n", output)
    else:
        deliver(_table(rate), output)


def _table(rate: HallucinationRate) -> str:
    from shroom.scoring.display.text import align

    interval = f"{100 * rate.confidence:g}% interval"
    rows: list[tuple[str, ...] | None] = [
        (
            "",
            "outputs",
            "naive",
            "corrected",
            interval,
            "labelled",
            "labels alone",
            interval,
            "labels for half",
        ),
        None,
    ]
    rows += [_row(group) for group in rate.groups]
    lines = [
        *align(rows),
        "",
        f"naive: share of outputs that {rate.detector} labels Hallucination",
        "corrected: prediction-powered estimate; labels alone: share among the labelled outputs",
        "labels for half: number of labels that would halve the interval of the estimate",
        "the labelled outputs have to be a random sample of the same kind as the others",
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
