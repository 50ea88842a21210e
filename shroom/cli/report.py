"""``shroom report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option, refuse_other_kinds
from shroom.cli.options import (
    BY_OPTION,
    METRICS_OPTION,
    TRACK_OPTION,
    TRIALS_OPTION,
    format_option,
    interval_options,
)
from shroom.cli.output import deliver, deliver_page, json_text, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH, Number
from shroom.core.atomic_writing import refuse_overwriting, write_atomically
from shroom.core.problems import ShroomError
from shroom.report.figure_files import FORMATS
from shroom.report.report_plots import KINDS, panels
from shroom.scoring.editions.edition import Edition


@verb(
    "shroom report mine/ theirs.zip gold/ -o report.html",
    "shroom report mine/ gold/ --figure reliability -o reliability.pdf",
    "shroom report mine/ theirs.zip gold/ --format csv -o items.csv",
)
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=PATH)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="Write to this file; - for stdout, which is the default for rows.",
)
@format_option("html", "csv", "json", about="Write the page, or a row for each item of the gold.")
@click.option(
    "--figure",
    type=click.Choice(list(KINDS)),
    help="Draw only this figure, into a .svg, .pdf or .png file.",
)
@click.option("--width", type=Number(4, 100), default=16.0, help="Width of the figure in cm.")
@click.option(
    "--dpi",
    type=click.IntRange(20, 1200),
    default=300,
    help="Resolution of a PNG in dots per inch.",
)
@edition_option("gold", by_form=True, any_kind=True)
@TRACK_OPTION
@BY_OPTION
@METRICS_OPTION
@TRIALS_OPTION
@interval_options(1000)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    submissions: tuple[str, ...],
    gold: str,
    output: str | None,
    form: str,
    figure: str | None,
    width: float,
    dpi: int,
    **settings: Any,
) -> None:
    """Write a page about SUBMISSIONS on GOLD: scores, slices, plots and the hardest items.

    Instead of the page, --figure draws one figure, and --format csv or json writes one row per
    item.
    """
    if submissions.count("-") > 1 or gold == "-":
        raise click.UsageError("only one submission can come from the pipe (-)")
    if figure and form != "html":
        raise click.UsageError("give either --figure or --format")
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    if figure and suffix not in FORMATS:
        raise click.UsageError("name a file that ends in .svg, .pdf or .png with -o")
    if form == "html" and not output:
        raise click.UsageError("name the file of the page with -o, or - for stdout")
    output = output or "-"
    if Path(output).is_dir():
        raise ShroomError(f"{output}: is a folder; name the file to write")
    refuse_overwriting([output] if output != "-" else [], [*submissions, gold])
    if form == "html" and not figure and suffix in (*FORMATS, "csv", "json"):
        raise click.UsageError(f"{output}: a page is HTML; name .html, or add --figure or --format")
    if form != "html":
        _write_rows(submissions, gold, output, form, settings["edition"], settings["track"])
        return
    from shroom.core.extras import require
    from shroom.evaluation.report import report
    from shroom.report.figure_files import file
    from shroom.report.report_page import page

    require("report", *([] if figure else ["jinja2"]), "matplotlib")
    result = report(submissions, gold, **settings)
    if figure:
        drawn = panels(figure, result)
        write_atomically(output, file(drawn, suffix, width=width, dpi=dpi))
        notes = [f"{it.title}, {it.track}: left out: {it.about}" for it in drawn if not it.draw]
    else:
        deliver_page(page(result, command_line(ctx)), output, [*submissions, gold, output])
        notes = [*result.unsliced]
    say(result.warnings)
    say_alike(f"shroom: {note}" for note in notes)


def _write_rows(
    submissions: tuple[str, ...],
    gold: str,
    output: str,
    form: str,
    edition: Edition,
    track: str | None,
) -> None:
    from shroom.evaluation.contest import contests, read
    from shroom.report.item_rows import item_rows, to_csv
    from shroom.scoring.signature import joined

    refuse_other_kinds(edition)
    verdicts, problems = read(submissions, gold, edition=edition)
    tracks = [contest for contest in contests(verdicts) if track in (None, contest.name.track)]
    if not tracks:
        raise ShroomError(f"no submission is of the track {track}")
    rows = item_rows(tracks)
    if form == "csv":
        text = to_csv(rows)
    else:
        content = {
            "items": rows,
            "signature": joined(contest.signature for contest in tracks),
            "warnings": [problem.sentence for problem in problems],
        }
        text = json_text(content)
    deliver(text, output)
    say(problems)


def command_line(ctx: click.Context) -> str:
    """Return the command line with the options that were given."""
    words = ["shroom", ctx.info_name or ""]
    for param in sorted(ctx.command.params, key=lambda param: isinstance(param, click.Option)):
        if param.name not in ctx.params:  # it has no bearing on the page
            continue
        if ctx.get_parameter_source(param.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[param.name or ""]
        if isinstance(param, click.Argument):
            words += [*value] if param.nargs == -1 else [value]
        elif isinstance(param, click.Option):
            words += [param.opts[-1]] if param.is_flag else [param.opts[-1], _shown(value)]
    return shlex.join(words)


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(value)
    return f"{value}"
