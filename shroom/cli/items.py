"""``shroom items``."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import click

from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    TRACK_OPTION,
    format_option,
    refuse_two_pipes,
)
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.paths import shown_path
from shroom.core.problems import InvalidInput, ShroomError

if TYPE_CHECKING:
    from shroom.core.datapoint import Datapoint
    from shroom.evaluation.contest import Contest
    from shroom.report.items import Listing
    from shroom.scoring.editions.edition import Edition

EXAMPLES = """\b
Examples:
  shroom items val.model-agnostic.json gold.json
  shroom items mine/ baseline/ other/ gold/ --unsolved --top 50
  shroom items mine/ baseline/ gold/ --differing mine baseline --track model-aware
  shroom items mine.zip gold/ --format csv -o items.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=INPUT)
@edition_option("gold")
@click.option(
    "--hardest", metavar="SYSTEM", help="Show the items on which this submission is most wrong."
)
@click.option("--unsolved", is_flag=True, help="Show the items that no system labels right.")
@click.option(
    "--differing",
    nargs=2,
    metavar="A B",
    help="Show the items that exactly one of these two labels right.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of items to show of each track.",
)
@TRACK_OPTION
@click.option("--data", type=PATH, help="Data with the texts, if the gold has none.")
@format_option(
    "text", "json", "csv", about="Print text, one JSON object, or a row for each item and system."
)
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
def command(
    *,
    submissions: tuple[str, ...],
    gold: str,
    edition: Edition,
    hardest: str | None,
    unsolved: bool,
    differing: tuple[str, str] | None,
    top: int,
    track: str | None,
    data: str | None,
    form: str,
    output: str | None,
) -> None:
    """Show the items of GOLD that are hard for SUBMISSIONS, with their texts.

    By default those on which the one submission is most wrong, or those that none of several
    labels right. A system is named as in the output, or by its path.
    """
    from shroom.evaluation.contest import contests, names, read
    from shroom.report.items import to_csv, to_text

    if (hardest is not None) + (differing is not None) + unsolved > 1:
        raise click.UsageError("give one of --hardest, --unsolved and --differing")
    refuse_two_pipes(*submissions, gold)
    if output:
        refuse_overwriting([output], [*submissions, gold, data])
    verdicts, problems = read(submissions, gold, edition=edition)
    system = dict(zip(submissions, names(submissions, edition)))
    chosen = differing or (() if hardest is None else (hardest,))
    asked = [system.get(shown_path(name), name) for name in chosen]
    if not asked and not unsolved and len(verdicts) == 1:
        asked = list(verdicts)
    tracks = [contest for contest in contests(verdicts) if track in (None, contest.name.track)]
    if not tracks:
        raise ShroomError(f"no submission has the {track} track")
    # A system need not be on every track; where it is on none, listing the first one says so.
    fitting = [contest for contest in tracks if all(name in contest.tracks for name in asked)]
    notes: list[str] = []
    listings = [
        _listing(contest, asked, top, _datapoints(contest, gold, data, notes))
        for contest in fitting or tracks[:1]
    ]
    if form == "json":
        results = [listing.to_dict() for listing in listings]
        warnings = [line.removeprefix("warning: ") for line in (*map(str, problems), *notes)]
        text = json.dumps({"results": results, "warnings": warnings}, allow_nan=False) + "\n"
    elif form == "csv":
        text = to_csv(listings)
    else:
        text = to_text(listings, shutil.get_terminal_size().columns)
    deliver(text, output)
    say(problems)
    say(f"shroom: {note}" for note in notes)


def _datapoints(
    contest: Contest, gold: str, data: str | None, notes: list[str]
) -> list[Datapoint] | None:
    """Return the texts of a contest's items; ``None``, with a note, where the gold has none."""
    from shroom.evaluation.item_difficulty import datapoints

    try:
        return datapoints(contest, data or gold)
    except InvalidInput as error:
        if data:
            raise
        why = next(iter(error.problems))
        notes.append(f"{why}; so no texts are shown: name the data that has them with --data")
        return None


def _listing(
    contest: Contest, asked: list[str], top: int, points: list[Datapoint] | None
) -> Listing:
    """Return a system's hardest items, those where two differ, or those that none gets right."""
    from shroom.evaluation.item_difficulty import differing, hardest, unsolved, with_texts, wrong
    from shroom.report.items import Listing

    if len(asked) == 1:
        order, items = "hardest", hardest(contest, asked[0], top)
        total = int(wrong(contest, asked[0]).sum())
    else:
        order = "differing" if asked else "unsolved"
        items = differing(contest, asked[0], asked[1]) if asked else unsolved(contest)
        total = len(items)
    shown = items[:top] if points is None else with_texts(items[:top], points)
    systems = tuple(asked or contest.systems)
    about = contest.name, contest.gold.n, order, systems, total, shown, contest.signature
    return Listing(*about, contest.in_sample)
