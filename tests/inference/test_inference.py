"""Running a model over many items: batches, what is computed once, resumption, memory, threads."""

import ctypes
import gc
import math
import threading
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import nli_model
from transformers import BertConfig, BigBirdConfig, LlamaConfig

from shroom.core.problems import ShroomError
from shroom.core.result_log import line_of, record_of
from shroom.detectors.nli import NLI
from shroom.inference import computation, sequence_classifier
from shroom.inference.batching import batches, side_by_side
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


def work(batch):
    return np.array([values(text) for (text,) in batch], float)


def run_over(texts, work, run=RUN, workers=1):
    items = [(text,) for text in texts]
    lengths = list(map(len, texts))
    return compute(items, work, lengths=lengths, key=CacheKey("a model"), run=run, workers=workers)


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


# --- several batches at a time


def overtaken(n):
    """Return work of which the first batch ends after the n next ones."""
    begun, done = threading.Lock(), threading.Semaphore(0)

    def late(batch):
        if begun.acquire(blocking=False):
            for _ in range(n):
                assert done.acquire(timeout=20)
        done.release()
        return work(batch)

    return late


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(1, 40), st.integers(2, 5))
def test_the_values_are_those_of_one_worker(texts, batch_tokens, workers):
    run = Run(batch_tokens=batch_tokens)
    one = run_over(texts, work, run, workers=1)
    np.testing.assert_array_equal(run_over(texts, work, run, workers=workers), one)


def test_journal_and_reports_are_those_of_one_worker(tmp_path):
    texts = [f"{n:0{1 + n}}" for n in range(40)]
    written = {}
    for workers in (1, 4):
        told = []
        journal = Journal(tmp_path / str(workers))
        run = Run(20, report=lambda *at, told=told: told.append(at), journal=journal)
        run_over(texts, overtaken(workers - 1), run, workers=workers)
        written[workers] = journal.path.read_bytes(), told
    assert written[1] == written[4]


def test_as_many_batches_run_at_a_time_as_there_are_workers():
    """Each waits for two others: with fewer at a time, none would come to its end."""
    together = threading.Barrier(3, timeout=20)

    def waiting(batch):
        together.wait()
        return work(batch)

    run_over([f"{n}" for n in range(9)], waiting, Run(batch_tokens=1), workers=3)


def test_nothing_is_computed_far_ahead(tmp_path):
    begun, kept = [], []

    def told(batch):
        begun.append(batch)
        return work(batch)

    def report(done, _):
        kept.append(done)
        assert len(begun) <= done + 4

    run_over([f"{n:03}" for n in range(30)], told, Run(batch_tokens=1, report=report), workers=3)
    assert kept == list(range(1, 31))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no"), ShroomError("no")])
def test_what_a_batch_raises_comes_after_the_batches_before_it(error, tmp_path):
    journal = Journal(tmp_path / "journal")

    def failing(batch):
        if batch == [("aaa",)]:
            raise error
        return work(batch)

    texts = ["a" * n for n in range(1, 9)]
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        run_over(texts, failing, Run(batch_tokens=1, journal=journal), workers=4)
    assert len(journal.path.read_text().splitlines()) == 1 + 5
    again = Run(batch_tokens=1, journal=Journal(journal.path, resume=True).read())
    seen = []
    found = run_over(texts, lambda batch: seen.extend(batch) or work(batch), again)
    assert sorted(seen) == [("a",), ("aa",), ("aaa",)]
    np.testing.assert_array_equal(found, [values(text) for text in texts])


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_batch_that_does_not_fit_is_made_smaller_for_good(most, workers):
    sizes = []

    def small(batch):
        if len(batch) > most:
            raise RuntimeError("CUDA out of memory")
        sizes.append(len(batch))
        return work(batch)

    texts = [f"{n:03}" for n in range(40)]
    found = run_over(texts, small, Run(batch_tokens=60), workers=workers)
    np.testing.assert_array_equal(found, [values(text) for text in texts])
    assert max(sizes) <= most < 2 * max(sizes) + 1


def test_where_only_one_item_fits_at_a_time_there_is_one_at_a_time():
    here = threading.Lock()

    def alone(batch):
        if not here.acquire(blocking=False):
            raise MemoryError
        try:
            return work(batch)
        finally:
            here.release()

    texts = ["a" * n for n in range(20)]
    found = run_over(texts, alone, Run(batch_tokens=1), workers=4)
    np.testing.assert_array_equal(found, [values(text) for text in texts])


def test_what_a_failed_batch_held_is_free_when_it_is_tried_again():
    class Activations:
        pass

    held, alive = [], []

    def failing(batch):
        if len(batch) > 2:
            activations = Activations()
            held.append(weakref.ref(activations))
            raise MemoryError
        alive.extend(one() is not None for one in held)
        return work(batch)

    gc.disable()
    try:
        run_over([f"{n:03}" for n in range(16)], failing, Run(batch_tokens=24), workers=2)
    finally:
        gc.enable()
    assert held
    assert not any(alive)


