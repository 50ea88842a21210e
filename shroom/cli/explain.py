"""``shroom explain``."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.options import COLUMNS_OPTION, SETTINGS, format_option
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import OUTPUT
from shroom.cli.predict import detector_and_data
from shroom.core.problems import Problems, ShroomError
from shroom.scoring.datapoint_files import read_files

if TYPE_CHECKING:
    from shroom.core.datapoint import Datapoint
    from shroom.detectors.base import Detector
    from shroom.inference.run_settings import Run
    from shroom.report.explanation import ShownExplanation
    from shroom.scoring.datapoint_files import DataFile

EXAMPLES = """\b
Examples:
  shroom explain lexical test.model-agnostic.json --id 10
  shroom explain lexical val.model-aware.json --index 0 --html words.html
  shroom explain nli val.model-aware.json --index 3 --model FOLDER --format json
"""


@click.command(epilog=EXAMPLES, options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@click.option("--id", "number", type=int, help="Id of the datapoint.")
@click.option("--index", type=click.IntRange(0), help="Index of the datapoint, from 0.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@COLUMNS_OPTION
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@format_option("text", "json", about="Print colours for the terminal, or one JSON object.")
@click.option("--model", help="Model of the detector: a file, a folder or a name on the hub.")
@SETTINGS
@click.option(
    "--device", help="Device to run on: cpu, cuda, cuda:1 or mps; by default the best available."
)
def command(
    *,
    arguments: tuple[str, ...],
    number: int | None,
    index: int | None,
    output: str | None,
    html: str | None,
    form: str,
    model: str | None,
    settings: dict[str, Any],
    device: str | None,
) -> None:
    """Show which words of a hypothesis drive p(Hallucination).

    DETECTOR, a name or a recipe's file, by default the kit's own model, judges one datapoint of
    DATA as it is and with each word of its hypothesis left out. In red, or with a plus, stands
    what drives p up.
    """
    detector, data = detector_and_data(arguments)
    if number is not None and index is not None:
        raise click.UsageError("give --id or --index, not both")
    from shroom.core.atomic_writing import refuse_overwriting, write_atomically
    from shroom.detectors.recipe import Recipe
    from shroom.inference.run_settings import Run

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
    files = read_files(data, problems)
    say(problems)
    told = _told(chosen, _found(files, data, number, index), run)
    if html:
        from shroom.report.explanation import as_page

        write_atomically(html, as_page(told))
    _show(told, form, output)


@dataclass(frozen=True)
class _Found:
    """A datapoint, and where it stands."""

    point: Datapoint
    base: str
    index: int


def _found(files: list[DataFile], data: str, number: int | None, index: int | None) -> _Found:
    """Return the one datapoint that is meant, or say what there is to choose from."""
    every = [
        _Found(point, file.base, place)
        for file in files
        for place, point in enumerate(file.datapoints)
    ]
    if number is not None:
        found = [one for one in every if one.point.id == number]
    else:
        found = [one for one in every if index is None or one.index == index]
    if len(found) == 1:
        return found[0]
    wanted = f"id {number}" if number is not None else f"index {index}"
    if not found:
        raise ShroomError(f"{data}: has no datapoint of {wanted}; {_range(every, number)}")
    if number is None and index is None:
        raise ShroomError(f"{data}: which datapoint? {_range(every, every[0].point.id)}")
    where = list(dict.fromkeys(one.base for one in found))
    if len(where) == 1:
        raise ShroomError(f"{where[0]}: has {wanted} {len(found)} times; use --index")
    raise ShroomError(f"{data}: {wanted} stands in {' and in '.join(where)}; name one file")


def _range(every: list[_Found], number: int | None) -> str:
    """Return a sentence on the ids, or on the places, that there are."""
    ids = [one.point.id for one in every if one.point.id is not None]
    if number is not None and ids:
        return f"its {len(set(ids))} ids go from {min(ids)} to {max(ids)}: give --id N"
    last = max(one.index for one in every)
    none = "its datapoints have no ids; " if not ids else ""
    return f"{none}give --index N, from 0 to {last}"


def _told(chosen: Detector, found: _Found, run: Run) -> ShownExplanation:
    from shroom.detectors.explain import explain
    from shroom.report.explanation import ShownExplanation

    point = found.point
    explanation = explain(chosen, point, run)
    place = f"id {point.id}" if point.id is not None else f"index {found.index}"
    about = {"file": found.base, "id": point.id, "index": found.index}
    (threshold,) = chosen.thresholds_of([point], run).tolist()
    return ShownExplanation(
        explanation,
        chosen.name,
        f"{found.base}, {place}",
        threshold,
        chosen.premises(point),
        about,
    )


def _show(told: ShownExplanation, form: str, output: str | None) -> None:
    from shroom.report.explanation import as_json, as_text

    if form == "json":
        deliver(as_json(told), output)
        return
    from rich.console import Console

    to_file = output not in (None, "-")
    console = Console(highlight=False, file=io.StringIO() if to_file else None)
    colours = None if console.no_color else console.color_system
    console.print(as_text(told, colours), soft_wrap=not console.is_terminal)
    if isinstance(console.file, io.StringIO):
        deliver(console.file.getvalue(), output)
