"""An edition: what one shared task fixes, from the names of its files to its phases.

Everything is data: an organiser writes it into an ``edition.toml``, and the kit checks, scores and
ranks by it. :mod:`shroom.scoring.editions.files` reads and validates such a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Optional

from shroom.core.datapoint import TASKS, Reference, Task
from shroom.scoring.column_names import OwnNames
from shroom.scoring.editions.competition import MAX_KEY, Column, Phase, Rule
from shroom.scoring.file_names import FileNames
from shroom.scoring.rows import P

if TYPE_CHECKING:
    from collections.abc import Mapping


#: The track of a column that has the mean over all tracks.
MEAN = "mean"


@dataclass(frozen=True, eq=False)
class Track:
    """One track, or one language, which is ranked by itself.

    Attributes
    ----------
    name, title : str
        As file names have it, and as people call it.
    rows_have : str
        A key that every row of this track has and no row of another one, by which a file whose
        name does not have the track is recognised.
    """

    name: str
    title: str = ""
    rows_have: str = ""


@dataclass(frozen=True, eq=False)
class Split:
    """One split of the data.

    Attributes
    ----------
    name : str
        As file names have it.
    submitted : bool
        Whether predictions for it are handed in.
    ids : bool
        Whether its predictions need ids even where there is no gold to compare them with.
    """

    name: str
    submitted: bool = True
    ids: bool = False


@dataclass(frozen=True, eq=False)
class TaskRule:
    """A task of the models whose outputs are judged.

    Attributes
    ----------
    like : str
        The task of 2024 that detectors treat it as, and that gives the side to compare with.
    reference : Reference or None
        Another side.
    title : str
        As people call it.
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
        ``integer``, ``string``, or ``none`` where rows are aligned by their order.
    keys : dict of str
        The keys of the files, by the kit's own: ``{"hyp": "output_text"}``; ``p`` is short for
        ``p(Hallucination)``.
    reference : Reference
        The side that a hypothesis is compared with, where neither the row nor its task says so.
    unit : str
        The key of what several rows belong to, such as the question that they answer; intervals
        and paired tests then draw whole units. By default each row is drawn by itself.
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
        """Return the key of the files for one of the kit's own."""
        return self.keys.get(name, name)


@dataclass(frozen=True, eq=False)
class Aspect:
    """A question about an item that annotators answer with yes or no.

    Attributes
    ----------
    key : str
        Key of the answer in a row.
    name : str
        Name in the metrics: the aspect ``factual`` has ``factual_f1``.
    yes, no : str
        The two answers.
    """

    key: str
    name: str
    yes: str = "y"
    no: str = "n"


@dataclass(frozen=True, eq=False)
class Annotation:
    """What annotators and systems say of an item.

    Attributes
    ----------
    kind : str
        ``binary`` (a label with p(Hallucination)), ``aspects`` (questions answered with yes or
        no), ``spans`` (characters with probabilities) or ``labelled-spans``.
    aspects : tuple of Aspect
        The questions, for ``aspects``.
    labels : tuple of str
        The labels that a span may have, for ``labelled-spans``; for ``binary``, the files' words
        for Hallucination and for Not Hallucination, besides these.
    """

    kind: Literal["binary", "aspects", "spans", "labelled-spans"] = "binary"
    aspects: tuple[Aspect, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Files:
    """Patterns of file names: ``{split}`` and ``{track}`` stand for names, ``*`` for anything.

    ``{lang}`` is another word for ``{track}``. The ending is the one that is written; JSON, JSON
    Lines, CSV and TSV are read, gzipped or not, and with a version such as ``.v2``.
    Predictions are ``{split}.{track}.json`` by default, or ``{split}.json`` without tracks.
    """

    predictions: str = ""
    gold: str = ""
    data: str = ""


@dataclass(frozen=True, eq=False)
class Edition(FileNames, OwnNames):
    """One shared task.

    Attributes
    ----------
    name, title : str
        In lower case without blanks, for signatures; and as people call it.
    year : int
        Year of the edition.
    contact : str
        Address for questions.
    languages : tuple of str
        Languages of the texts.
    tracks : tuple of Track
        Its tracks or languages; none where everything is ranked together.
    splits : tuple of Split
        In the order in which they are shown.
    files : Files
        Patterns of the file names.
    item : Item
        The form of a row.
    tasks : dict of TaskRule
        The tasks of the rows by name; empty where rows may have any task, or none.
    annotation : Annotation
        What is annotated and predicted.
    metrics : tuple of str
        The first one ranks, the next ones break ties; the defaults of the annotation if empty.
    average : bool
        Whether systems are ranked by the mean over tracks, too.
    phases, columns : tuple
        Those of the competition; by default a column for every metric of every track.
    submission_rule : str
        Which submissions the platform's leaderboard lists, by Codabench's names.
    description, docker_image, queue : str
        Of the competition: one sentence about it, the image that runs the scoring program, and the
        Vhost of the organisers' own queue; empty for the defaults.
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
        """The names of the splits for which predictions are handed in."""
        return tuple(split.name for split in self.splits if split.submitted)

    def needs_ids(self, split: str) -> bool:
        """Return whether predictions for a split need ids, whatever they are compared with."""
        return any(other.name == split and other.ids for other in self.splits)

    @property
    def reads_own_form(self) -> bool:
        """Whether rows have SHROOM's keys, integer ids and its label and p, as the fast reader."""
        item = self.item
        return self.annotation.kind == "binary" and item.id == "integer" and not item.keys

    @property
    def own_keys(self) -> set[str]:
        """The keys of rows that the edition names: its own ones, and those of units and tracks."""
        patterns = (self.predictions_pattern, self.files.gold, self.files.data)
        in_rows = any(self._lacks_track(pattern) for pattern in patterns if pattern)
        own = {*self.item.keys, *self.item.keys.values(), self.item.unit} - {""}
        return own | ({"lang"} if in_rows else set())

    def task(self, name: str) -> Task | None:
        """Return the task of a name; ``None`` if this edition has others."""
        return self._tasks.get(name) if self.tasks else Task(name, self.item.reference)

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        return {
            name: replace(
                TASKS[rule.like],
                name=name,
                reference=rule.reference or TASKS[rule.like].reference,
            )
            for name, rule in self.tasks.items()
        }

    def track_of(self, has: Mapping[str, bool]) -> str:
        """Return the track of rows, given whether all of them have a key; empty if unknown."""
        named = [track.name for track in self.tracks if has.get(track.rows_have)]
        others = [track.name for track in self.tracks if not track.rows_have]
        fitting = named or others
        return fitting[0] if len(fitting) == 1 else ""

    def title_of(self, track: str) -> str:
        """Return the title of a track."""
        return next((t.title for t in self.tracks if t.name == track and t.title), track)

    def platform_columns(self, metrics: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the columns of a platform's leaderboard, by default each metric of each track."""
        if self.columns:
            return self.columns
        return tuple(
            Column(
                key=f"{track}_{metric}".strip("_").replace("-", "_")[:MAX_KEY],
                metric=metric,
                track=track,
                title=f"{self.title_of(track)} {metric}".strip(),
            )
            for track in self.track_names
            for metric in metrics
        )
