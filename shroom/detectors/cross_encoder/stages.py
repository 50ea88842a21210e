"""The stages of fitting: what a model learns from, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.training import Schedule
from shroom.detectors.recipe import from_table

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The stages of a recipe that names none: three epochs on the labelled datapoints.
STAGES: tuple[Mapping[str, Any], ...] = ({"name": "shroom"},)


@dataclass(frozen=True)
class Stage:
    """What a model learns from, and for how long.

    Attributes
    ----------
    name : str
        Its name.
    epochs, batch, rate, frozen
        As of :class:`~shroom.detectors.cross_encoder.training.Schedule`.
    corpora : tuple of mapping
        See :class:`~shroom.detectors.cross_encoder.corpora.Corpus`.
    teacher : str
        A detector, or a recipe, whose p of unlabelled datapoints is learnt.
    unlabelled : tuple of str
        Files of datapoints below the data folder, for the teacher.
    n : int
        The most datapoints, or pairs, of the stage.
    """

    name: str
    epochs: int = 3
    batch: int = 16
    rate: float = 2e-5
    frozen: int = 0
    corpora: tuple[Mapping[str, Any], ...] = ()
    teacher: str = ""
    unlabelled: tuple[str, ...] = ()
    n: int = 10**9

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Stage:
        """Return the stage that a table of a recipe describes."""
        return from_table(cls, table, "stage")

    def __post_init__(self) -> None:
        sound = min(self.epochs, self.batch, self.n) >= 1 and self.rate > 0
        if not sound or self.frozen < 0:
            raise ShroomError(
                f"stage {self.name}: epochs, batch and n are at least 1, rate is above 0, and "
                "frozen is not below 0"
            )

    @property
    def schedule(self) -> Schedule:
        """How long and how fast it learns."""
        return Schedule(self.epochs, self.batch, self.rate, self.frozen)

    @property
    def is_general(self) -> bool:
        """Whether it needs none of the labelled datapoints."""
        return bool(self.corpora or self.teacher)
