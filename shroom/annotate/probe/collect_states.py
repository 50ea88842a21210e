"""Collecting the hidden states of questions: each once, the longest first, shard by shard."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.annotate.probe.hidden_states import Reader
    from shroom.annotate.probe.prompt_frame import Frame
    from shroom.annotate.probe.sites import Site
    from shroom.annotate.probe.state_store import Store
    from shroom.inference.run_settings import Run

#: How many numbers a shard has at most (unless one question alone has more), and how many rows.
_NUMBERS, _ROWS = 1 << 25, 1024


def collect(
    reader: Reader,
    frame: Frame,
    sites: Sequence[Site],
    questions: Sequence[str],
    store: Store,
    run: Run,
) -> list[str]:
    """Return the key of each question, whose states are in the store then.

    Parameters
    ----------
    reader : Reader
        Reads the states of those that are not there.
    frame : Frame
        What stands around a question.
    sites : sequence of Site
        Whose states are stored.
    questions : sequence of str
        None of them blank.
    store : Store
        Keeps each shard as it is made.
    run : Run
        How it is run.
    """
    given = {question: reader.ids(frame, question) for question in questions}
    key = {question: _key(ids) for question, ids in given.items()}
    cut = sum(len(ids) == reader.most for ids in given.values())
    if cut:
        run.note(
            f"{cut} questions fill the {reader.most} tokens that the model reads; the start "
            "of what is longer is cut"
        )
    waiting = {key[question]: ids for question, ids in given.items() if key[question] not in store}
    order = sorted(waiting, key=lambda each: len(waiting[each]), reverse=True)
    width = sum(reader.widths(sites)) if order else 0
    size = min(_ROWS, max(1, _NUMBERS // max(1, width)))
    for start in range(0, len(order), size):
        keys = order[start : start + size]
        done = len(given) - len(order) + start

        def report(of_shard: int, _: int, done: int = done) -> None:
            run.report(done + of_shard, len(given))

        of_shard = replace(run, report=report)
        store.add(keys, reader.states([waiting[each] for each in keys], sites, of_shard))
    return [key[question] for question in questions]


def _key(ids: tuple[int, ...]) -> str:
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:32]
