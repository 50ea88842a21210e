"""``shroom predict --engine ray``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import click

from shroom.cli.options import option, together
from shroom.cli.output import note, say
from shroom.cli.running import if_interrupted, shown_progress
from shroom.core.atomic_writing import names_a_file, names_a_zip
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import Run
from shroom.inference.store import PARTIAL, kept
from shroom.scoring.editions.edition import Edition


def predict_on_ray(
    recipe: Recipe, data: str, output: str, run: Run, edition: Edition, *, resume: bool, **ray: Any
) -> None:
    """Predict the shards of the data; ``ray`` has the arguments of the cluster."""
    from shroom.prediction.ray.cluster import outcomes
    from shroom.prediction.ray.manifest import (
        MANIFEST,
        SUBMISSION,
        Manifest,
        run_shards,
        write_submission,
    )
    from shroom.prediction.ray.shards import Place, shards_of

    if output == "-" or names_a_file(output) or names_a_zip(output):
        raise click.UsageError(f"--engine ray writes a folder, but {output} is not a folder")
    if run.device not in (None, "cpu", "cuda"):
        raise click.UsageError(f"--engine ray accepts --device cpu or cuda, got {run.device}")
    shards = shards_of(data, recipe.data, edition)
    out = Place(output)
    if f"{out.of('')}/".startswith(f"{Place(data).of('')}/"):
        raise ShroomError(f"{output} is inside the data; choose another folder")
    # Object stores have no locks.
    with nullcontext() if out.is_uri else _reserved(Path(output), MANIFEST + PARTIAL):
        manifest = Manifest(out, shards, recipe, run, resume=resume)
        judged = outcomes(manifest.missing, data, recipe, run=run, **ray)

        def done() -> str:
            return f"finished shards: {len(shards) - len(manifest.missing)} of {len(shards)}"

        if len(manifest.missing) < len(shards):
            note(done())
        with (
            if_interrupted(lambda: f"{done()}; to continue, add --resume"),
            shown_progress("shards") as report,
        ):
            say(run_shards(manifest, judged, report=report, note=note))
        written = write_submission(out, shards)
    parts = f"{counted(len(shards), 'part')} and {MANIFEST}"
    say([f"wrote {counted(manifest.rows, 'prediction')} to {output}: {parts}"])
    if written:
        say([f"wrote the submission to {out.of(SUBMISSION)}"])


@contextmanager
def _reserved(folder: Path, name: str) -> Iterator[None]:
    """Lock a folder against other runs by an empty store; remove a new folder if it stays empty."""
    is_new, hint = not folder.exists(), "wait until it ends, or choose another folder"
    try:
        with kept(folder / name, note, resume=True, hint=hint):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it has files now
                folder.rmdir()


def _ray(values: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of the cluster; ``None`` without Ray."""
    is_ray = values.pop("engine") == "ray"
    cluster = {name: values.pop(name) for name in ("address", "workers")}
    if not is_ray and any(cluster.values()):
        raise click.UsageError("--address and --workers require --engine ray")
    if is_ray and (values["dry_run"] or values["max_cost"] is not None):
        raise click.UsageError("--dry-run and --max-cost cannot be combined with --engine ray")
    return cluster if is_ray else None


#: The options of the engine; a verb receives them as ``ray``, which is ``None`` without Ray.
RAY_OPTIONS = together(
    "ray",
    _ray,
    option(
        "--engine",
        "Run in this process, or on a Ray cluster. On a cluster, one prediction file is written "
        "for each input file.",
        ("local", "ray"),
        "local",
    ),
    option(
        "--address",
        "Address of a running Ray cluster; by default, a cluster is started on this machine.",
    ),
    option("--workers", "Number of Ray workers; by default, one per core.", click.IntRange(1)),
)
