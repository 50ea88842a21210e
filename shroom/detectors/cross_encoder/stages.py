"""The stages of fitting: what a model learns from, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, nearest
from shroom.detectors.cross_encoder.training import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What is fitted where a recipe says nothing else: the labelled datapoints, three times over.
STAGES: tuple[Mapping[str, Any], ...] = ({"name": "shroom"},)


@dataclass(frozen=True)
class Stage:
    """What is learnt from, and for how long.

    Attributes
    ----------
    name : str
        What it is called.
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
        known = [item.name for item in fields(cls)]
        for key in table:
            if key not in known:
                raise ShroomError(f"a stage has no key '{key}';{nearest(key, known)}")
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in table.items()
        }
        try:
            stage = cls(**values)
            sound = min(stage.epochs, stage.batch, stage.n) >= 1 and stage.rate > 0
        except TypeError as error:
            raise ShroomError(f"stage {table.get('name', table)}: {error}") from error
        if not sound or stage.frozen < 0:
            raise ShroomError(
                f"stage {stage.name}: epochs, batch and n are at least 1, rate is above 0, and "
                "frozen is not below 0"
            )
        return stage

    @property
    def schedule(self) -> Schedule:
        """How long and how fast it learns."""
        return Schedule(self.epochs, self.batch, self.rate, self.frozen)

    @property
    def is_general(self) -> bool:
        """Whether it needs none of the labelled datapoints."""
        return bool(self.corpora or self.teacher)
