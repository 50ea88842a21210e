"""An edition: the rules of one shared task, from the names of its files to its phases.

An edition is data. An organiser writes an ``edition.toml``, and the kit checks, scores and ranks by
it. :mod:`shroom.scoring.editions.files` reads and validates the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Optional

from shroom.core.datapoint import TASKS, Reference, Task
from shroom.scoring.column_names import OwnNames
from shroom.scoring.editions.competition import MAX_KEY, Column, Phase, Rule
from shroom.scoring.file_names import FileNames
from shroom.scoring.rows import P

#: The track of a column with the mean over all tracks.
MEAN = "mean"


@dataclass(frozen=True, eq=False)
class Track:
    """A track or a language. Each track has its own ranking.

    Attributes
    ----------
    name : str
        Name in file names.
    title : str
        Name for people.
    rows_have : str
        A key that all rows of this track have, and no row of another track. It identifies the
        track if the file name does not contain the track.
    """

    name: str
    title: str = ""
    rows_have: str = ""


@dataclass(frozen=True, eq=False)
class Split:
    """A split of the data.

    Attributes
    ----------
    name : str
        Name in file names.
    submitted : bool
        Whether teams submit predictions for this split.
    ids : bool
        Whether predictions need ids even if they are checked without gold.
    """

    name: str
    submitted: bool = True
    ids: bool = False


@dataclass(frozen=True, eq=False)
class TaskRule:
    """A task of the models whose outputs are judged, such as translation.

    Attributes
    ----------
    like : str
        The most similar task of SHROOM 2024. Detectors treat rows like rows of that task, and
        compare the hypothesis with the same side.
    reference : Reference or None
        The side that the hypothesis is compared with, if it differs from the side of ``like``.
    title : str
        Name for people.
    """

    like: Literal["DM", "MT", "PG", "TS"] = "TS"
    reference: Optional[Reference] = None  # evaluated on Python 3.9
    title: str = ""


@dataclass(frozen=True, eq=False)
class Item:
    """The form of a row.

    Attributes
    ----------
    id : str
        ``integer`` or ``string``; ``none`` if rows have no ids and are aligned by their order.
    keys : dict of str
        Your keys that differ from the kit's keys, such as ``{"hyp": "output_text"}``. ``p`` is
        short for ``p(Hallucination)``.
    reference : Reference
        The side that the hypothesis is compared with, unless the row or its task specifies one.
    unit : str
        The key of a unit that several rows share, such as a question with several answers.
        Bootstraps and paired tests then resample whole units instead of single rows.
    """

    id: Literal["integer", "string", "none"] = "integer"
    keys: dict[str, str] = field(default_factory=dict)
    reference: Reference = Reference.EITHER
    unit: str = ""

    def __post_init__(self) -> None:
        if "p" in self.keys:
            self.keys[P] = self.keys.pop("p")

    @property
    def id_key(self) -> str:
        """The key of a row's id."""
        return self.key("id")

    def key(self, name: str) -> str:
        """Return the key in the files for one of the kit's keys."""
        return self.keys.get(name, name)


@dataclass(frozen=True, eq=False)
class Aspect:
    """A question about an item that annotators answer with yes or no.

    Attributes
    ----------
    key : str
        Key of the answer in a row.
    name : str
        Name in metrics: the aspect ``factual`` has the metric ``factual_f1``.
    yes, no : str
        The two answers.
    """

    key: str
    name: str
    yes: str = "y"
    no: str = "n"


