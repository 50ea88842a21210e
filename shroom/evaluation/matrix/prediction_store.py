"""The p of detectors on data, kept on disk as they are made, so that nothing is computed twice."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.core.result_log import computed_anew, line_of, record_of
from shroom.detectors.arrays import check_p
from shroom.evaluation.matrix.datasets import digest_of
from shroom.evaluation.matrix.detectors import Contender
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import PARTIAL, kept


@dataclass(frozen=True, eq=False)
class Cell:
    """The predictions of a detector for some datapoints.

    Attributes
    ----------
    p : array, shape [n]
        In [0, 1], with the six digits that submissions have.
    seconds : float or None
        How long it took when they were made, loading included; ``None`` where that was
        interrupted, so that nothing has measured all of it.
    notes : tuple of str
        Notes of the detector, such as that texts were cut.
    """

    p: NDArray[np.float64]
    seconds: float | None
    notes: tuple[str, ...] = ()


class Store:
    """A folder of p, one file for each detector and sequence of datapoints.

    Parameters
    ----------
    folder : path
        Made with the first file.
    fresh : bool
        Whether to ignore and replace the stored files.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.reused = 0  #: number of files that were read from the folder
        self._fresh = fresh
        self._made: set[str] = set()

    def p(self, contender: Contender, datapoints: Sequence[Datapoint], run: Run = RUN) -> Cell:
        """Return the p of datapoints, from the folder or from the detector.

        Raises
        ------
        ShroomError
            If the detector gives no p in [0, 1] for each of them, or nothing can be written.
        """
        key = f"{contender.fingerprint[:16]}-{digest_of(datapoints)[:16]}"
        run = replace(run, precision=run.precision or contender.precision)
        if run.precision:
            key = f"{key}-{run.precision}"
        path = self.folder / f"{key}.json"
        again = not self._fresh or key in self._made
        if again and path.exists():
            cell = _read(path, len(datapoints))
            if cell is not None:
                self.reused += 1
                return cell
            run.note(computed_anew(path, 1))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ShroomError(f"{self.folder}: cannot be made: {error.strerror}") from error
        notes: dict[str, None] = {}
        partial = self.folder / f"{key}{PARTIAL}"
        hint = "wait for its end, or name another folder with --runs"
        with kept(partial, run.note, resume=again, hint=hint) as store:
            resumed = store.n > 0
            began = time.perf_counter()
            own_run = replace(run, stores=(store, *run.stores), note=notes.setdefault)
            unseen = int(contender.detector.out_of_fold_items(datapoints, own_run).sum())
            if unseen:
                own_run.note(
                    f"it was fitted on {unseen} of these {len(datapoints)} items; their p are out "
                    "of fold, and were looked up"
                )
            p = contender.detector.p(datapoints, own_run)
            seconds = None if resumed else time.perf_counter() - began
            cell = Cell(np.round(p, 6), seconds, tuple(notes))
            content = {"detector": contender.name, **vars(cell), "p": cell.p.tolist()}
            write_atomically(path, line_of(content))
        self._made.add(key)
        return cell


def _read(path: Path, n: int) -> Cell | None:
    """Return a cell from its file; ``None`` if the file is damaged or not a cell."""
    try:
        content = record_of(path.read_bytes())
        seconds = None if content["seconds"] is None else float(content["seconds"])
        return Cell(
            np.round(check_p(content["p"], n, content["detector"]), 6),
            seconds if seconds is None or math.isfinite(seconds) else None,
            tuple(map(str, content["notes"])),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ShroomError):
        return None
