"""FELM's segments in ``shroom predict``: the judge is asked which of them are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from shroom.cli.output import deliver, note, read_aloud, say
from shroom.cli.running import if_interrupted, watched
from shroom.core.atomic_writing import check_targets
from shroom.core.json_writing import json_lines
from shroom.core.registry import check_settings, settings_of
from shroom.datasets import felm
from shroom.detectors.judge.felm_methods import Response, SegmentJudge
from shroom.inference.run_settings import Run


def predict_segments(
    settings: Mapping[str, Any], data: str, output: str | None, *, dry_run: bool
) -> None:
    """Ask the model about all segments, and write predictions in FELM's form."""
    check_settings("judge for FELM segments", settings, settings_of(SegmentJudge))
    judge = SegmentJudge(**settings)
    check_targets([output] if output else [], [data], (".jsonl",))
    records = read_aloud(felm.read, data).records
    responses = [
        Response(r.domain, r.prompt, r.segmented_response, r.ref, r.ref_contents) for r in records
    ]
    estimate = judge.dry_run(responses)
    if output is None or dry_run:
        click.echo(str(estimate))
        return
    say([str(estimate).partition("\n")[0]])
    kept = "the answers so far are stored; to continue, run the same command again"
    run = Run(note=note)
    with if_interrupted(lambda: kept if judge.folder else ""), watched(run, "felm") as run:
        wrong, p = judge.judge(responses, run)
    rows = felm.predictions(records, wrong, p if judge.n > 1 else None)
    deliver(json_lines(rows), output)
