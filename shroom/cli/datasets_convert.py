"""``shroom datasets convert``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, option, refuse_two_pipes
from shroom.cli.output import read_aloud, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import (
    check_ending,
    ending,
    names_a_file,
    prepare,
    refuse_adding,
    write_files,
)
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError
from shroom.datasets.conversion import as_json, convert
from shroom.datasets.download.sources import read_here
from shroom.datasets.registry import data_set, refuse_another
from shroom.scoring.check import check_documents
from shroom.scoring.editions.files import default
from shroom.scoring.in_memory import as_source
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import CSV, JSON, documents


@verb()
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@option(
    "-o --output", "Write to this file, folder or .zip, or to stdout (-).", OUTPUT, required=True
)
@option("--view", "Use this view of the records as datapoints.  [default: the first]")
@option(
    "--predictions",
    "Write this submission for the datapoints in the data set's own form of predictions.",
    INPUT,
)
def command(
    *, name: str, paths: tuple[str, ...], output: str, view: str | None, predictions: str | None
) -> None:
    """Convert the data set NAME to SHROOM's form, so that every detector can judge it.

    A view decides what premise, hypothesis and p are; 'shroom list datasets NAME' shows the
    views.

    Examples
    --------
    shroom datasets convert mushroom2025 docs/examples/mushroom2025/gold -o converted/
    shroom datasets convert verifiability docs/examples/worked-citations.jsonl -o c.json
    shroom datasets convert semeval2024 gold/ --view labelled -o gold.zip
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
    collection = read_aloud(source.read, *paths) if paths else read_aloud(read_here, source.name)
    files = convert(source, collection, view)
    rows = [row for file in files for row in file.rows]
    if not rows:
        raise ShroomError(
            f"{source.name}: no record of {len(collection.records)} was judged in this view, "
            "so there is nothing to convert"
        )
    if predictions is not None and source.predictions is not None:
        label, p = _predictions_for(rows, ", ".join(collection.files), predictions)
        text = source.predictions(collection.records, label == 1, np.clip(p, 0, 1))
        if ending(output) == ".json":
            text = as_json([json.loads(line) for line in text.split("\n") if line])
        _write(output, {f"{source.name}.pred.jsonl": text}, [*paths, predictions], JSON)
        n = counted(len(collection.records), "record")
        say([f"wrote predictions for {n} to {output}"])
        return
    texts = {f"{file.stem}.json": as_json(file.rows) for file in files if file.rows}
    if output == "-" or names_a_file(output):
        texts = {source.name: as_json(rows, lines=ending(output) == ".jsonl")}
    _write(output, texts, paths, CSV if source.ending == ".csv" else JSON)
    if collection.dropped:
        say([f"{counted(collection.dropped, 'row')} could not be used"])
    for file in files:
        if not file.rows and file.left_out:
            say([f"{file.stem}: left out, since no record of {file.records} was judged"])
        elif file.left_out:
            why = "nobody judged them, or there is no text to compare them with"
            say([f"{file.stem}: left out {counted(file.left_out, 'datapoint')}: {why}"])
    records = counted(sum(file.records for file in files if file.rows), "record")
    say([f"wrote {counted(len(rows), 'datapoint')} of {records} to {output}"])


def _write(
    output: str, texts: dict[str, str], inputs: Sequence[str], read: tuple[str, ...]
) -> None:
    """Write texts, unless they would be read with the inputs, whose names end in ``read``."""
    refuse_adding(prepare(output, list(texts), inputs), inputs, read)
    write_files(output, texts, inputs)


def _predictions_for(
    rows: list[dict[str, Any]], file: str, submission: str
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the labels and the p of a submission, one for each of the converted rows."""
    problems = Problems()
    listed = documents(submission, problems, submission=True)
    if len(listed) > 1:
        raise ShroomError(f"{submission}: expected one file of predictions, got {len(listed)}")
    checked = check_documents(
        listed, data=as_source(rows, f"{file} (converted)"), problems=problems, edition=default()
    )
    checked.raise_for_errors()
    with_in_sample(checked.tracks, submission, listed, problems, default())
    say(problems)
    (track,) = checked.aligned
    return track.predictions.label[track.rows], track.predictions.p[track.rows]