@pytest.mark.parametrize(("length", "most"), [(1, 4), (2048, 4), (2900, 1), (9000, 1)])
def test_very_long_items_are_not_computed_side_by_side(length, most):
    """Their attention takes memory with the square of their length."""
    here, most_here = [], []
    together = threading.Barrier(most)

    def counted(batch):
        here.append(batch)
        together.wait(20)  # never ends where fewer are computed at a time
        most_here.append(len(here))
        together.wait(20)
        here.remove(batch)
        return np.zeros(len(batch))

    items = [(f"{n}",) for n in range(8)]
    run = Run(batch_tokens=1)
    compute(items, counted, lengths=[length] * 8, key=CacheKey(""), run=run, workers=4)
    assert max(most_here) == most


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_value_that_is_no_number_comes_after_the_batches_before_it(workers, tmp_path):
    def broken(batch):
        return work(batch) * (np.nan if batch == [("aaa",)] else 1)

    texts = ["a" * n for n in range(1, 9)]
    journal = Journal(tmp_path / "journal")
    with pytest.raises(ShroomError, match="not a number"):
        run_over(texts, broken, Run(1, journal=journal), workers)
    assert len(Journal(journal.path, resume=True).read().known) == 5


# --- threads and memory


@pytest.fixture
def two_threads():
    """Give torch two threads, and as many as it had in the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def threads_of_a_new_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_of_torch_are_as_they_were(two_threads):
    seen = []

    def told(batch):
        seen.append(torch.get_num_threads())
        return work(batch)

    run_over([f"{n}" for n in range(6)], told, Run(batch_tokens=1), workers=2)
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
    assert threads_of_a_new_thread() == 2


def test_runs_that_overlap_leave_the_threads_as_they_were(two_threads):
    inside, outside = threading.Event(), threading.Event()

    def first():
        with side_by_side(2) as submit:
            submit(int).result()
            inside.set()
            outside.wait(20)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(20)
    with side_by_side(2) as submit:
        outside.set()
        thread.join()
        assert submit(torch.get_num_threads).result() == 1
    assert threads_of_a_new_thread() == 2


@pytest.mark.parametrize(
    ("config", "workers"),
    [
        (BertConfig(), 5),
        (LlamaConfig(rope_scaling={"type": "dynamic", "factor": 2.0}), 1),
        (BigBirdConfig(), 1),
    ],
)
def test_a_model_that_changes_itself_computes_one_batch_at_a_time(
    config, workers, tmp_path, monkeypatch
):
    monkeypatch.setattr(sequence_classifier, "threads", lambda: 5)
    model = sequence_classifier.SequenceClassifier(
        "nli", str(nli_model(tmp_path, "bert", length=256)), None, Run(device="cpu")
    )
    monkeypatch.setattr(model, "config", config)
    assert model._workers() == workers


def test_a_classifier_has_a_worker_for_each_core(tmp_path, monkeypatch):
    folder = str(nli_model(tmp_path, "bert", length=256))
    pairs = [(f"a cat {'sleeps ' * n}", f"a dog {m}") for n in range(12) for m in range(3)]
    seen, together = set(), threading.Barrier(3)
    really = sequence_classifier.of_torch

    def told(model):
        forward = really(model)

        def waiting(batch):
            if len(seen) < together.parties:
                seen.add(threading.current_thread())
                together.wait(20)  # for a batch in each other thread
            return forward(batch)

        return waiting

    run = Run(64, "cpu")
    monkeypatch.setattr(sequence_classifier, "threads", lambda: 1)
    one = NLI(folder).probabilities(pairs, run)
    monkeypatch.setattr(sequence_classifier, "threads", lambda: 3)
    monkeypatch.setattr(sequence_classifier, "of_torch", told)
    np.testing.assert_allclose(NLI(folder).probabilities(pairs, run), one, atol=1e-6)
    assert len(seen) == 3


def test_freed_memory_is_given_back_now_and_then(monkeypatch):
    given = []
    monkeypatch.setattr("shroom.inference.computation.give_back", lambda: given.append(True))
    run_over([f"{n}" for n in range(200)], work, Run(batch_tokens=1), workers=2)
    assert len(given) == 200 // 64


@pytest.mark.parametrize("library", [OSError("static"), AttributeError("musl"), TypeError("no")])
def test_where_the_c_library_keeps_nothing_nothing_is_asked_of_it(library, monkeypatch):
    asked = []

    def missing(name):
        asked.append(name)
        raise library

    monkeypatch.setattr(ctypes, "CDLL", missing)
    computation.give_back()
    assert asked == [None]


def test_a_stopped_run_of_a_classifier_goes_on_to_the_same_p(tmp_path, monkeypatch):
    folder = str(nli_model(tmp_path, "bert", length=256))
    pairs = [(f"a cat {'sleeps ' * n}", f"a dog {m}") for n in range(12) for m in range(3)]
    monkeypatch.setattr(sequence_classifier, "threads", lambda: 3)

    def run(journal=None, report=lambda *_: None):
        return Run(64, "cpu", report=report, journal=journal)

    whole = NLI(folder).probabilities(pairs, run())

    def stop(done, total):
        if done > total / 3:
            raise KeyboardInterrupt

    journal = tmp_path / "journal"
    with pytest.raises(KeyboardInterrupt):
        NLI(folder).probabilities(pairs, run(Journal(journal), stop))
    assert 0 < len(Journal(journal, resume=True).read().known) < len(pairs)
    again = NLI(folder).probabilities(pairs, run(Journal(journal, resume=True).read()))
    np.testing.assert_allclose(again, whole, atol=5e-7)
