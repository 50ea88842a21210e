"""``shroom explain``."""

from __future__ import annotations

import io
import os
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
from shroom.cli.parameter_types import OUTPUT
from shroom.cli.predict import detector_and_data
from shroom.cli.run_options import check_device
from shroom.core.problems import Problems, ShroomError
from shroom.scoring.datapoint_files import read_files

if TYPE_CHECKING:
    from shroom.report.explanation import ShownExplanation
    from shroom.scoring.datapoint_files import DataFile
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom explain val.model-aware.json --index 3",
        "shroom explain lexical val.model-aware.json --index 0 --html words.html",
        "shroom explain nli val.model-aware.json --index 3 --model ./nli-model --format json",
    ),
    options_metavar="[OPTIONS] [DETECTOR]",
)
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@click.option("--id", "number", help="Id of the datapoint.")
@click.option("--index", type=click.IntRange(0), help="Index of the datapoint, from 0.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@edition_option("arguments")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@format_option("text", "json", about="Print colours for the terminal, or one JSON object.")
@click.option("--model", help="Model of the detector: a file, a folder or a name on the hub.")
@SETTINGS
@click.option(
    "--device",
    callback=check_device,
    help="Device to run on: cpu, cuda, cuda:1 or mps; by default the best available.",
)
def command(
    *,
    arguments: tuple[str, ...],
    number: str | None,
    edition: Edition,
    index: int | None,
    output: str | None,
    html: str | None,
    form: str,
    model: str | None,
    settings: dict[str, Any],
    device: str | None,
) -> None:
    """Show which words of a hypothesis raise or lower p(Hallucination).

    DETECTOR judges one datapoint of DATA as it is, and again with each word left out.
    """
    detector, data = detector_and_data(arguments)
    if number is not None and index is not None:
        raise click.UsageError("give --id or --index, not both")
    from shroom.core.atomic_writing import refuse_overwriting, write_atomically
    from shroom.detectors.explain import explain
    from shroom.detectors.recipe import Recipe
    from shroom.inference.run_settings import Run
    from shroom.report.explanation import ShownExplanation, as_json, as_page

    targets = [path for path in (output, html) if path and path != "-"]
    if len({os.path.realpath(path) for path in targets}) < len(targets):
        raise click.UsageError("the page (--html) needs a file of its own")
    refuse_overwriting(targets, [data, model])
    recipe = Recipe.of(detector)
    chosen = recipe.make(**{**settings, **({"model": model} if model else {})})
    run = Run(
        device=device,
        note=lambda text: say([f"note: {text}"]),
        precision=recipe.precision,
        in_sample=True,
    )
    problems = Problems()
    files = read_files(data, problems, edition=edition)
    say(problems)
    file, place = _chosen(files, data, number, index)
    point = file.datapoints[place]
    explanation = explain(chosen, point, run)
    (threshold,) = chosen.thresholds_of([point], run).tolist()
    shown = ShownExplanation(
        explanation,
        chosen.name,
        f"{file.base}, " + (f"id {point.id}" if point.id is not None else f"index {place}"),
        threshold,
        chosen.premises(point),
        {"file": file.base, "id": point.id, "index": place},
    )
    if html:
        write_atomically(html, as_page(shown))
    if form == "json":
        deliver(as_json(shown), output)
    else:
        _print(shown, output)


def _chosen(
    files: list[DataFile], data: str, number: str | None, index: int | None
) -> tuple[DataFile, int]:
    """Return the file and the index of the datapoint that is meant.

    Raises
    ------
    ShroomError
        If not exactly one datapoint fits; the message shows the choices.
    """
    every = [
        (file, place, point.id) for file in files for place, point in enumerate(file.datapoints)
    ]
    if number is not None:
        matches = [(file, place) for file, place, point_id in every if str(point_id) == number]
    else:
        matches = [(file, place) for file, place, _ in every if index in (None, place)]
    if len(matches) == 1:
        return matches[0]
    ids = [point_id for *_, point_id in every if point_id is not None]
    if ids and (number is not None or (index is None and every[0][2] is not None)):
        choice = f"its {len(set(ids))} ids go from {min(ids)} to {max(ids)}: give --id N"
    else:
        last = max(place for _, place, _ in every)
        none = "" if ids else "its datapoints have no ids; "
        choice = f"{none}give --index N, from 0 to {last}"
    if number is None and index is None:
        raise ShroomError(f"{data}: which datapoint? {choice}")
    identifier = f"id {number}" if number is not None else f"index {index}"
    if not matches:
        raise ShroomError(f"{data}: has no datapoint of {identifier}; {choice}")
    names = list(dict.fromkeys(file.base for file, _ in matches))
    if len(names) == 1:
        raise ShroomError(f"{names[0]}: has {identifier} {len(matches)} times; use --index")
    raise ShroomError(f"{data}: {identifier} is in {' and in '.join(names)}; name one file")


def _print(shown: ShownExplanation, output: str | None) -> None:
    """Print with the colours that the terminal has, or write to a file without them."""
    from rich.console import Console

    from shroom.report.explanation import as_text

    to_file = output not in (None, "-")
    console = Console(highlight=False, file=io.StringIO() if to_file else None)
    colours = None if console.no_color else console.color_system
    console.print(as_text(shown, colours), soft_wrap=not console.is_terminal)
    if isinstance(console.file, io.StringIO):
        deliver(console.file.getvalue(), output)
