"""``shroom datasets corrupt``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import format_option
from shroom.cli.output import note, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.core.atomic_writing import prepare, refuse_adding, write_files
from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import Problems, ShroomError
from shroom.evaluation.corruption.corrupt import (
    ANY_LANGUAGE,
    MAX_P,
    METHODS,
    Corruption,
    balanced,
    corruptions,
    is_faithful,
)
from shroom.evaluation.corruption.items import Item
from shroom.evaluation.corruption.reading import InputFile, read
from shroom.scoring.display.columns import align
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import JSON
from shroom.scoring.table import P


@verb(
    "shroom datasets corrupt val.model-agnostic.json -o corrupted.json",
    "shroom datasets corrupt val.model-agnostic.json --method number --balanced -o hard.json",
    "shroom datasets corrupt gold/ --max-p 0.3 --seed 7 -o corrupted.jsonl",
)
@click.argument("data", type=INPUT)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write to this .json or .jsonl file, to corrupted.json in this folder, or to stdout (-).",
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(list(METHODS)),
    multiple=True,
    help="Method of corruption; may be repeated.  [default: all]",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Random seed of the draws.")
@click.option(
    "--balanced",
    "even",
    is_flag=True,
    help="Write only items that can be corrupted, each with one of its corruptions.",
)
@click.option(
    "--max-p",
    type=Number(0, 1),
    default=MAX_P,
    help="Largest p of an item that counts as faithful.",
)
@click.option("--assume-faithful", is_flag=True, help="Take unlabelled items as faithful.")
@edition_option("data")
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def command(
    *,
    data: str,
    output: str,
    methods: tuple[str, ...],
    seed: int,
    even: bool,
    max_p: float,
    assume_faithful: bool,
    edition: Edition,
    form: str,
) -> None:
    """Make faithful items of DATA inconsistent, and record every edit.

    The output has each faithful item, followed by its corrupted versions.
    """
    if form == "json" and output == "-":
        raise click.UsageError("the data and the summary cannot both go to stdout; name a file")
    refuse_adding(prepare(output, ["corrupted.json"], [data]), [data], JSON)
    problems = Problems()
    files = read(data, problems, edition)
    say(problems)
    points, places, knowledge = _faithful(files, data, max_p=max_p, assume_faithful=assume_faithful)
    chosen = methods or tuple(METHODS)
    foreign = sum(not Item(point).is_english for point in points)
    if foreign and set(chosen) - {ANY_LANGUAGE}:
        left = "all methods but pairing leave them alone"
        note(f"{foreign} of {len(points)} faithful items seem not to be English; {left}")
    corrupted = corruptions(points, chosen, seed, knowledge=knowledge)
    if not corrupted:
        raise ShroomError(
            f"{data}: none of its {len(points)} faithful items can be corrupted by "
            f"{' or '.join(dict.fromkeys(chosen))}; choose other methods, or name more data"
        )
    if even:
        corrupted = balanced(corrupted, points, seed)
    rows = _rows(points, places, corrupted, even=even)
    text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
    write_files(output, {"corrupted.json": text}, [data])
    path = f"{output.rstrip('/')}/corrupted.json" if Path(output).is_dir() else output
    n_faithful = len(rows) - len(corrupted)
    say([f"wrote {n_faithful} faithful and {len(corrupted)} inconsistent items to {path}"])
    _summarise(
        corrupted,
        chosen,
        form,
        items=sum(len(file.datapoints) for file in files),
        faithful=len(points),
        kept=n_faithful,
        seed=seed,
        to_stdout=output == "-",
    )


def _faithful(
    files: list[InputFile], data: str, *, max_p: float, assume_faithful: bool
) -> tuple[list[Datapoint], list[dict[str, Any]], list[str]]:
    """Return the faithful datapoints, the file and place of each, and each one's knowledge."""
    points, places, texts, unlabelled, total = [], [], [], 0, 0
    for file in files:
        for index, (point, knowledge) in enumerate(zip(file.datapoints, file.knowledge)):
            total += 1
            unlabelled += point.p is None and point.label is None
            if is_faithful(point, max_p=max_p, assume_faithful=assume_faithful):
                points.append(point)
                texts.append(knowledge)
                places.append({"file": file.base, "index": index, "id": point.id})
    if not points:
        way_out = (
            f"{unlabelled} have no label; to take them as faithful, add --assume-faithful"
            if unlabelled and not assume_faithful
            else "name data with hypotheses that their premises support, or raise --max-p"
        )
        raise ShroomError(f"{data}: none of its {total} items is known to be faithful: {way_out}")
    return points, places, texts


def _rows(
    points: list[Datapoint],
    places: list[dict[str, Any]],
    corrupted: Sequence[Corruption],
    *,
    even: bool,
) -> list[dict[str, Any]]:
    """Return the faithful items, each followed by its corruptions."""
    by_place: dict[int, list[Corruption]] = {}
    for corruption in corrupted:
        by_place.setdefault(corruption.of, []).append(corruption)
    rows = []
    for place, point in enumerate(points):
        if even and place not in by_place:
            continue
        of = {"of": places[place]}
        rows.append(_row(point, 0.0, {"method": None, "edit": None, **of}))
        for corruption in by_place.get(place, []):
            record = {"method": corruption.method, "edit": corruption.edit.to_dict(), **of}
            rows.append(_row(corruption.datapoint, 1.0, record))
    return rows


def _row(point: Datapoint, p: float, corruption: dict[str, Any]) -> dict[str, Any]:
    """Return a datapoint as SHROOM's files have it; without an id, which two could not share."""
    p = p if point.p is None else point.p
    row: dict[str, Any] = {"hyp": point.hyp, "src": point.src, "tgt": point.tgt}
    if point.ref is not None:
        row["ref"] = point.ref.value
    row |= {"task": point.task.name, "model": point.model}
    if point.labels:
        row["labels"] = [label.value for label in point.labels]
    label = point.label or (Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION)
    return {**row, "label": label.value, P: p, "corruption": corruption}


def _summarise(
    corrupted: Sequence[Corruption],
    chosen: Sequence[str],
    form: str,
    *,
    to_stdout: bool,
    **about: Any,
) -> None:
    """Report how many items each method has corrupted, and what the draws depend on."""
    count = Counter(corruption.method for corruption in corrupted)
    by_method = {name: count[name] for name in dict.fromkeys(chosen)}
    if form == "json":
        result = {**about, "inconsistent": len(corrupted), "by_method": by_method}
        click.echo(json.dumps(result, indent=2))
        return
    rows: list[tuple[str, ...] | None] = [("method", "made"), None]
    rows += [(name, str(n)) for name, n in by_method.items()]
    rows += [None, ("all", str(len(corrupted)))]
    lines = [*align(rows), "", "seed {seed}, {faithful} of {items} items faithful".format(**about)]
    click.echo("\n".join(lines), err=to_stdout)
