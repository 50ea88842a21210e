"""Hidden states on disk: shards of safetensors, each whole or not there, and an index.

Each question is read once, the longest first, shard by shard.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.annotate.probe.hidden_states import Frame
from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shroom.annotate.probe.hidden_states import Reader
    from shroom.annotate.probe.sites import Site
    from shroom.inference.run_settings import Run

FORMAT = "shroom-states-1"
_INDEX = "index.json"
#: Maximum of numbers in a shard (unless a single question has more), and of rows.
_NUMBERS, _ROWS = 1 << 25, 1024
#: The keys of an index that must be equal for states to go together, and their names.
_SAME = {
    "format": "the form",
    "identity": "the model",
    "mode": "--mode",
    "prompt": "--prompt",
    "position": "--position",
    "dtype": "--dtype",
}


class Store:
    """The states of texts, by a key of each text.

    Every shard names its keys and the index that it belongs to, so that a killed run loses nothing
    and reads nothing twice.

    Parameters
    ----------
    folder : Path
        The folder of the index and the shards.
    about : dict
        Describes the states: ``identity``, ``frame``, ``states`` (kinds), ``dtype`` and more.
    resume : bool
        Whether to keep the states that the folder has.

    Attributes
    ----------
    about : dict
        As given; of an earlier run, what that had.

    Raises
    ------
    ShroomError
        Where there are states and they are not to be used, are of another model or read in another
        way, or a shard is damaged.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], *, resume: bool) -> None:
        self.folder, self.about = folder, {"format": FORMAT, **about}
        index = folder / _INDEX
        if not index.exists():
            write_atomically(index, json.dumps(self.about, indent=2) + "\n")
        elif not resume:
            raise ShroomError(
                f"{folder}: has the states of an earlier run; go on from them with --resume, or "
                "name another folder"
            )
        else:
            self.about = self._resumed(index)
        self._of = hashlib.sha256(index.read_bytes()).hexdigest()[:16]
        self._places: dict[str, tuple[Path, int]] = {}
        for left in folder.glob(".shroom-*"):  # what a killed run was writing
            left.unlink(missing_ok=True)
        for shard in sorted(folder.glob("states-*.safetensors")):
            self._note(shard, self._keys(shard))

    @property
    def frame(self) -> Frame:
        """The prompt around each question; on resuming, that of the earlier run."""
        return Frame.from_dict(self.about["frame"])

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, keys: Sequence[str], states: Mapping[Site, NDArray[Any]]) -> None:
        """Keep the states of some texts as one shard; they are safe once this has returned.

        Parameters
        ----------
        keys : sequence of str, length n
            The texts'.
        states : mapping of array, shape [n, width]
            By place.

        Raises
        ------
        ShroomError
            Where a number is too large for the type, or the shard cannot be written.
        """
        from safetensors.numpy import save

        dtype = self.about["dtype"]
        with np.errstate(over="ignore"):
            tensors = {site.key: values.astype(dtype) for site, values in states.items()}
        if not all(np.isfinite(values).all() for values in tensors.values()):
            raise ShroomError(
                f"a state is too large for {dtype}; name another folder and give --dtype float32"
            )
        shard = self.folder / f"states-{self._number():05}.safetensors"
        write_atomically(shard, save(tensors, {"of": self._of, "keys": json.dumps(list(keys))}))
        self._note(shard, keys)

    def states(self, site: Site, keys: Sequence[str], heads: int) -> NDArray[np.float64]:
        """Return the states of a place: shape [n, width].

        Parameters
        ----------
        site : Site
            One whose kind is among those stored.
        keys : sequence of str, length n
            Texts that the store has.
        heads : int
            How many attention heads share a layer's states, where the place is one of them.
        """
        from safetensors import safe_open

        parts: dict[Path, NDArray[Any]] = {}
        for shard in dict.fromkeys(self._places[key][0] for key in keys):
            with safe_open(shard, "numpy") as tensors:
                parts[shard] = tensors.get_tensor(site.key)
        rows = [parts[shard][row] for shard, row in (self._places[key] for key in keys)]
        return of_head(np.array(rows, np.float64), site, heads)

    def _number(self) -> int:
        numbers = [int(shard.stem[-5:]) for shard, _ in self._places.values()]
        return max(numbers, default=-1) + 1

    def _note(self, shard: Path, keys: Sequence[str]) -> None:
        self._places.update((key, (shard, row)) for row, key in enumerate(keys))

    def _resumed(self, index: Path) -> dict[str, Any]:
        """Return the content of an index; refuse one whose states do not fit the wanted ones."""
        try:
            before = json.loads(index.read_text(encoding="utf-8"))
            there = {**before, **Frame.from_dict(before["frame"]).to_dict()}
            missing = [kind for kind in self.about["states"] if kind not in there["states"]]
            stored = {key: there[key] for key in _SAME}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ShroomError(f"{index}: is not an index of states; name another folder") from error
        settings = {**self.about, **self.about["frame"]}
        for key, option in _SAME.items():
            if stored[key] != settings[key]:
                before_and_now = f"{option} was {show(stored[key])} and is {show(settings[key])}"
                raise ShroomError(
                    f"{self.folder}: has states of another run: {before_and_now}; name another "
                    "folder, or give it as it was"
                )
        if missing:
            raise ShroomError(
                f"{self.folder}: has the states {', '.join(there['states'])}, but no "
                f"{missing[0]}; name another folder, or leave {missing[0]} out of --states"
            )
        return dict(before)

    def _keys(self, shard: Path) -> list[str]:
        """Return the keys of a shard's rows, after checking that it is whole and of the index."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(shard, "numpy") as tensors:
                metadata = tensors.metadata() or {}
                keys = [str(key) for key in json.loads(metadata["keys"])]
                sizes = {tensors.get_slice(name).get_shape()[0] for name in tensors.keys()}  # noqa: SIM118
                number = int(shard.stem[-5:])
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise ShroomError(
                f"{shard}: is a damaged shard of states; remove it to read its questions again"
            ) from error
        if metadata.get("of") != self._of or sizes != {len(keys)} or number < 0:
            raise ShroomError(
                f"{shard}: is a shard of other states than {_INDEX} lists; remove it, and go on"
            )
        return keys


def of_head(states: NDArray[Any], site: Site, heads: int) -> NDArray[Any]:
    """Return the columns of a layer's states that belong to a place.

    Examples
    --------
    >>> from shroom.annotate.probe.sites import Site
    >>> of_head(np.array([[1.0, 2.0, 3.0, 4.0]]), Site("heads", 1, 1), 2).tolist()
    [[3.0, 4.0]]
    """
    if site.head is None:
        return states
    return np.split(states, heads, axis=-1)[site.head]


def collect(
    reader: Reader,
    frame: Frame,
    sites: Sequence[Site],
    questions: Sequence[str],
    store: Store,
    run: Run,
) -> list[str]:
    """Store the states of each question, and return its key.

    Parameters
    ----------
    reader : Reader
        Reads the states of those that are not there.
    frame : Frame
        The prompt around a question.
    sites : sequence of Site
        Whose states are stored.
    questions : sequence of str
        None of them blank.
    store : Store
        Keeps each shard as it is made.
    run : Run
        How it is run.
    """
    ids_of = {question: reader.ids(frame, question) for question in questions}
    key = {question: _key(ids) for question, ids in ids_of.items()}
    cut = sum(len(ids) == reader.most for ids in ids_of.values())
    if cut:
        run.note(
            f"{cut} questions fill the {reader.most} tokens that the model reads; the start "
            "of what is longer is cut"
        )
    waiting = {key[question]: ids for question, ids in ids_of.items() if key[question] not in store}
    order = sorted(waiting, key=lambda question: len(waiting[question]), reverse=True)
    width = sum(reader.widths(sites)) if order else 0
    size = min(_ROWS, max(1, _NUMBERS // max(1, width)))
    for start in range(0, len(order), size):
        keys = order[start : start + size]
        done = len(ids_of) - len(order) + start

        def report(of_shard: int, _: int, done: int = done) -> None:
            run.report(done + of_shard, len(ids_of))

        of_shard = replace(run, report=report)
        store.add(keys, reader.states([waiting[question] for question in keys], sites, of_shard))
    return [key[question] for question in questions]


def _key(ids: tuple[int, ...]) -> str:
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:32]
