"""``shroom fit``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, cast

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import INPUT, ON_DISK, option, refuse_two_pipes
from shroom.cli.output import read_aloud
from shroom.cli.running import SETTINGS, recipe_of, shown_progress
from shroom.core.atomic_writing import check_targets
from shroom.core.problems import Problems, ShroomError
from shroom.detectors.fitted import FittedDetector
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.registry import Recipe, check_annotation, class_of
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.tables import Table, text


@verb()
@click.argument("detector")
@click.argument("data", nargs=-1, required=True, type=INPUT)
@edition_option("data", any_kind=True)
@option("-o --output", "Write the model to this path.", ON_DISK, required=True)
@option("--model", "Encoder to start from: a folder, or a name on the Hugging Face Hub.")
@SETTINGS
@option("--folds", "Number of cross-validation folds; 0 for none.", click.IntRange(0, 100), 10)
def command(
    *, detector: str, data: tuple[str, ...], output: str, edition: Edition, **options: Any
) -> None:
    """Fit DETECTOR on labelled DATA and write the model.

    The printed scores are cross-validated: each datapoint is predicted by a model that was fitted
    without that datapoint.

    Examples
    --------
    shroom fit lexical gold/ -o lexical.json
    shroom fit lexical gold/ --set threshold=0.4 --folds 5 -o lexical.json
    shroom fit baselines/lexical.toml val.model-aware.json --folds 0 -o lexical.json
    """
    model, settings, folds = (options[name] for name in ("model", "settings", "folds"))
    refuse_two_pipes(*data)
    if folds == 1:
        raise click.BadParameter(
            "one fold leaves no data to fit on; use 0 or at least 2 folds", param_hint="--folds"
        )
    recipe = Recipe.of(detector)
    kind = class_of(recipe.detector)
    check_annotation(kind, edition)
    inputs = [*data, model, recipe.path]
    check_targets([output], inputs, folders=True)
    check_targets([f"{output}/config.json"] if Path(output).is_dir() else [], inputs)
    files = read_aloud(_labelled, data, edition)
    if not issubclass(kind, FittedDetector):
        raise ShroomError(f"the detector {recipe.detector} cannot be fitted")
    made = recipe_of(detector, settings, **{kind.start_setting: model}).make()
    chosen = cast("FittedDetector", made)
    points = [point for file in files for point in file.datapoints]
    words = [detector, *(file.base for file in files)]
    words += ["--model", Path(model).name] if model else []
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    words += ["--folds", str(folds), "-o", Path(output).name]  # shown without the files' folders
    about: dict[str, Any] = {"command": shlex.join(["shroom", "fit", *words])}
    items = TrainingItems.of(points)
    figures: dict[str, dict[str, float | None]] = {}
    with shown_progress("fitting") as report:
        chosen.report = lambda at: report(at.step, at.steps, f"loss {at.loss:.3f}")
        if folds:
            by_file = {name: file.datapoints for name, file in zip(_distinct(files), files)}
            items, figures = chosen.cross_validate(by_file, folds)
            about |= {"out_of_fold": figures, "folds": folds}
        chosen.fit(points, [point.p for point in points])
    chosen.remember(items)
    chosen.save(output, **about)
    if not figures:
        click.echo(f"wrote {output}")
        return
    heads = "out of fold", *next(iter(figures.values()))
    rows = [(base, *scores.values()) for base, scores in figures.items()]
    click.echo(text([Table(heads=heads, rows=rows)]), nl=False)


def _labelled(data: tuple[str, ...], edition: Edition, problems: Problems) -> list[DataFile]:
    files = [file for source in data for file in read_files(source, problems, edition=edition)]
    for file in files:
        if any(point.p is None or point.label is None for point in file.datapoints):
            what = "label or p(Hallucination)" if edition.annotation.kind == "binary" else "spans"
            raise ShroomError(
                f"{file.base}: some datapoints have no {what}; fitting needs labelled data"
            )
    return files


def _distinct(files: list[DataFile]) -> list[str]:
    """Return a name for each file: its own, with a number if several have the same."""
    bases = [file.base for file in files]
    before = [bases[:place].count(base) for place, base in enumerate(bases)]
    return [f"{base} ({n + 1})" if n else base for base, n in zip(bases, before)]
