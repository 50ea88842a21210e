"""Running a model over many items: batches, what is computed once, resumption, memory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.problems import ShroomError
from shroom.core.result_log import line_of, record_of
from shroom.inference.batching import batches
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.resume_log import Journal
from shroom.inference.run_settings import RUN, Run

TEXTS = st.lists(st.text(max_size=12), max_size=30)


class Worker:
    """Gives two numbers for each text, and keeps what it was asked."""

    def __init__(self, fails_at=None, most=None):
        self.batches, self.fails_at, self.most = [], fails_at, most

    def __call__(self, batch):
        if self.most is not None and len(batch) > self.most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")
        self.batches.append(batch)
        if len(self.batches) == self.fails_at:
            raise KeyboardInterrupt
        return np.array([values(text) for (text,) in batch], np.float32)

    @property
    def items(self):
        return [item for batch in self.batches for item in batch]


def values(text):
    return [len(text), sum(map(ord, text)) % 97]


def run_over(texts, worker, run=RUN, model="a model"):
    items = [(text,) for text in texts]
    key = CacheKey(model, lambda: model)
    return compute(items, worker, lengths=list(map(len, texts)), key=key, run=run)


@given(TEXTS, st.integers(-1, 40))
def test_the_values_are_those_of_each_item_in_order(texts, batch_tokens):
    worker = Worker()
    found = run_over(texts, worker, Run(batch_tokens=batch_tokens))
    expected = [values(text) for text in texts] or np.empty((0, 1))
    np.testing.assert_array_equal(found, np.array(expected, float))
    assert found.dtype == np.float64
    assert len(worker.items) == len(set(texts))
    for batch in worker.batches:
        longest = max(max(1, len(text)) for (text,) in batch)
        assert len(batch) == 1 or longest * len(batch) <= batch_tokens
    lengths = [max(1, len(text)) for (text,) in worker.items]
    assert lengths == sorted(lengths, reverse=True)


def test_one_value_for_an_item_is_one_column():
    assert run_over(["a", "b"], lambda batch: np.ones(len(batch))).shape == (2, 1)


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(-5, 100))
def test_batches_are_neighbours_within_the_limit_and_as_large_as_can_be(lengths, most):
    lengths.sort(reverse=True)
    found = list(batches(lengths, most))
    assert [place for batch in found for place in batch] == list(range(len(lengths)))
    for batch in found:
        longest = max(1, lengths[batch.start])
        assert longest * len(batch) <= most or len(batch) == 1
        if batch.stop < len(lengths):
            assert longest * (len(batch) + 1) > most


def test_items_and_lengths_must_match():
    with pytest.raises(ValueError, match="2 items cannot have 1 lengths"):
        compute([("a",), ("b",)], Worker(), lengths=[1], key=CacheKey(""), run=RUN)


def test_progress_is_told_after_each_batch():
    told = []
    run_over(
        ["a", "b", "c", "a"], Worker(), Run(batch_tokens=2, report=lambda *at: told.append(at))
    )
    assert told == [(2, 3), (3, 3)]


# --- the journal


def test_a_run_that_was_interrupted_is_taken_up_again(tmp_path):
    texts = ["eeeee", "dddd", "ccc", "bb", "a", "ccc"]
    path = tmp_path / "deep" / "journal"
    first = Worker(fails_at=3)
    with pytest.raises(KeyboardInterrupt):
        run_over(texts, first, Run(batch_tokens=1, journal=Journal(path)))
    told = []
    second = Worker()
    run = Run(1, journal=Journal(path, resume=True).read(), report=lambda *at: told.append(at))
    found = run_over(texts, second, run)
    assert second.items == [("ccc",), ("bb",), ("a",)]
    assert told == [(3, 5), (4, 5), (5, 5)]
    np.testing.assert_array_equal(found, run_over(texts, Worker()))
    third = Worker()
    again = run_over(texts, third, Run(journal=Journal(path, resume=True).read()))
    assert third.items == []
    np.testing.assert_array_equal(again, found)


@pytest.mark.linux
@pytest.mark.parametrize("place", ["full", "a file/journal"])
def test_a_journal_that_cannot_be_written_is_told_with_its_place(place, tmp_path):
    (tmp_path / "a file").touch()
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(ShroomError, match=f"{place}: cannot be written: "):
        Journal(tmp_path / place).add([("key", [0.5])])


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"\xff\xfe\n",
        b'[["key", [0.5]]]\n',
        line_of([]),
        line_of(5),
        line_of([["key"]]),
        line_of([["key", 5]]),
        line_of([["key", [math.nan]]]),
        line_of([["key", [10**400]]]),
        line_of([["key", ["x"]]]),
        line_of([["key", [0.5]], ["next", [math.inf]]]),
        line_of(["key", [0.5]]),
    ],
)
def test_a_line_that_is_not_sound_does_not_count(tmp_path, line):
    path = tmp_path / "journal"
    path.write_bytes(line_of([["another", [0.5]]]) + line)
    found = Journal(path, resume=True).read()
    assert (found.known, found.damaged) == ({"another": [0.5]}, 1)


def test_what_was_computed_has_every_digit(tmp_path):
    journal = Journal(tmp_path / "journal")
    value = 0.1 + 0.2
    journal.add([("key", [value, 1e-300])])
    assert Journal(journal.path, resume=True).read().known == {"key": [value, 1e-300]}
    journal.remove()
    journal.remove()
    assert not journal.path.exists()
    assert Journal(journal.path, resume=True).read().known == {}


def test_texts_that_utf8_cannot_write_are_kept_apart(tmp_path):
    path = tmp_path / "journal"
    texts = ["\ud800", "?", "\u2028", "\x00", ""]
    found = run_over(texts, Worker(), Run(journal=Journal(path)))
    again = Worker()
    np.testing.assert_array_equal(
        run_over(texts, again, Run(journal=Journal(path, resume=True).read())), found
    )
    assert again.items == []
    _, line = path.read_bytes().splitlines(keepends=True)
    assert len(record_of(line)) == len(texts)


# --- memory


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("MPS backend out of memory"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_one_item_that_does_not_fit_gives_a_sentence(error):
    def work(batch):
        raise error

    with pytest.raises(ShroomError, match="one datapoint alone does not fit"):
        run_over(["", "aa", "bbb"], work)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        RuntimeError("The size of tensor a must match"),
        ValueError("out of memory"),
    ],
)
def test_other_errors_are_not_hidden(error):
    calls = []

    def work(batch):
        calls.append(batch)
        raise error

    with pytest.raises(type(error), match=str(error)):
        run_over(["a", "b"], work)
    assert len(calls) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_gives_a_sentence_and_is_not_kept(tmp_path, bad):
    journal = Journal(tmp_path / "journal")
    with pytest.raises(ShroomError, match="not a number"):
        run_over(["a", "b"], lambda batch: np.full(len(batch), bad), Run(journal=journal))
    assert journal.kept == 0
    assert not journal.path.exists()