@dataclass(frozen=True, eq=False)
class Annotation:
    """The form of annotations and predictions.

    Attributes
    ----------
    kind : str
        ``binary`` (a label with p(Hallucination)), ``aspects`` (yes-or-no questions), ``spans``
        (marked characters with probabilities) or ``labelled-spans``.
    aspects : tuple of Aspect
        The questions, for ``aspects``.
    labels : tuple of str
        For ``labelled-spans``, the labels of spans. For ``binary``, your words for Hallucination
        and Not Hallucination; the kit's words are accepted as well.
    """

    kind: Literal["binary", "aspects", "spans", "labelled-spans"] = "binary"
    aspects: tuple[Aspect, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Files:
    """Patterns of file names: ``{split}`` and ``{track}`` stand for names, ``*`` for any text.

    ``{lang}`` means the same as ``{track}``. Files are written with the ending of the pattern.
    JSON, JSON Lines, CSV and TSV are read, also with gzip compression and with a version such as
    ``.v2`` in the name. By default, files of predictions are named ``{split}.{track}.json``, or
    ``{split}.json`` if there are no tracks.
    """

    predictions: str = ""
    gold: str = ""
    data: str = ""


@dataclass(frozen=True, eq=False)
class Edition(FileNames, OwnNames):
    """The rules of one shared task.

    Attributes
    ----------
    name : str
        Short name for signatures of scores, in lower case and without spaces.
    title : str
        Name for people.
    year : int
        Year of the edition.
    contact : str
        Address for questions.
    languages : tuple of str
        Languages of the texts.
    tracks : tuple of Track
        Tracks or languages, each with its own ranking; empty for a single ranking.
    splits : tuple of Split
        The splits, in the order in which tables list them.
    files : Files
        Patterns of the file names.
    item : Item
        The form of a row.
    tasks : dict of TaskRule
        The tasks that rows may name; if empty, rows may name any task or no task.
    annotation : Annotation
        The form of annotations and predictions.
    metrics : tuple of str
        Systems are ranked by the first metric, and the other metrics break ties. The default
        depends on the kind of annotation.
    average : bool
        Whether systems are also ranked by the mean over tracks.
    phases : tuple of Phase
        The phases of the competition on a platform; by default, one phase for each split.
    columns : tuple of Column
        The columns of its leaderboard; by default, every ranking metric of every track.
    submission_rule : str
        Which submissions the leaderboard of Codabench lists.
    description : str
        One sentence about the competition; empty for the default.
    docker_image : str
        The image that runs the scoring program; empty for the default.
    queue : str
        The Vhost of your own queue; empty for the default.
    pages : dict of str
        Files of the competition's pages: ``overview``, ``evaluation``, ``data``, ``terms``.
    """

    name: str
    title: str
    year: int
    contact: str = ""
    languages: tuple[str, ...] = ()
    tracks: tuple[Track, ...] = ()
    splits: tuple[Split, ...] = (Split("val"), Split("test"))
    files: Files = Files()
    item: Item = field(default_factory=Item)
    tasks: dict[str, TaskRule] = field(default_factory=dict)
    annotation: Annotation = Annotation()
    metrics: tuple[str, ...] = ()
    average: bool = False
    phases: tuple[Phase, ...] = ()
    columns: tuple[Column, ...] = ()
    submission_rule: Rule = "Force_Best"
    description: str = ""
    docker_image: str = ""
    queue: str = ""
    pages: dict[str, str] = field(default_factory=dict)

    @property
    def submitted(self) -> tuple[str, ...]:
        """The names of the splits for which teams submit predictions."""
        return tuple(split.name for split in self.splits if split.submitted)

    @property
    def reads_own_form(self) -> bool:
        """Whether rows have the form of the fast reader: the kit's keys and integer ids."""
        item = self.item
        return self.annotation.kind == "binary" and item.id == "integer" and not item.keys

    @property
    def own_keys(self) -> set[str]:
        """The keys that the edition names: its own keys, and the keys of units and tracks."""
        patterns = (self.predictions_pattern, self.files.gold, self.files.data)
        in_rows = any(self._lacks_track(pattern) for pattern in patterns if pattern)
        own = {*self.item.keys, *self.item.keys.values(), self.item.unit} - {""}
        return own | ({"lang"} if in_rows else set())

    def task(self, name: str) -> Task | None:
        """Return the task with this name; ``None`` if the edition does not list it."""
        rule = self.tasks.get(name)
        if rule is None:
            return None if self.tasks else Task(name, self.item.reference)
        like = TASKS[rule.like]
        return replace(like, name=name, reference=rule.reference or like.reference)

    def track_of(self, has: Mapping[str, bool]) -> str:
        """Return the track of rows, given which keys all of them have; empty if unknown."""
        named = [track.name for track in self.tracks if has.get(track.rows_have)]
        others = [track.name for track in self.tracks if not track.rows_have]
        fitting = named or others
        return fitting[0] if len(fitting) == 1 else ""

    def platform_columns(self, metrics: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns of the leaderboard; by default each metric of each track."""
        if self.columns:
            return self.columns
        titles = {track.name: track.title for track in self.tracks if track.title}
        return tuple(
            Column(
                key=f"{track}_{metric}".strip("_").replace("-", "_")[:MAX_KEY],
                metric=metric,
                track=track,
                title=f"{titles.get(track, track)} {metric}".strip(),
            )
            for track in self.track_names
            for metric in metrics
        )
