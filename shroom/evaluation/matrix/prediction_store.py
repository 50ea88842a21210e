"""The p of detectors on data, stored on disk so that nothing is computed twice."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.evaluation.matrix.datasets import digest_of
from shroom.evaluation.matrix.detectors import Contender
from shroom.inference import store as inference
from shroom.inference.run_settings import RUN, Run

#: The file in the folder.
FILE = "p.sqlite"
_SCOPE = "evaluate"


@dataclass(frozen=True, eq=False)
class Cell:
    """The p of a detector with six digits; ``seconds`` is ``None`` if the run was interrupted."""

    p: NDArray[np.float64]
    seconds: float | None
    notes: tuple[str, ...] = ()


class Store:
    """A folder with the p of each detector and sequence of datapoints.

    Parameters
    ----------
    folder : path
        Created when the first p are stored.
    fresh : bool
        Whether to ignore and replace stored p.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.reused = 0  #: number of stored results that were used
        self._fresh = fresh
        self._made: set[str] = set()

    def p(self, contender: Contender, datapoints: Sequence[Datapoint], run: Run = RUN) -> Cell:
        """Return the p of datapoints: stored ones, otherwise computed by the detector."""
        run = replace(run, precision=run.precision or contender.precision)
        parts = contender.fingerprint[:16], digest_of(datapoints)[:16], run.precision
        key = "-".join(filter(None, parts))
        again = not self._fresh or key in self._made
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ShroomError(f"{self.folder}: cannot be created: {error.strerror}") from error
        with closing(inference.Store(self.folder / FILE, math.inf, run.note)) as cells:
            known = cells.get(_SCOPE, [key]) if again else {}
            if known:
                self.reused += 1
                content = json.loads(known[key])
                return Cell(np.array(content["p"]), content["seconds"], tuple(content["notes"]))
            cell = self._made_by(contender, datapoints, run, key, resume=again)
            content = {"p": cell.p.tolist(), "seconds": cell.seconds, "notes": cell.notes}
            cells.put(_SCOPE, {key: json.dumps(content).encode()})
        self._made.add(key)
        return cell

    def _made_by(
        self,
        contender: Contender,
        datapoints: Sequence[Datapoint],
        run: Run,
        key: str,
        *,
        resume: bool,
    ) -> Cell:
        """Return computed p; partial results of an interrupted run are used."""
        notes: dict[str, None] = {}
        hint = "wait until it ends, or choose another folder with --runs"
        partial = self.folder / f"{key}{inference.PARTIAL}"
        with inference.kept(partial, run.note, resume=resume, hint=hint) as store:
            resumed = store.n > 0
            began = time.perf_counter()
            own_run = replace(run, stores=(store, *run.stores), note=notes.setdefault)
            unseen = int(contender.detector.out_of_fold_items(datapoints, own_run).sum())
            if unseen:
                own_run.note(
                    f"the detector was fitted on {unseen} of the {len(datapoints)} items; p is "
                    "cross-validated for the items that it was fitted on"
                )
            p = contender.detector.p(datapoints, own_run)
            seconds = None if resumed else time.perf_counter() - began
            return Cell(np.round(p, 6), seconds, tuple(notes))
