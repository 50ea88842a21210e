"""``shroom items``."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from shroom.cli.options import COLUMNS_OPTION, TRACK_OPTION, format_option, refuse_two_pipes
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import InvalidInput, ShroomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.core.datapoint import Datapoint
    from shroom.evaluation.contest import Contest
    from shroom.report.items import Listing

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
@COLUMNS_OPTION
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

    if (hardest is not None) + (differing is not None) + unsolved > 1:
        raise click.UsageError("give one of --hardest, --unsolved and --differing")
    refuse_two_pipes(*submissions, gold)
    if output:
        refuse_overwriting([output], [*submissions, gold, data])
    verdicts, problems = read(submissions, gold)
    system = dict(zip(submissions, names(submissions)))
    given = differing or (() if hardest is None else (hardest,))
    asked = [system.get(name, name) for name in given]
    if not asked and not unsolved and len(verdicts) == 1:
        asked = list(verdicts)
    found = [contest for contest in contests(verdicts) if track in (None, contest.name.track)]
    if not found:
        raise ShroomError(f"no submission has the {track} track")
    # A system need not be on every track; where it is on none, listing the first one says so.
    fitting = [each for each in found if all(name in each.tracks for name in asked)]
    notes: list[str] = []
    listings = [
        _listing(contest, asked, top, _datapoints(contest, gold, data, notes))
        for contest in fitting or found[:1]
    ]
    deliver(render(listings, form, [*map(str, problems), *notes]), output)
    say(problems)
    say(f"shroom: {note}" for note in notes)


def _datapoints(
    contest: Contest, gold: str, data: str | None, notes: list[str]
) -> list[Datapoint] | None:
    """Return the texts of a contest's items; ``None``, with a note, where the gold has none."""
    from shroom.evaluation.gold_texts import datapoints

    try:
        return datapoints(contest, data or gold)
    except InvalidInput as error:
        if data:
            raise
        why = next(iter(error.problems))
        notes.append(f"{why}; so no texts are shown: name the data that has them with --data")
        return None


def _listing(
    contest: Contest, asked: Sequence[str], top: int, points: Sequence[Datapoint] | None
) -> Listing:
    """Return a system's hardest items, those where two differ, or those that none gets right."""
    from shroom.evaluation import item_difficulty
    from shroom.report.items import Listing

    if len(asked) == 1:
        order, items = "hardest", item_difficulty.hardest(contest, asked[0], top)
        those = item_difficulty.wrong(contest, asked[0])
    elif asked:
        a, b = asked
        order, items = "differing", item_difficulty.differing(contest, a, b, top)
        those = item_difficulty.wrong(contest, a) != item_difficulty.wrong(contest, b)
    else:
        order, items = "unsolved", item_difficulty.unsolved(contest, top)
        those = item_difficulty.difficulty(contest) == 1
    return Listing(
        contest.name,
        contest.gold.n,
        order,
        tuple(asked or contest.systems),
        int(those.sum()),
        items,
        None if points is None else [points[item.row] for item in items],
        contest.signature,
        contest.in_sample,
    )


def render(listings: Sequence[Listing], form: str, warnings: Sequence[str]) -> str:
    """Return listings in one of the forms."""
    from shroom.report import items

    if form == "json":
        return items.to_json(listings, [line.removeprefix("warning: ") for line in warnings])
    if form == "csv":
        return items.to_csv(listings)
    return items.text(listings, shutil.get_terminal_size().columns)
