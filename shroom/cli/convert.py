"""``shroom convert``."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import click
import numpy as np

from shroom.cli.options import COLUMNS_OPTION
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import prepare, write_files
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError, printable, show
from shroom.datasets import nli_outputs
from shroom.datasets.conversion.to_shroom import as_json
from shroom.datasets.nli_outputs import CONTRADICTION, ENTAILMENT
from shroom.detectors.nli import FORMULAS, p_from
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.prediction.submission_rows import check_output, name_for, text_of
from shroom.scoring.align import AlignedTrack, align
from shroom.scoring.check import read_table
from shroom.scoring.column_checks import check_doubled
from shroom.scoring.editions.files import default
from shroom.scoring.file_choice import latest
from shroom.scoring.gold_by_id import name_by_rows
from shroom.scoring.input_files import TABLES, documents, documents_among_others
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shroom.datasets.nli_outputs import Recorded
    from shroom.scoring.input_files import Document

EXAMPLES = """\b
Examples:
  shroom convert nli nli.val.model-aware.csv val.model-aware.json -o predictions.json
  shroom convert nli nli.test.model-aware.csv data_folder -o submission.zip
  shroom convert nli csv_folder data_folder --model my-mnli -o submissions/my-mnli
  shroom convert table predictions.csv --columns p=score,label=pred -o predictions.json
"""


def kind_given(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the kind of conversion; data sets have another command."""
    del ctx
    if value not in ("nli", "table"):
        hint = "the data sets have a command of their own: shroom datasets convert"
        shown = printable(value)
        raise click.BadParameter(f"expected nli or table, got '{shown}'; {hint}", param=param)
    return value


@click.command(epilog=EXAMPLES)
@click.argument("kind", callback=kind_given, metavar="{nli|table}")
@click.argument("csv", type=PATH)
@click.argument("data", type=INPUT, required=False)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write to this .json file, .zip or folder."
)
@click.option(
    "--score",
    "formula",
    type=click.Choice(FORMULAS),
    default=FORMULAS[0],
    show_default=True,
    help="Formula of p(Hallucination) from C(ontradiction) and E(ntailment).",
)
@click.option(
    "--model", help="Model whose files to convert, from a folder with several models' files."
)
@COLUMNS_OPTION
def command(
    *, kind: str, csv: str, data: str | None, output: str, formula: str, model: str | None
) -> None:
    """Write what another tool has recorded as JSON: an NLI model's outputs, or any table.

    table: CSV is a CSV or TSV file of predictions, gold or data, a folder or zip of such files, or
    - for a pipe; each row with an id, or with label and p, becomes an object. 'shroom check' checks
    the result.

    nli: a submission is made. CSV is a file with the columns p(Contr), perhaps p(Entl), and id
    where DATA has ids, or a folder with one model's files. DATA is the file that they are about, or
    a folder or zip from which it is chosen by the split and track in the CSV's name. Without
    p(Entl), p is p(Contr).
    """
    if kind == "table":
        if data is not None:
            raise click.UsageError("table takes no DATA")
        _write_tables(csv, output)
        return
    if data is None:
        raise click.UsageError("nli needs DATA, which the outputs are about")
    problems = Problems()
    sources = nli_outputs.files(csv, model)
    listed = documents_among_others(data, problems)
    converted = [_converted(source, listed, formula, problems) for source in sources]
    if problems.errors:
        raise InvalidInput(problems)
    files: dict[str, str] = {}
    count = 0
    for source, result in zip(sources, converted):
        if result is not None:  # without errors, all of them are there
            track, text = result
            name = name_for(track.name, output, source.name)
            if name in files:
                raise ShroomError(f"{source}: another file is of this split and track, too")
            files[name] = text
            count += track.predictions.n
    prepare(output, list(files), [csv, data])
    check_output(files)
    say(problems)
    write_files(output, files, [csv, data])
    say([f"wrote {counted(count, 'prediction')} to {output}"])


def _write_tables(source: str, output: str) -> None:
    """Write tables as JSON, each under its own name."""
    problems = Problems()
    files, count = {}, 0
    for document in documents(source, problems, endings=TABLES):
        data = document.read(problems)
        items = None if data is None else document.items(data, problems)
        base = PurePath(document.base)
        name = f"{(base.with_suffix('') if base.suffix.lower() == '.gz' else base).stem}.json"
        if name in files:
            raise ShroomError(f"{document.file}: another file would be written as {name}, too")
        files[name] = as_json(items or [])
        count += len(items or [])
    if problems.errors:
        raise InvalidInput(problems)
    prepare(output, list(files), [source])
    say(problems)
    write_files(output, files, [source])
    say([f"wrote {counted(count, 'row')} to {output}"])


def _converted(
    source: Path, documents: list[Document], formula: str, problems: Problems
) -> tuple[AlignedTrack, str] | None:
    """Return a CSV file aligned with its data, and as JSON; ``None`` if problems prevent that."""
    recorded = nli_outputs.recorded(source, problems)
    document = _data_of(source, documents, problems)
    data = None if document is None else read_table(document, Role.DATA, problems)
    if document is None or recorded is None or data is None:
        return None
    p = _p(recorded, formula, problems)
    ids = None if data.ids is None else recorded.ids
    predictions = Table(recorded.file, len(p), (p > DEFAULT_THRESHOLD).astype(np.int8), p, ids=ids)
    edition = default()
    name = edition.guess(source.name) or edition.guess(document.base)
    name = name or name_by_rows(data, edition)
    if problems.count("id-integer", recorded.file):
        return None
    check_doubled(predictions, problems)
    track = align(name, predictions, data, problems, edition)
    if not isinstance(track, AlignedTrack):
        return None
    rows, more = track.rows, {}
    if recorded.entailment is not None:  # which p alone does not contain
        more[CONTRADICTION] = recorded.contradiction[rows]
        more[ENTAILMENT] = recorded.entailment[rows]
    return track, text_of(predictions.label[rows], p[rows], data.ids, more)


def _data_of(source: Path, documents: list[Document], problems: Problems) -> Document | None:
    """Return the data that a CSV file is about: of its split and track, or the only one."""
    name = default().guess(source.name)
    other = default().guess(documents[0].base) if len(documents) == 1 else None
    if len(documents) == 1 and (name is None or other is None or name.key == other.key):
        return documents[0]
    if documents and name is None:
        expected = "a name with split and track, to choose the data by"
        problems.add("file-name", str(source), expected, show(source.name))
    elif documents and name is not None:
        document = latest(documents, problems).get(name.key)
        if document is None:
            listed = ", ".join(candidate.base for candidate in documents[:5])
            problems.add("no-gold", str(source), f"data for {name}", listed)
        return document
    return None


def _p(recorded: Recorded, formula: str, problems: Problems) -> NDArray[np.float64]:
    """Return p(Hallucination) by a formula; without entailment it is that of contradiction."""
    if recorded.entailment is not None:
        return p_from(recorded.entailment, recorded.contradiction, formula)
    if formula == "1-e":
        expected = f'a column "{ENTAILMENT}", for --score 1-e'
        problems.add("key-missing", recorded.file, expected, "none")
    return recorded.contradiction
