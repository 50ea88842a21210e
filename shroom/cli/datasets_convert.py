"""``shroom datasets convert``."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import click
import numpy as np

from shroom.cli.options import INPUT, OUTPUT, SHROOM, refuse_two_pipes, say
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
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets.collection import items_of
from shroom.datasets.conversion.from_shroom import come_back
from shroom.datasets.conversion.to_shroom import as_json
from shroom.datasets.conversion.to_shroom import convert as converted
from shroom.datasets.local_files import read_here
from shroom.datasets.registry import data_set, guess, refuse_another
from shroom.scoring.documents import CSV, JSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from shroom.datasets.base import DataSet

EXAMPLES = """\b
Examples:
  shroom datasets convert felm felm/all.jsonl -o felm.json
  shroom datasets convert factual_consistency gt.csv --view correctness -o gt.json
  shroom datasets convert mushroom2025 mushroom/ -o converted/
  shroom datasets convert felm felm.json --back -o all.jsonl
  shroom datasets convert felm felm.json --back --predictions submission.json -o felm.pred.jsonl
"""


@click.command("convert", epilog=EXAMPLES)
@click.argument("name")
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write to this file, folder or .zip file; - for stdout.",
)
@click.option("--view", help="View that turns the records into datapoints.  [default: the first]")
@click.option("--back", is_flag=True, help="From SHROOM's form to the native one.")
@click.option(
    "--predictions",
    type=INPUT,
    help="With --back: this submission for PATH, in the native form of predictions.",
)
def convert(
    *,
    name: str,
    paths: tuple[str, ...],
    output: str,
    view: str | None,
    back: bool,
    predictions: str | None,
) -> None:
    """Turn the files of the data set NAME into SHROOM's form, or back.

    Each datapoint of a view is a row, with what is needed to come back without loss. OUTPUT is
    one file for all, or a folder or a zip with one for each. Without PATH, what was fetched is
    converted, or what lies in a cache of the Hugging Face hub. 'shroom datasets list' has the
    names and the views.
    """
    source = data_set(name)
    refuse_two_pipes(*paths, predictions)
    if predictions is not None and not back:
        raise click.UsageError("--predictions goes with --back")
    if back and not paths:
        raise click.UsageError("--back wants a PATH: what was converted")
    if back and view is not None:
        raise click.UsageError("--view does not go with --back: the rows tell their view")
    if predictions is not None:
        _predictions_back(source, paths, predictions, output)
    elif back:
        _back(source, paths, output)
    else:
        _forth(source, paths, output, view)


def _forth(source: DataSet, paths: Sequence[str], output: str, view: str | None) -> None:
    check_ending(output, ".json", ".jsonl")
    for path in paths:
        _refuse_another(source.name, path)
    problems = Problems()
    found = source.read(*paths, problems=problems) if paths else read_here(source.name, problems)
    made = converted(source, found, view)
    rows = [row for each in made for row in each.rows]
    say(problems)
    if not rows:
        raise ShroomError(
            f"{source.name}: nobody judged any of the {len(found.records)} records in this view, "
            "so there is nothing to convert"
        )
    texts = {f"{each.stem}.json": as_json(each.rows) for each in made if each.rows}
    if _is_one(output):
        texts = {source.name: as_json(rows, lines=ending(output) == ".jsonl")}
    _write(output, texts, paths, CSV if source.ending == ".csv" else JSON)
    if found.dropped:
        say([f"{found.dropped} rows could not be used, and will not come back"])
    for each in made:
        if not each.rows:
            say([f"{each.stem}: nobody judged its {each.records} records; they will not come back"])
        elif each.left_out:
            why = "nobody judged them, or there is no text to compare them with"
            say([f"{each.stem}: left out {each.left_out} datapoints: {why}"])
    count = sum(each.records for each in made if each.rows)
    say([f"wrote {len(rows)} datapoints of {count} records to {output}"])


def _refuse_another(name: str, path: str) -> None:
    try:
        refuse_another(name, path)
    except ShroomError as error:
        if guess(path) != SHROOM:
            raise
        raise ShroomError(f"{error}; to bring back what was converted, add --back") from None


def _back(source: DataSet, paths: Sequence[str], output: str) -> None:
    check_ending(output, source.ending, *([".json"] if source.ending == ".jsonl" else []))
    returned = [each for file, rows in _items(paths) for each in come_back(source, rows, file)]
    records = [record for each in returned for record in each.records]
    texts = {each.name: source.write(each.records) for each in returned}
    if _is_one(output):
        texts = {source.name: _listed(source.write(records), output)}
    elif len(texts) < len(returned):
        raise ShroomError("two of the files have one name; bring them back one by one")
    _write(output, texts, paths, JSON)
    say([f"wrote {len(records)} records to {output}"])


def _predictions_back(source: DataSet, paths: Sequence[str], predictions: str, output: str) -> None:
    if source.predictions is None:
        raise ShroomError(
            f"{source.name}: {source.no_predictions}; score the submission against the converted "
            "data: shroom score SUBMISSION PATH"
        )
    check_ending(output, ".json", ".jsonl")
    found = [] if "-" in paths else _items(paths)
    if len(found) != 1:
        raise click.UsageError("with --predictions, PATH is the one file that they are for")
    from shroom.scoring.check import check

    ((file, rows),) = found
    records = [record for each in come_back(source, rows, file) for record in each.records]
    checked = check(predictions, data=paths[0])
    checked.raise_for_errors()
    say(checked.problems)
    (track,) = checked.tracks
    label, p = track.predictions.label[track.rows], track.predictions.p[track.rows]
    text = source.predictions(records, label == 1, np.clip(p, 0, 1))
    name = f"{source.name}.pred.jsonl"
    _write(output, {name: _listed(text, output)}, [*paths, predictions], JSON)
    say([f"wrote predictions for {len(records)} records to {output}"])


def _items(paths: Sequence[str]) -> list[tuple[str, list[Any]]]:
    problems = Problems()
    found = [(document.file, items) for document, items in items_of(paths, problems)]
    if problems.errors:
        raise InvalidInput(problems)
    return found


def _is_one(output: str) -> bool:
    return output == "-" or names_a_file(output)


def _listed(text: str, output: str) -> str:
    """Return JSON Lines as a list where the output's name wants one."""
    if ending(output) != ".json":
        return text
    return as_json([json.loads(line) for line in text.split("\n") if line])


def _write(
    output: str, texts: Mapping[str, str], inputs: Sequence[str], read: tuple[str, ...]
) -> None:
    """Write each text whole, to what ``output`` names; ``read`` are the endings of inputs."""
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
