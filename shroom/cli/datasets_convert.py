"""``shroom datasets convert``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, refuse_two_pipes
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import (
    check_ending,
    ending,
    names_a_file,
    names_a_zip,
    prepare,
    refuse_adding,
    write_atomically,
    zipped,
)
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets.base import DataSet
from shroom.datasets.collection import Collection
from shroom.datasets.conversion import Converted, as_json, convert
from shroom.datasets.download.sources import read_here
from shroom.datasets.registry import data_set, refuse_another
from shroom.scoring.align import AlignedTrack, align, check_track
from shroom.scoring.column_checks import check_columns, check_doubled
from shroom.scoring.editions.files import default
from shroom.scoring.gold_by_id import name_by_rows
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import CSV, JSON, documents
from shroom.scoring.rows import read_each, read_rows
from shroom.scoring.table import Role


@verb(
    "shroom datasets convert mushroom2025 docs/examples/mushroom2025/gold -o converted/",
    "shroom datasets convert verifiability docs/examples/worked-citations.jsonl -o c.json",
    "shroom datasets convert semeval2024 gold/ --view labelled -o gold.zip",
)
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write to this file, folder or .zip, or to stdout (-).",
)
@click.option("--view", help="Use this view of the records as datapoints.  [default: the first]")
@click.option(
    "--predictions",
    type=INPUT,
    help="Write this submission for the datapoints in the data set's own form of predictions.",
)
def command(
    *, name: str, paths: tuple[str, ...], output: str, view: str | None, predictions: str | None
) -> None:
    """Convert the data set NAME to SHROOM's form, so that every detector can judge it.

    A view decides what premise, hypothesis and p are; 'shroom list datasets NAME' shows the
    views.
    """
    source = data_set(name)
    refuse_two_pipes(*paths, predictions)
    if predictions is not None and source.predictions is None:
        raise ShroomError(
            f"{source.name}: {source.no_predictions}; score the submission against the converted "
            f"data: shroom datasets convert {source.name} -o gold.json, and then shroom score "
            "SUBMISSION gold.json"
        )
    check_ending(output, ".json", ".jsonl")
    for path in paths:
        refuse_another(source.name, path)
    problems = Problems()
    collection = (
        source.read(*paths, problems=problems) if paths else read_here(source.name, problems)
    )
    files = convert(source, collection, view)
    say(problems)
    if not any(file.rows for file in files):
        raise ShroomError(
            f"{source.name}: no record of {len(collection.records)} was judged in this view, "
            "so there is nothing to convert"
        )
    if predictions is None:
        _write_datapoints(source, collection, files, output, paths)
    else:
        _write_predictions(source, collection, files, output, [*paths, predictions])


def _write_datapoints(
    source: DataSet,
    collection: Collection[Any],
    files: Sequence[Converted],
    output: str,
    inputs: Sequence[str],
) -> None:
    rows = [row for file in files for row in file.rows]
    texts = {f"{file.stem}.json": as_json(file.rows) for file in files if file.rows}
    if _is_one(output):
        texts = {source.name: as_json(rows, lines=ending(output) == ".jsonl")}
    _write(output, texts, inputs, CSV if source.ending == ".csv" else JSON)
    if collection.dropped:
        say([f"{counted(collection.dropped, 'row')} could not be used"])
    for file in files:
        if not file.rows:
            say([f"{file.stem}: left out, since no record of {file.records} was judged"])
        elif file.left_out:
            why = "nobody judged them, or there is no text to compare them with"
            say([f"{file.stem}: left out {counted(file.left_out, 'datapoint')}: {why}"])
    records = counted(sum(file.records for file in files if file.rows), "record")
    say([f"wrote {counted(len(rows), 'datapoint')} of {records} to {output}"])


def _write_predictions(
    source: DataSet,
    collection: Collection[Any],
    files: Sequence[Converted],
    output: str,
    inputs: Sequence[str],
) -> None:
    *_, submission = inputs
    rows = [row for file in files for row in file.rows]
    label, p = _predictions_for(rows, ", ".join(collection.files), submission)
    assert source.predictions is not None  # noqa: S101 - for mypy; refused before
    text = source.predictions(collection.records, label == 1, np.clip(p, 0, 1))
    if ending(output) == ".json":
        text = as_json([json.loads(line) for line in text.split("\n") if line])
    _write(output, {f"{source.name}.pred.jsonl": text}, inputs, JSON)
    say([f"wrote predictions for {counted(len(collection.records), 'record')} to {output}"])


def _predictions_for(
    rows: Sequence[dict[str, Any]], file: str, submission: str
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the labels and the p of a submission, one for each of the converted rows."""
    problems = Problems()
    documented = documents(submission, problems, submission=True)
    if len(documented) > 1:
        raise ShroomError(f"{submission}: expected one file of predictions, got {len(documented)}")
    table = read_rows(documented[0], Role.PREDICTIONS, problems, default()) if documented else None
    if table is None:
        raise InvalidInput(problems)
    data = read_each(rows, Role.DATA, file, problems, default())
    track = align(name_by_rows(table, default()), table, data, default())
    problems.extend(check_columns(table))
    problems.extend(check_doubled(table))
    problems.extend(check_track(track))
    if problems.errors or not isinstance(track, AlignedTrack):
        raise InvalidInput(problems)
    with_in_sample([track], submission, documented, problems, default())
    say(problems)
    return table.label[track.rows], table.p[track.rows]


def _is_one(output: str) -> bool:
    return output == "-" or names_a_file(output)


def _write(
    output: str, texts: Mapping[str, str], inputs: Sequence[str], read: tuple[str, ...]
) -> None:
    """Write each text to what ``output`` names; ``read`` has the endings of the inputs."""
    targets = prepare(output, list(texts), inputs)
    refuse_adding(targets, inputs, read)
    if output == "-":
        click.echo(next(iter(texts.values())), nl=False)
    elif names_a_zip(output):
        write_atomically(output, zipped(texts))
    else:
        for target, text in zip(targets, texts.values()):
            data = text.encode()
            packed = target.suffix.lower() == ".gz"
            write_atomically(target, gzip.compress(data, mtime=0) if packed else data)
