"""A run over shards: missing shards are predicted, and recorded in ``manifest.json``."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.core.version import __version__
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import Run
from shroom.prediction.ray.shards import Outcome, Place, Shard
from shroom.prediction.submission_files import list_of

#: The name of the file.
MANIFEST = "manifest.json"
#: The folder of the submission, below that of the parts.
SUBMISSION = "submission"
#: The number of notes that are shown; further notes are only counted.
_NOTES_SHOWN = 20
_FORMAT = 1
#: How often the manifest of a long run is written; each time, it is written as a whole.
_SAVES = 200
#: The keys of a shard: of its input, and of its predictions.
_INPUT, _DONE = ("input", "size", "modified", "output"), ("rows", "bytes", "sha256")


class Manifest:
    """The manifest of a run, in the folder of its output."""

    def __init__(
        self, out: Place, shards: Sequence[Shard], recipe: Recipe, run: Run, *, resume: bool
    ) -> None:
        self._out, self.shards = out, shards
        self._unsaved = math.inf  # number of finished shards that the file lacks; infinite: no file
        self._head: dict[str, Any] = {
            "format": _FORMAT,
            "kit": __version__,
            "detector": recipe.detector,
            "settings": json.loads(json.dumps(dict(recipe.settings), default=str)),
            "precision": run.precision,
            "in_sample": run.in_sample,
        }
        self._rows: list[dict[str, Any]] = [
            {**{key: getattr(shard, key) for key in _INPUT}, **dict.fromkeys(_DONE)}
            for shard in shards
        ]
        there = out.files(missing_ok=True)
        if MANIFEST in there:
            if not resume:
                raise ShroomError(
                    f"{out.address} already contains the results of a run; add --resume to "
                    "continue this run, or choose another folder"
                )
            self._take_up(there)
        elif foreign := sorted(there.keys() & {shard.output for shard in shards}):
            raise ShroomError(
                f"{out.address} contains {foreign[0]} but no {MANIFEST}; choose another folder"
            )

    @property
    def missing(self) -> list[Shard]:
        """The shards without predictions."""
        return [s for s, row in zip(self.shards, self._rows) if row["sha256"] is None]

    @property
    def rows(self) -> int:
        """Number of predictions."""
        return sum(row["rows"] or 0 for row in self._rows)

    def add(self, outcome: Outcome) -> None:
        """Write the predictions for a shard, and record them."""
        for key, value in (("kit", outcome.version), ("weights", outcome.weights)):
            if (first := self._head.setdefault(key, value)) != value:
                raise ShroomError(
                    f"{self._out.address}: {key} mismatch: {show(value)} on a worker, "
                    f"{show(first)} in the run; install the same version of the kit and the same "
                    "model on all machines, and preserve file times when copying model folders "
                    "(rsync -t)"
                )
        if self._unsaved > len(self.shards) / _SAVES:
            self._save()  # the first time, this claims the folder for the run
        row, lines = self._rows[outcome.number], outcome.lines
        self._out.write(row["output"], lines)
        row |= zip(_DONE, (lines.count(b"\n"), len(lines), hashlib.sha256(lines).hexdigest()))
        self._unsaved += 1

    def close(self) -> None:
        """Write the records, if there are new ones."""
        if 0 < self._unsaved < math.inf:
            self._save()

    def _save(self) -> None:
        head = json.dumps(self._head, indent=1)[:-2]
        rows = ",\n".join("  " + json.dumps(row) for row in self._rows)
        self._out.write(MANIFEST, f'{head},\n "shards": [\n{rows}\n ]\n}}\n'.encode())
        self._unsaved = 0

    def _take_up(self, there: dict[str, Any]) -> None:
        """Keep the shards of an earlier run with unchanged inputs and outputs."""
        path = self._out.of(MANIFEST)
        try:
            manifest = json.loads(self._out.read(MANIFEST))
            for key, value in self._head.items():
                if manifest[key] != value:
                    raise ShroomError(
                        f"{path} belongs to a run with {key} {show(manifest[key])}, but this run "
                        f"has {show(value)}; choose another folder"
                    )
            self._head["weights"] = manifest["weights"]
            if [row["input"] for row in manifest["shards"]] != [it.input for it in self.shards]:
                raise ShroomError(
                    f"{path} belongs to a run that used different files; choose another folder"
                )
            for row, old in zip(self._rows, manifest["shards"]):
                part = there.get(row["output"])
                is_same = {**old, **dict.fromkeys(_DONE)} == row
                if is_same and part is not None and part.size == old["bytes"]:
                    row.update(old)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ShroomError(f"{path} is not a manifest: {error}") from error


def run_shards(
    manifest: Manifest,
    judged: Generator[Outcome, None, None],
    *,
    report: Callable[[int, int], None],
    note: Callable[[str], None],
) -> Problems:
    """Write the predictions for the missing shards; return the warnings about their data."""
    problems, notes, shards = Problems(), 0, manifest.shards
    done = len(shards) - len(manifest.missing)
    try:
        for outcome in judged:
            if outcome.stop:
                raise ShroomError(outcome.stop)
            problems.extend(outcome.problems)
            if outcome.problems.errors:
                continue
            for text in outcome.notes[: max(0, _NOTES_SHOWN - notes)]:
                note(f"{shards[outcome.number].input}: {text}")
            notes += len(outcome.notes)
            manifest.add(outcome)
            done += 1
            report(done, len(shards))
    finally:
        judged.close()  # ends the cluster now, not when the generator is collected
        manifest.close()
    if notes > _NOTES_SHOWN:
        note(f"and {counted(notes - _NOTES_SHOWN, 'more note')}")
    total = counted(len(shards), "shard")
    if problems.errors:
        note(
            f"done: {done} of {total}; correct the other shards, then run the command again with "
            "--resume"
        )
        raise InvalidInput(problems)
    if lost := manifest.missing:
        raise ShroomError(
            f"{len(lost)} of {total} failed (the first is {lost[0].input}): workers were lost "
            "repeatedly, perhaps because they ran out of memory (see Ray's logs); to continue, "
            "add --resume and reduce --workers"
        )
    return problems


def write_submission(out: Place, shards: Iterable[Shard]) -> list[str]:
    """Write the parts of files that SHROOM scores as a submission; return their names."""
    names = []
    for shard in shards:
        if shard.submission is not None:
            names.append(f"{SUBMISSION}/{shard.submission}")
            lines = out.read(shard.output)
            out.write(names[-1], lines if names[-1].endswith(".jsonl") else list_of([lines]))
    return names
