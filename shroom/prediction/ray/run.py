"""One run over shards: what is missing is judged, written and noted, until nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.prediction.submission_rows import list_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from shroom.prediction.ray.manifest import Manifest
    from shroom.prediction.ray.shards import Shard
    from shroom.prediction.ray.storage import Place
    from shroom.prediction.ray.worker import Outcome

#: The folder of the submission, below that of the parts.
SUBMISSION = "submission"
#: How many notes are shown; the rest are counted.
_TOLD = 20


def run_shards(
    manifest: Manifest,
    judge: Callable[[list[Shard]], Generator[Outcome, None, None]],
    *,
    report: Callable[[int, int], None],
    note: Callable[[str], None],
) -> Problems:
    """Write the predictions for all shards that are missing; return the warnings of their data.

    A shard with wrong data does not hold up the others: it is reported at the end.

    Parameters
    ----------
    manifest : Manifest
        What is missing, and where what comes is noted.
    judge : callable
        Takes shards and yields what has become of each, in any order.
    report : callable
        Called with the number of shards done and of all.
    note : callable
        Called with a sentence that the user should read.

    Raises
    ------
    InvalidInput
        Where the data of some shards are wrong; the others are done.
    ShroomError
        Where no shard can be judged, or some were given up.
    """
    problems, notes = Problems(), 0
    wrong: set[int] = set()
    missing, total = manifest.missing, len(manifest.shards)
    done = total - len(missing)
    judged = judge(missing)
    try:
        for outcome in judged if missing else ():
            if outcome.stop:
                raise ShroomError(outcome.stop)
            problems.extend(outcome.problems)
            if outcome.lost:
                continue
            if outcome.problems.errors:
                wrong.add(outcome.number)
                continue
            for text in outcome.notes[: max(0, _TOLD - notes)]:
                note(f"{manifest.shards[outcome.number].input}: {text}")
            notes += len(outcome.notes)
            manifest.add(outcome)
            done += 1
            report(done, total)
    finally:
        judged.close()  # which ends what it has begun, and not only once it is collected
        manifest.close()
    if notes > _TOLD:
        note(f"and {notes - _TOLD} more notes")
    if wrong:
        note(f"{done} of {total} shards are done; when the others are fixed, add --resume")
        raise InvalidInput(problems)
    lost = [shard.input for shard in manifest.missing]
    if lost:
        raise ShroomError(
            f"{len(lost)} of {total} shards were given up, the first being {lost[0]}: their "
            "workers were lost again and again, perhaps for want of memory, which Ray's logs tell. "
            "Take fewer --workers, and add --resume"
        )
    return problems


def write_submission(out: Place, shards: Iterable[Shard]) -> list[str]:
    """Put the parts of files that SHROOM scores together as a submission; return their names."""
    names = []
    for shard in shards:
        if shard.submission is not None:
            names.append(f"{SUBMISSION}/{shard.submission}")
            out.write(names[-1], list_of([out.read(shard.output)]))
    return names
