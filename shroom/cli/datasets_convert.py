"""``shroom datasets convert``."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, INPUT, OUTPUT, option, refuse_two_pipes
from shroom.cli.output import read_aloud, say
from shroom.core.atomic_writing import ending, names_a_file, prepare, write_files
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError
from shroom.datasets.base import as_json, convert
from shroom.datasets.download import read_here
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
@option("--view", "Name of the view that defines the datapoints.  [default: the first view]")
@option("--predictions", "Convert this submission to the data set's own prediction format.", INPUT)
def command(
    *, name: str, paths: tuple[str, ...], output: str, view: str | None, predictions: str | None
) -> None:
    """Convert the data set NAME to SHROOM's format, which every detector reads.

    A view (see 'shroom list datasets NAME') defines the premise, the hypothesis and p of each
    datapoint.

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
            f"{source.name}: a submission cannot be converted to the data set's prediction format; "
            f"score the submission against the converted data: run 'shroom datasets convert "
            f"{source.name} -o gold.json' and 'shroom score SUBMISSION gold.json'"
        )
    inputs, is_csv = [*paths, predictions], source.ending == ".csv" and predictions is None
    prepare(output, [f"{source.name}.json"], inputs, CSV if is_csv else JSON)
    for path in paths:
        refuse_another(source.name, path)
    collection = read_aloud(source.read, *paths) if paths else read_aloud(read_here, source.name)
    files = convert(source, collection, view)
    rows = [row for file in files for row in file.rows]
    if not rows:
        raise ShroomError(
            f"{source.name}: nothing to convert, because no record is labelled in this "
            "view; choose another view with --view, or use labelled files"
        )
    if predictions is not None and source.predictions is not None:
        label, p = _predictions_for(rows, ", ".join(collection.files), predictions)
        text = source.predictions(collection.records, label == 1, np.clip(p, 0, 1))
        if ending(output) == ".json":
            text = as_json([json.loads(line) for line in text.split("\n") if line])
        write_files(output, {f"{source.name}.pred.jsonl": text}, inputs)
        n = counted(len(collection.records), "record")
        say([f"wrote predictions for {n} to {output}"])
        return
    texts = {f"{file.stem}.json": as_json(file.rows) for file in files if file.rows}
    if output == "-" or names_a_file(output):
        texts = {source.name: as_json(rows, lines=ending(output) == ".jsonl")}
    write_files(output, texts, inputs)
    if collection.dropped:
        say([f"{counted(collection.dropped, 'row')} could not be used"])
    for file in [file for file in files if file.left_out]:
        some = f" {counted(file.left_out, 'datapoint')} without a label or a premise"
        why = some if file.rows else ", because no record is labelled"
        say([f"{file.stem}: left out{why}"])
    records = counted(sum(file.records for file in files if file.rows), "record")
    say([f"wrote {counted(len(rows), 'datapoint')} from {records} to {output}"])


def _predictions_for(
    rows: list[dict[str, Any]], file: str, submission: str
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the labels and the p of a submission, one for each of the converted rows."""
    problems = Problems()
    listed = documents(submission, problems, submission=True)
    if len(listed) > 1:
        raise ShroomError(f"{submission}: expected one prediction file, got {len(listed)} files")
    checked = check_documents(
        listed, data=as_source(rows, f"{file} (converted)"), problems=problems, edition=default()
    )
    checked.raise_for_errors()
    with_in_sample(checked.tracks, submission, listed, problems, default())
    say(problems)
    (track,) = checked.aligned
    return track.predictions.label[track.rows], track.predictions.p[track.rows]
