"""``shroom rate``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import CONFIDENCE, MODEL, SETTINGS, given
from shroom.cli.output import note, say
from shroom.cli.parameter_types import INPUT
from shroom.cli.progress import watched
from shroom.cli.result_options import Writer, result_options
from shroom.cli.run_options import NO_CACHE, opened_cache, run_options
from shroom.core.problems import Problems
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import DEFAULT
from shroom.inference.run_settings import Run
from shroom.scoring.editions.edition import Edition


@verb(
    "shroom rate val.model-agnostic.json --labelled val.model-aware.json --detector lexical",
    "shroom rate data/ --labelled gold/ --confidence 0.9",
    "shroom rate data/ --labelled gold/ --format json -o rate.json",
)
@click.argument("data", type=INPUT)
@click.option(
    "--labelled",
    type=INPUT,
    required=True,
    help="Labelled random sample of such outputs, which shows the detector's errors.",
)
@click.option(
    "--detector",
    default=DEFAULT,
    help="Detector to use: a name that `shroom list detectors` lists, or a recipe's file.",
)
@MODEL
@SETTINGS
@CONFIDENCE
@run_options()
@NO_CACHE
@edition_option("labelled")
@result_options(
    "data",
    "labelled",
    "model",
    about="Print a table, or one JSON object.",
)
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
    write: Writer,
) -> None:
    """Estimate the share of hallucinations in DATA, which needs no labels.

    A detector labels DATA, and its errors on a labelled random sample correct the estimate, task by
    task.
    """
    from shroom.prediction.hallucination_rate import hallucination_rate
    from shroom.scoring.datapoint_files import read

    recipe = Recipe.of(detector)
    chosen = recipe.make(**settings | given(model=model))
    problems = Problems()
    outputs, sample = read(data, problems, edition), read(labelled, problems, edition)
    say(problems)
    cache = None if no_cache else opened_cache(note)
    run = replace(run, precision=run.precision or recipe.precision, cache=cache)
    with watched(run, "judging") as run:
        rate = hallucination_rate(chosen, outputs, sample, confidence=confidence, run=run)
    write(rate)
