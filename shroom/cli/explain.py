"""``shroom explain``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import option
from shroom.cli.output import note, read_aloud
from shroom.cli.result_options import result_options
from shroom.cli.running import DEVICE, MODEL, SETTINGS, detector_and_data, recipe_of
from shroom.core.problems import ShroomError
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.result import Result


@verb(options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@option("--id number", "The id of the datapoint to explain.")
@option("--index", "Position of the datapoint to explain, counted from 0.", click.IntRange(0))
@edition_option("arguments")
@MODEL
@SETTINGS
@DEVICE
@result_options("arguments", "model", about="Print coloured text, or one JSON object.", html=True)
def command(arguments: tuple[str, ...], edition: Edition, device: str, **options: Any) -> Result:
    """Show which words of a hypothesis raise or lower p(Hallucination).

    DETECTOR predicts p for one datapoint of DATA, and again with each word removed in turn.

    Examples
    --------
    shroom explain val.model-aware.json --index 3
    shroom explain lexical val.model-aware.json --index 0 --html words.html
    shroom explain nli val.model-aware.json --index 3 --model ./nli-model --format json
    """
    detector, data = detector_and_data(arguments)
    number, index = options["number"], options["index"]
    from shroom.detectors.explain import explain
    from shroom.inference.run_settings import Run
    from shroom.report.explanation import ShownExplanation

    recipe = recipe_of(detector, options["settings"], model=options["model"])
    chosen = recipe.make()
    run = Run(device=device, note=note, precision=recipe.precision, in_sample=True)
    files = read_aloud(read_files, data, edition=edition)
    file, place = _chosen(files, data, number, index)
    point = file.datapoints[place]
    explanation = explain(chosen, point, run)
    name = f"id {point.id}" if point.id is not None else f"index {place}"
    about = {"file": file.base, "id": point.id, "index": place}
    return ShownExplanation(
        explanation, chosen.name, f"{file.base}, {name}", chosen.threshold_, about
    )


def _chosen(
    files: list[DataFile], data: str, number: str | None, index: int | None
) -> tuple[DataFile, int]:
    """Return the file and the index of the only datapoint that fits."""
    matches = [
        (file, place)
        for file in files
        for place, point in enumerate(file.datapoints)
        if number in (None, str(point.id)) and index in (None, place)
    ]
    if len(matches) != 1:
        chosen = "" if number is None else f" with id {number}"
        chosen += "" if index is None else f" at index {index}"
        raise ShroomError(
            f"{data}: expected one datapoint{chosen}, got {len(matches)}; specify one file, and "
            "--id N or --index N"
        )
    return matches[0]
