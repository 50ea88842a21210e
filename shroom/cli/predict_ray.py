"""``shroom predict --engine ray``."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.options import F
from shroom.cli.output import if_interrupted, note, say
from shroom.cli.progress import shown_progress
from shroom.core.atomic_writing import names_a_file, names_a_zip
from shroom.core.problems import ShroomError
from shroom.detectors.recipe import Recipe
from shroom.inference.resume_log import PARTIAL
from shroom.inference.run_settings import Run
from shroom.scoring.editions.edition import Edition

if TYPE_CHECKING:
    from shroom.prediction.ray.manifest import Manifest


@dataclass(frozen=True)
class Ray:
    """A Ray cluster: one that runs at an address, or one of so many workers that is begun here."""

    address: str | None
    workers: int | None

    def predict(
        self, recipe: Recipe, data: str, output: str, run: Run, edition: Edition, *, resume: bool
    ) -> None:
        """Judge the shards of a file or folder, and write their predictions into a folder."""
        from shroom.prediction.ray.manifest import MANIFEST, SUBMISSION, Manifest, write_submission
        from shroom.prediction.ray.shards import shards_of
        from shroom.prediction.ray.storage import Place

        if output == "-" or names_a_file(output) or names_a_zip(output):
            raise click.UsageError(f"--engine ray writes a folder, and {output} is not one")
        if run.device not in (None, "cpu", "cuda"):
            raise click.UsageError(f"--engine ray takes --device cpu or cuda, got {run.device}")
        shards = shards_of(data, recipe.data, edition)
        out = Place(output)
        if f"{out.of('')}/".startswith(f"{Place(data).of('')}/"):
            raise ShroomError(f"{output}: is in the data; name another folder")
        with out.alone(f"{MANIFEST}{PARTIAL}"):
            manifest = Manifest(out, shards, recipe, run, resume=resume)
            self._judge(manifest, recipe, run)
            written = write_submission(out, shards)
        parts = f"{len(shards)} parts and {MANIFEST}"
        say([f"wrote {manifest.rows} predictions to {output}: {parts}"])
        if written:
            say([f"and the submission of them to {out.of(SUBMISSION)}"])

    def _judge(self, manifest: Manifest, recipe: Recipe, run: Run) -> None:
        """Judge the shards that are missing."""
        from shroom.prediction.ray.cluster import outcomes
        from shroom.prediction.ray.manifest import run_shards

        total = len(manifest.shards)

        def done() -> str:
            return f"{total - len(manifest.missing)} of {total} shards are done"

        if len(manifest.missing) < total:
            note(done())
        judge = functools.partial(
            outcomes, recipe=recipe, run=run, address=self.address, workers=self.workers
        )
        kept = if_interrupted(lambda: f"{done()}; to go on from them, add --resume")
        with kept, shown_progress("shards") as report:
            problems = run_shards(manifest, judge, report=report, note=note)
        say(problems)


def RAY_OPTIONS(command: F) -> F:  # noqa: N802 - named like the other options
    """Add the choice of an engine to a verb, which gets Ray's as ``ray``, or ``None``."""

    @click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        help="Run in this process, or on a Ray cluster, which writes a part for each file.",
    )
    @click.option(
        "--address", help="Address of a running Ray cluster; by default, one is started here."
    )
    @click.option(
        "--workers",
        type=click.IntRange(1),
        help="Number of Ray workers; by default one for each core.",
    )
    @functools.wraps(command)
    def collected(*, engine: str, address: str | None, workers: int | None, **values: Any) -> Any:
        if engine != "ray" and (address or workers):
            raise click.UsageError("--address and --workers are for --engine ray")
        if engine == "ray" and (values.get("dry_run") or values.get("max_cost") is not None):
            raise click.UsageError("--dry-run and --max-cost are not for --engine ray")
        return command(ray=Ray(address, workers) if engine == "ray" else None, **values)

    return collected  # type: ignore[return-value]
