"""``shroom judge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.options import SETTINGS, usage_errors
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.progress import shown_progress
from shroom.core.atomic_writing import check_ending, refuse_overwriting, refuse_unwritable
from shroom.core.json_writing import json_lines
from shroom.core.problems import Problems
from shroom.core.registry import Entry, Registry
from shroom.detectors.judge.felm_methods import METHODS, Response
from shroom.inference.run_settings import Run

if TYPE_CHECKING:
    from shroom.detectors.judge.felm_methods import SegmentJudge

EXAMPLES = """\b
Examples:
  shroom judge felm felm/all.jsonl --model NAME --endpoint http://localhost:8080/v1 --dry-run
  shroom judge felm felm/all.jsonl --method cot --model NAME --endpoint URL -o predictions.jsonl
  shroom score predictions.jsonl felm/all.jsonl
"""
#: The judges of data sets in their native form.
JUDGES: Registry[Entry] = Registry(
    "judge of", {"felm": Entry("shroom.detectors.judge.felm_methods:SegmentJudge")}
)


@click.command(epilog=EXAMPLES)
@click.argument("dataset", type=click.Choice(JUDGES))
@click.argument("data", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, help="Write the predictions to this .jsonl file.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Ask for only the answer, for a thought first, with links or texts of the references, "
    "or for several answers with thoughts.  [default: raw]",
)
@click.option("--model", help="Name of the model at the endpoint.")
@click.option("--endpoint", help="URL of the endpoint, such as http://localhost:8080/v1.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    help="Number of answers to a prompt, of which the majority counts.  [default: 5 for cot-cons, "
    "else 1]",
)
@SETTINGS
@click.option("--max-cost", type=Number(0), help="Stop before exceeding this cost.")
@click.option("--dry-run", is_flag=True, help="Show the requests and their cost, and stop.")
def command(
    *,
    dataset: str,
    data: str,
    output: str | None,
    settings: dict[str, Any],
    dry_run: bool,
    **options: Any,
) -> None:
    """Ask a language model which segments of the responses in DATA are wrong.

    The requests, the prompts of each METHOD and the reading of answers are those of the authors of
    FELM. Answers are kept as they arrive: the same command continues an interrupted run.
    """
    from shroom.datasets.felm import reader as felm
    from shroom.datasets.felm.predictions import Predictions
    from shroom.datasets.registry import refuse_another

    if output is None and not dry_run:
        raise click.UsageError("missing option '-o': name a file for the predictions")
    if output and output != "-":
        check_ending(output, ".jsonl")
    options = {name: value for name, value in options.items() if value is not None}
    with usage_errors():
        judge: SegmentJudge = JUDGES.make(dataset, **{**settings, **options})
    refuse_another(dataset, data)
    problems = Problems()
    records = felm.read(data, problems=problems).records
    say(problems)
    responses = [
        Response(r.domain, r.prompt, r.segmented_response, r.ref, r.ref_contents) for r in records
    ]
    estimate = judge.dry_run(responses)
    if output is None or dry_run:
        click.echo(str(estimate))
        return
    if output != "-":
        refuse_overwriting([output], [data])
        refuse_unwritable([Path(output)])
    say([str(estimate).partition("\n")[0]])
    try:
        with shown_progress(dataset) as report:
            run = Run(report=report, note=lambda text: say([f"note: {text}"]))
            wrong, p = judge.judge(responses, run)
    except KeyboardInterrupt:
        if judge.endpoint.folder:
            say(["the answers so far are kept; the same command goes on from there"])
        raise
    rows = Predictions(wrong, p if judge.samples > 1 else None).rows(records)
    deliver(json_lines(rows), output)
