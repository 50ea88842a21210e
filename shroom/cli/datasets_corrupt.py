"""``shroom datasets corrupt``."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import flag, format_option, option
from shroom.cli.output import note, read_aloud, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.core.atomic_writing import prepare, refuse_adding, write_files
from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import ShroomError
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
from shroom.scoring.input_files import JSON
from shroom.scoring.rows import P


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
@option("--seed", "Random seed of the draws.", click.IntRange(0), 0)
@flag(
    "--balanced even", "Write only items that can be corrupted, each with one of its corruptions."
)
@option("--max-p", "Largest p of an item that counts as faithful.", Number(0, 1), MAX_P)
@flag("--assume-faithful", "Take unlabelled items as faithful.")
@edition_option("data")
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def command(data: str, output: str, **options: Any) -> None:
    """Make faithful items of DATA inconsistent, and record every edit.

    The output has each faithful item, followed by its corrupted versions.

    Examples
    --------
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    shroom datasets corrupt val.model-agnostic.json --method number --balanced -o hard.json
    shroom datasets corrupt gold/ --max-p 0.3 --seed 7 -o corrupted.jsonl
    """
    given = SimpleNamespace(**options)
    if given.form == "json" and output == "-":
        raise click.UsageError("the data and the summary cannot both go to stdout; name a file")
    refuse_adding(prepare(output, ["corrupted.json"], [data]), [data], JSON)
    files = read_aloud(read, data, edition=given.edition)
    faithful = _faithful(files, data, given)
    points = [point for point, _, _ in faithful]
    methods = [*dict.fromkeys(given.methods or METHODS)]
    foreign = sum(not Item(point).is_english for point in points)
    if foreign and {*methods} - {ANY_LANGUAGE}:
        left = "all methods but pairing leave them alone"
        note(f"{foreign} of {len(points)} faithful items seem not to be English; {left}")
    knowledge = [text for _, text, _ in faithful]
    corrupted = corruptions(points, methods, given.seed, knowledge=knowledge)
    if not corrupted:
        raise ShroomError(
            f"{data}: none of its {len(points)} faithful items can be corrupted by "
            f"{' or '.join(methods)}; choose other methods, or name more data"
        )
    if given.even:
        corrupted = balanced(corrupted, points, given.seed)
    rows = _rows(points, [place for _, _, place in faithful], corrupted, even=given.even)
    text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
    write_files(output, {"corrupted.json": text}, [data])
    path = f"{output.rstrip('/')}/corrupted.json" if Path(output).is_dir() else output
    kept = len(rows) - len(corrupted)
    say([f"wrote {kept} faithful and {len(corrupted)} inconsistent items to {path}"])
    total = sum(len(file.datapoints) for file in files)
    about = {"items": total, "faithful": len(points), "kept": kept, "seed": given.seed}
    counts = Counter(corruption.method for corruption in corrupted)
    by_method = {name: counts[name] for name in methods}
    if given.form == "json":
        about |= {"inconsistent": len(corrupted), "by_method": by_method}
        click.echo(json.dumps(about, indent=2))
        return
    table = [(name, str(n)) for name, n in by_method.items()]
    lines = align([("method", "made"), None, *table, None, ("all", str(len(corrupted)))])
    settings = f"seed {given.seed}, {len(points)} of {total} items faithful"
    click.echo("\n".join([*lines, "", settings]), err=output == "-")


def _faithful(
    files: Sequence[InputFile], data: str, given: SimpleNamespace
) -> list[tuple[Datapoint, str, dict[str, Any]]]:
    """Return the faithful datapoints, each with its knowledge, and its file and place there."""
    every = [
        (point, knowledge, {"file": file.base, "index": index, "id": point.id})
        for file in files
        for index, (point, knowledge) in enumerate(zip(file.datapoints, file.knowledge))
    ]
    limits = {"max_p": given.max_p, "assume_faithful": given.assume_faithful}
    faithful = [one for one in every if is_faithful(one[0], **limits)]
    if not faithful:
        unlabelled = sum(point.p is None and point.label is None for point, _, _ in every)
        way_out = (
            f"{unlabelled} have no label; to take them as faithful, add --assume-faithful"
            if unlabelled and not given.assume_faithful
            else "name data with hypotheses that their premises support, or raise --max-p"
        )
        raise ShroomError(
            f"{data}: none of its {len(every)} items is known to be faithful: {way_out}"
        )
    return faithful


def _rows(
    points: Sequence[Datapoint],
    places: Sequence[dict[str, Any]],
    corrupted: Sequence[Corruption],
    *,
    even: bool,
) -> list[dict[str, Any]]:
    """Return the faithful items, each followed by its corruptions."""
    by_place: dict[int, list[Corruption]] = defaultdict(list)
    for corruption in corrupted:
        by_place[corruption.of].append(corruption)
    rows = []
    for place, point in enumerate(points):
        if place not in by_place and even:
            continue
        of = {"of": places[place]}
        rows.append(_row(point, {"method": None, "edit": None, **of}))
        for one in by_place.get(place, []):
            record = {"method": one.method, "edit": one.edit.to_dict(), **of}
            rows.append(_row(one.datapoint, record))
    return rows


def _row(point: Datapoint, corruption: dict[str, Any]) -> dict[str, Any]:
    """Return a datapoint as SHROOM's files have it; without an id, which two could not share."""
    p = 0.0 if point.p is None else point.p
    tgt = list(point.tgts) if point.other_tgts else point.tgt
    row: dict[str, Any] = {"hyp": point.hyp, "src": point.src, "tgt": tgt}
    if point.ref is not None:
        row["ref"] = point.ref.value
    row |= {"task": point.task.name, "model": point.model}
    if point.labels:
        row["labels"] = [label.value for label in point.labels]
    label = point.label or (Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION)
    return {**row, "label": label.value, P: p, "corruption": corruption}
