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
from shroom.core.printing import counted
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
    if number is not None and index is not None:
        raise click.UsageError("--id and --index cannot be combined")
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
    points = [(file, place, it.id) for file in files for place, it in enumerate(file.datapoints)]
    matches = [
        (file, place)
        for file, place, own in points
        if number in (None, str(own)) and index in (None, place)
    ]
    if len(matches) == 1:
        return matches[0]
    identifier = f"id {number}" if number is not None else f"index {index}"
    selected = number is not None or index is not None
    if selected and matches:
        names = list(dict.fromkeys(file.base for file, _ in matches))
        if len(names) > 1:
            raise ShroomError(f"{data}: {identifier} is in {' and '.join(names)}; specify one file")
        raise ShroomError(f"{names[0]}: {len(matches)} datapoints have {identifier}; use --index")
    problem = f"no datapoint has {identifier}" if selected else "no datapoint selected"
    choice = f"specify --index N, from 0 to {max(place for _, place, _ in points)}"
    named = {own for *_, own in points if own is not None}
    if not named:
        choice = f"the datapoints have no ids; {choice}"
    elif index is None:
        some = counted(len(named), "id")
        choice = f"specify --id N ({some}, from {min(named)} to {max(named)})"
    raise ShroomError(f"{data}: {problem}; {choice}")
