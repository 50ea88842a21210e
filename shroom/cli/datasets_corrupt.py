"""``shroom datasets corrupt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import flag, format_option, option
from shroom.cli.output import note, read_aloud, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.core.atomic_writing import prepare, write_files
from shroom.core.problems import ShroomError
from shroom.evaluation.corruption.corrupt import (
    ANY_LANGUAGE,
    MAX_P,
    METHODS,
    corrupted_data,
)
from shroom.evaluation.corruption.reading import read
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import JSON


@verb()
@click.argument("data", type=INPUT)
@option(
    "-o --output",
    "Write to this .json or .jsonl file, to corrupted.json in this folder, or to stdout (-).",
    OUTPUT,
    required=True,
)
@option(
    "--method methods",
    "Method of corruption; may be repeated.  [default: all]",
    METHODS,
    multiple=True,
)
@option("--seed", "Random seed for the corruptions.", click.IntRange(0), 0)
@flag("--balanced even", "Write only items that can be corrupted, each with one corrupted version.")
@option("--max-p", "Highest p at which an item counts as faithful.", Number(0, 1), MAX_P)
@flag("--assume-faithful", "Use unlabelled items as faithful items.")
@edition_option("data")
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def command(
    data: str, output: str, form: str, edition: Edition, methods: tuple[str, ...], **settings: Any
) -> None:
    """Make faithful items of DATA inconsistent, and record every edit.

    The output contains each faithful item, followed by its corrupted versions.

    Examples
    --------
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    shroom datasets corrupt val.model-agnostic.json --method number --balanced -o hard.json
    shroom datasets corrupt gold/ --max-p 0.3 --seed 7 -o corrupted.jsonl
    """
    if form == "json" and output == "-":
        raise click.UsageError("the data and the summary cannot both go to stdout; use -o FILE")
    prepare(output, ["corrupted.json"], [data], JSON)
    items = read_aloud(read, data, edition=edition)
    chosen = [*dict.fromkeys(methods or METHODS)]
    try:
        corrupted = corrupted_data(items, chosen, **settings)
    except ShroomError as error:
        raise ShroomError(f"{data}: {error}") from error
    if corrupted.foreign and {*chosen} - {ANY_LANGUAGE}:
        note(
            f"faithful items that seem not to be English: {corrupted.foreign} of "
            f"{corrupted.faithful}; only the method {ANY_LANGUAGE} corrupts these items"
        )
    write_files(output, {"corrupted.json": corrupted.text}, [data])
    path = f"{output.rstrip('/')}/corrupted.json" if Path(output).is_dir() else output
    counts = f"{corrupted.kept} faithful and {corrupted.inconsistent} inconsistent items"
    say([f"wrote {counts} to {path}"])
    click.echo(corrupted.render(form), nl=False, err=output == "-")
