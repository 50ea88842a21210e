"""Running a model over many items: batches, what is computed once, resumption, memory, threads."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shroom.core.problems import ShroomError
from shroom.inference import compute as module
from shroom.inference.compute import batches, compute, threads
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import Store, kept

TEXTS = st.lists(st.text(max_size=12), max_size=30)


def values(text):
    return [len(text) / 3, sum(map(ord, text)) % 97 / 7]


class Worker:
    """Gives two numbers for each text, and keeps what it was asked."""

    def __init__(self):
        self.batches = []

    def __call__(self, batch):
        self.batches.append(batch)
        return np.array([values(text) for text in batch])

    @property
    def items(self):
        return [item for batch in self.batches for item in batch]


def run_over(texts, work, run=RUN, scope=lambda: "a model", **how):
    return compute(texts, work, lengths=list(map(len, texts)), scope=scope, run=run, **how)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 40), st.integers(1, 4))
def test_the_values_are_those_of_each_item_in_order(texts, batch_tokens, workers):
    worker = Worker()
    found = run_over(texts, worker, Run(batch_tokens=batch_tokens), workers=workers)
    np.testing.assert_array_equal(found, [values(text) for text in texts] or np.empty((0, 1)))
    assert found.dtype == np.float64
    assert sorted(worker.items) == sorted(set(texts))
    for batch in worker.batches:
        longest = max(max(1, len(text)) for text in batch)
        assert len(batch) == 1 or longest * len(batch) <= batch_tokens


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(-5, 100))
def test_batches_are_neighbours_within_the_limit_and_as_large_as_can_be(lengths, most):
    length = dict(enumerate(sorted(lengths, reverse=True)))
    found = list(batches(list(length), length, most))
    assert [item for batch in found for item in batch] == list(length)
    for batch in found:
        longest = length[batch[0]]
        assert longest * len(batch) <= most or len(batch) == 1
        if batch[-1] + 1 in length:
            assert longest * (len(batch) + 1) > most


# --- what is stored


def test_a_second_run_costs_only_what_is_new(tmp_path):
    first, second, told = Worker(), Worker(), []
    before = run_over(["a", "bb", "ccc"], first, Run(stores=[Store(tmp_path / "cache")]))
    run = Run(1, stores=[Store(tmp_path / "cache")], report=lambda *at: told.append(at))
    texts = ["dddd", "ccc", "a", "e", "a"]
    found = run_over(texts, second, run)
    assert second.items == ["dddd", "e"]
    assert found[[2, 1]].tobytes() == before[[0, 2]].tobytes()
    np.testing.assert_array_equal(found, run_over(texts, Worker()))
    assert told == [(3, 4), (4, 4)]


def test_what_the_values_depend_on_is_told_apart(tmp_path, monkeypatch, notes):
    run, worker = Run(stores=[Store(tmp_path / "cache")], note=notes.append), Worker()
    run_over(["a"], worker, run, scope=lambda: None)  # may be any model
    assert notes == ["the version of the model is unknown, so its results are not stored"]
    assert not (tmp_path / "cache").exists()
    run_over(["a"], Worker(), RUN, scope=lambda: pytest.fail("it takes time"))
    for _ in range(2):
        run_over(["a"], worker, run)
        run_over(["a"], worker, run, scope=lambda: "another model")
        run_over(["a"], worker, run, precision="float16")
        assert len(worker.items) == 4
    monkeypatch.setattr(module, "__version__", "another")
    run_over(["a"], worker, run)
    assert len(worker.items) == 5
    assert run.precisions == {"float32", "float16"}
    with pytest.raises(ShroomError, match="cannot be used here; omit --resume"):
        run_over(["a", "b"], lambda batch: np.ones((len(batch), 5)), run)


LONG = [f"{n:0{1 + n % 23}}" for n in range(60)]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_goes_on_to_the_same_bytes_in_the_batches_that_were_left(workers, tmp_path):
    whole, rest, told = Worker(), Worker(), []
    expected = run_over(LONG, whole, Run(40))
    cache, path = Store(tmp_path / "cache"), tmp_path / "p.partial"
    cache.put("of no use", {"a": b"1"})

    def stop(done, total):
        told.append((done, total))
        assert Store(tmp_path / "cache").n - 1 == done  # so a kill loses only batches under way
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), kept(path, print, resume=False) as store:
        run_over(LONG, Worker(), Run(40, report=stop, stores=[store, cache]), workers=workers)
    with kept(path, print, resume=True) as store:
        assert store.n == cache.n - 1 == told[-1][0]
        found = run_over(LONG, rest, Run(40, stores=[store, cache]), workers=workers)
    assert found.tobytes() == expected.tobytes()
    assert len(rest.items) == 60 - told[-1][0]
    assert all(batch in whole.batches for batch in rest.batches)
    ends = np.cumsum([len(batch) for batch in whole.batches])
    assert told == [(done, 60) for done in ends][: len(told)]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt("no"), ValueError("no"), ShroomError("no"), None]
)
def test_what_a_batch_raises_comes_after_the_batches_before_it(error, tmp_path):
    def failing(batch):
        if batch == ["aaa"] and error:
            raise error
        return np.full(len(batch), np.nan) if batch == ["aaa"] else np.array([values(batch[0])])

    texts, path, rest = ["a" * n for n in range(1, 9)], tmp_path / "p", Worker()
    kind, match = (type(error), "no") if error else (ShroomError, "not a finite number")
    with pytest.raises(kind, match=match), kept(path, print, resume=False) as store:
        run_over(texts, failing, Run(batch_tokens=1, stores=[store]), workers=4)
    with kept(path, print, resume=True) as store:
        found = run_over(texts, rest, Run(batch_tokens=1, stores=[store]))
    assert rest.items == ["aaa", "aa", "a"]
    np.testing.assert_array_equal(found, [values(text) for text in texts])


# --- memory


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (RuntimeError("The size of tensor a must match"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_a_lack_of_memory_is_a_sentence_and_other_errors_are_not_hidden(error, lack):
    calls = []

    def work(batch):
        calls.append(batch)
        raise error

    kind, said = (
        (ShroomError, "a single datapoint does not fit") if lack else (type(error), str(error))
    )
    with pytest.raises(kind, match=said):
        run_over(["", "aa", "bbb"], work)
    assert lack or len(calls) == 1


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_a_batch_that_does_not_fit_is_halved(most, workers):
    sizes = []

    def small(batch):
        if len(batch) > most:
            raise RuntimeError("CUDA out of memory")
        sizes.append(len(batch))
        return Worker()(batch)

    texts = [f"{n:03}" for n in range(60)]
    found = run_over(texts, small, Run(batch_tokens=60), workers=workers)
    np.testing.assert_array_equal(found, [values(text) for text in texts])
    assert max(sizes) <= most < 2 * max(sizes) + 1


def test_what_a_failed_batch_held_is_free_when_it_is_tried_again():
    held, alive = [], []

    def failing(batch):
        if len(batch) > 2:
            activations = np.zeros(1)
            held.append(weakref.ref(activations))
            raise MemoryError
        alive.extend(one() is not None for one in held)
        return Worker()(batch)

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
        together.wait(20)  # never ends if fewer are computed at a time
        most_here.append(len(here))
        together.wait(20)
        here.remove(batch)
        return np.zeros(len(batch))

    items, run = [f"{n}" for n in range(8)], Run(batch_tokens=1)
    compute(items, counted, lengths=[length] * 8, scope=str, run=run, workers=4)
    assert max(most_here) == most


def test_nothing_is_computed_far_ahead():
    begun, done = [], []

    def told(batch):
        begun.append(batch)
        return Worker()(batch)

    def report(n, _):
        done.append(n)
        assert len(begun) <= n + 4

    run_over([f"{n:03}" for n in range(30)], told, Run(batch_tokens=1, report=report), workers=3)
    assert done == list(range(1, 31))


# --- threads


@pytest.mark.parametrize(
    ("asked", "quota", "expected"),
    [
        *(("", quota, 8) for quota in ("max 100000", "nonsense", "100 0")),
        *(("", "250000 100000", 3), ("", "50000 100000", 1)),
        *((asked, "max 100000", n) for asked, n in (("3,2", 3), ("0", 8), ("²", 8))),
    ],
)
def test_threads_are_the_cores_that_are_there(asked, quota, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(module, "_QUOTA", tmp_path / "cpu.max")
    assert threads() == expected
    monkeypatch.setattr(module, "_QUOTA", tmp_path / "none")
    assert threads() >= expected


def test_threads_of_torch_are_as_they_were_even_if_runs_overlap():
    seen, inside, outside = set(), threading.Event(), threading.Event()
    before = torch.get_num_threads()
    torch.set_num_threads(2)

    def work(batch):
        seen.add(torch.get_num_threads())
        if batch == ["long"]:
            inside.set()
            outside.wait(20)
        return np.zeros(len(batch))

    def run(texts):
        run_over(texts, work, Run(batch_tokens=1), workers=2)

    with ThreadPoolExecutor() as pool:
        long = pool.submit(run, ["long", "b"])
        assert inside.wait(20)
        run([f"{n}" for n in range(6)])
        outside.set()
        long.result()
    with ThreadPoolExecutor() as new:
        assert torch.get_num_threads() == new.submit(torch.get_num_threads).result() == 2
    assert seen == {1}
    torch.set_num_threads(before)
