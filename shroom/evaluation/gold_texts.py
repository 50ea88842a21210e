"""The texts of the items that a contest is about: its gold's rows as datapoints."""

from __future__ import annotations

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError
from shroom.evaluation.contest import Contest
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document
from shroom.scoring.table import Table


def datapoints(contest: Contest, source: Source) -> list[Datapoint]:
    """Return the datapoints of a contest's items, in the order of its gold.

    Parameters
    ----------
    contest : Contest
        What the items are of.
    source : path
        The gold itself, or the data that it was made from: a file, a folder or a zip. Of several
        files, the gold's own is read, else the one of its split and track.

    Raises
    ------
    InvalidInput
        With every problem, where the rows have no texts, or something is wrong with them.
    ShroomError
        Where the rows are not those of the gold.

    Examples
    --------
    >>> from shroom.evaluation.contest import contests, read
    >>> contest = contests(read(["shroom/sample"], "shroom/sample")[0])[0]
    >>> datapoints(contest, "shroom/sample")[2].task.value
    'TS'
    """
    files = read_files(source, choose=lambda found: _chosen(contest, found))
    if not files:
        raise ShroomError(f"{source}: has no file of {contest.name}, for the texts of its items")
    points = _aligned(files[0].datapoints, contest.gold, source)
    pairs = zip(points, contest.gold.p.tolist())
    if any(point.p is not None and point.p != p for point, p in pairs):
        raise ShroomError(
            f"{source}: has other p(Hallucination) than {contest.gold.file}, so these are other "
            "items; name the data that the gold is of"
        )
    return points


def _aligned(points: list[Datapoint], gold: Table, source: Source) -> list[Datapoint]:
    """Return the datapoints in the order of the gold: by id where both have ids, else as it is."""
    if gold.ids is not None and all(point.id is not None for point in points):
        by_id = {point.id: point for point in points}
        missing = [number for number in gold.ids.tolist() if number not in by_id]
        if missing:
            raise ShroomError(
                f"{source}: has no texts for {len(missing)} ids of {gold.file}, such as "
                f"{missing[0]}; name the data that the gold is of"
            )
        return [by_id[number] for number in gold.ids.tolist()]
    if len(points) != gold.n:
        raise ShroomError(
            f"{source}: has {len(points)} items, but {gold.file} has {gold.n}; name the data that "
            "the gold is of"
        )
    return points


def _chosen(contest: Contest, found: list[Document]) -> list[Document]:
    own = [document for document in found if document.file == contest.gold.file]
    if own or len(found) == 1:
        return own or found
    fitting = latest(found, Problems()).get((contest.name.split, contest.name.track))
    return [] if fitting is None else [fitting]
