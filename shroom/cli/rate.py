"""``shroom rate``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import CONFIDENCE, INPUT, option
from shroom.cli.output import read_aloud
from shroom.cli.result_options import result_options
from shroom.cli.running import MODEL, NO_CACHE, SETTINGS, recipe_of, run_options, watched
from shroom.detectors.registry import DEFAULT
from shroom.inference.run_settings import Run
from shroom.scoring.result import Result


@verb()
@click.argument("data", type=INPUT)
@option("--labelled", "Labelled random sample of outputs like DATA.", INPUT, required=True)
@option(
    "--detector",
    "Detector to use: a name from 'shroom list detectors', or a recipe file.",
    default=DEFAULT,
)
@MODEL
@SETTINGS
@CONFIDENCE
@run_options()
@NO_CACHE
@edition_option("labelled")
@result_options("data", "labelled", "model", about="Print a table, or one JSON object.")
def command(data: str, labelled: str, run: Run, **options: Any) -> Result:
    """Estimate the share of hallucinations in DATA, which can be unlabelled.

    The estimate is corrected for the detector's errors, which are measured on a labelled random
    sample.

    Examples
    --------
    shroom rate val.model-agnostic.json --labelled val.model-aware.json --detector lexical
    shroom rate data/ --labelled gold/ --confidence 0.9
    shroom rate data/ --labelled gold/ --format json -o rate.json
    """
    from shroom.prediction.hallucination_rate import hallucination_rate
    from shroom.scoring.datapoint_files import read

    recipe = recipe_of(options["detector"], options["settings"], model=options["model"])
    chosen, edition = recipe.make(), options["edition"]
    outputs, sample = (read_aloud(read, source, edition=edition) for source in (data, labelled))
    run = replace(run, precision=run.precision or recipe.precision)
    with watched(run, "judging") as run:
        return hallucination_rate(
            chosen, outputs, sample, confidence=options["confidence"], run=run
        )
