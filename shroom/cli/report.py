"""``shroom report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option, refuse_other_kinds
from shroom.cli.options import (
    BY_OPTION,
    INPUT,
    METRICS_OPTION,
    OUTPUT,
    PATH,
    TRACK_OPTION,
    TRIALS_OPTION,
    format_option,
    interval_options,
    option,
    refuse_two_pipes,
)
from shroom.cli.output import command_line, deliver, deliver_page, json_text, say, say_alike
from shroom.cli.result_options import refuse_other_ending
from shroom.core.atomic_writing import check_targets, write_atomically
from shroom.core.problems import Problems
from shroom.report.figure_files import FORMATS
from shroom.report.report_plots import KINDS, panels
from shroom.scoring.editions.edition import Edition

_FORMATS = ("html", "csv", "json")


@verb()
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=PATH)
@option("-o --output", "Write to this file; without it, csv and json go to stdout.", OUTPUT)
@format_option(*_FORMATS, about="Write a page, or one row per gold item.")
@option("--figure", "Draw only this figure, and write it to a .svg, .pdf or .png file.", KINDS)
@edition_option("gold", any_kind=True)
@TRACK_OPTION
@BY_OPTION
@METRICS_OPTION
@TRIALS_OPTION
@interval_options(10_000)
def command(
    *, submissions: tuple[str, ...], gold: str, output: str | None, form: str, **settings: Any
) -> None:
    """Score SUBMISSIONS against GOLD, and write a page with scores, plots and the hardest items.

    Instead of the page, --figure draws one figure, and --format csv or json writes one row per
    item.

    Examples
    --------
    shroom report mine/ theirs.zip gold/ -o report.html
    shroom report mine/ gold/ --figure reliability -o reliability.pdf
    shroom report mine/ theirs.zip gold/ --format csv -o items.csv
    """
    figure = settings.pop("figure")
    refuse_two_pipes(*submissions)
    if figure and form != "html":
        raise click.UsageError("--figure and --format cannot be combined")
    suffix = Path(output or "").suffix.lower().removeprefix(".")
    if figure and suffix not in FORMATS:
        raise click.UsageError("--figure needs a .svg, .pdf or .png file as output; add -o FILE")
    if form == "html" and not output:
        raise click.UsageError("the page needs an output file; add -o FILE, or -o - for stdout")
    output = output or "-"
    check_targets([output], [*submissions, gold])
    if not figure:
        refuse_other_ending(output, form)
    if form != "html":
        edition, track = settings["edition"], settings["track"]
        text, problems = _rows(submissions, gold, form, edition, track)
        deliver(text, output)
        say([f"wrote {output}"] if output != "-" else [])
        say(problems)
        return
    from shroom.core.extras import require
    from shroom.evaluation.report import report
    from shroom.report.figure_files import file
    from shroom.report.report_page import page

    require("report", *([] if figure else ["jinja2"]), "matplotlib")
    result = report(submissions, gold, **settings)
    if figure:
        drawn = panels(figure, result)
        write_atomically(output, file(drawn, suffix))
        say([f"wrote {output}"])
        notes = [f"{it.title}, {it.track}: not drawn: {it.about}" for it in drawn if not it.draw]
    else:
        deliver_page(page(result, command_line()), output, [*submissions, gold, output])
        notes = [*result.unsliced]
    say(result.warnings)
    say_alike(f"shroom: {note}" for note in notes)


def _rows(
    submissions: tuple[str, ...], gold: str, form: str, edition: Edition, track: str | None
) -> tuple[str, Problems]:
    """Return the rows of the items as CSV or JSON, and the problems of the inputs."""
    from shroom.evaluation.board import boards, chosen, items
    from shroom.evaluation.report import items_as_csv
    from shroom.evaluation.submissions import read
    from shroom.scoring.result import joined

    refuse_other_kinds(edition)
    verdicts, problems = read(submissions, gold, edition=edition)
    tracks = chosen(boards(verdicts), track)
    rows = [item for board in tracks for item in items(board)]
    if form == "csv":
        return items_as_csv(rows), problems
    signature = joined(board.signature for board in tracks)
    warnings = [problem.sentence for problem in problems]
    return json_text({"items": rows, "signature": signature, "warnings": warnings}), problems
