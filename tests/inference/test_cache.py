"""The cache of what models have said: what it gives again, to whom, and when it steps back."""

import contextlib
import multiprocessing
import os
import sqlite3
import time

import numpy as np
import pytest
from conftest import gold, write_json
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import TEXT, nli_model

from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.nli import NLI
from shroom.inference import hub
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.result_cache import Cache
from shroom.inference.resume_log import Journal
from shroom.inference.run_settings import RUN, Run
from shroom.inference.sequence_classifier import SequenceClassifier


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "pairs.sqlite"


KEY = CacheKey("a model", lambda: "a model")


def key(n):
    return key_of(str(n))


def key_of(*item):
    return KEY.cache_keys([item])[0]


def some(n, k=2):
    return {key(i): np.arange(k) + i / 7 for i in range(n)}


def count(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count(*) FROM entries").fetchone()[0]


def values(text):
    return [len(text) / 3, sum(map(ord, text)) % 97 / 7]


class Worker:
    """Gives two numbers for each text, and keeps what it was asked."""

    def __init__(self):
        self.items = []

    def __call__(self, batch):
        self.items += batch
        return np.array([values(text) for (text,) in batch])


def run_over(texts, worker, run, key=KEY):
    items = [(text,) for text in texts]
    return compute(items, worker, lengths=list(map(len, texts)), key=key, run=run)


# --- what is kept


@given(st.dictionaries(st.integers(0, 9999), st.lists(st.floats(-1e300, 1e300), min_size=1)))
def test_every_digit_comes_back(tmp_path_factory, entries):
    cache = Cache(tmp_path_factory.mktemp("c") / "pairs.sqlite")
    given = {key(n): np.array(found) for n, found in entries.items()}
    cache.add(given)
    found = cache.get([*given, key("unknown")])
    cache.close()
    assert found.keys() == given.keys()
    for one, array in given.items():
        assert found[one].tobytes() == array.tobytes()


def test_nothing_is_made_by_looking(path):
    cache = Cache(path)
    assert cache.get([key(1)]) == {}
    assert not path.parent.exists()


def test_keys_tell_all_that_counts_apart(monkeypatch):
    items = [("a", "b"), ("ab",), ("a", "b", ""), ("\ud800",), ("?",), ("a", ("b",))]
    keys = {
        key
        for content in ("a model", "another", "")
        for precision in ("float32", "float16")
        for key in CacheKey("", lambda content=content: content, precision).cache_keys(items)
    }
    monkeypatch.setattr("shroom.inference.cache_key.__version__", "another")
    assert key_of("a", "b") not in keys
    assert len(keys) == 3 * 2 * 6


@pytest.mark.parametrize("module", ["tokenizers", "transformers", "torch"])
def test_an_address_tells_the_versions_of_what_computes(module, tmp_path, monkeypatch):
    model = SequenceClassifier("nli", str(nli_model(tmp_path)), None, Run(device="cpu"))
    before = model._key("").cache_keys([("a", "b")])
    monkeypatch.setattr(f"{module}.__version__", "99")
    assert model._key("").cache_keys([("a", "b")]) != before


@pytest.mark.parametrize("module", ["tokenizers", "onnxruntime"])
def test_the_shipped_models_address_does_so_too(module, monkeypatch):
    before = CrossEncoder()._model.content()
    monkeypatch.setattr(f"{module}.__version__", "99")
    assert CrossEncoder()._model.content() != before


def test_no_text_is_stored(path):
    run_over(["a secret text"], Worker(), Run(cache=(cache := Cache(path))))
    cache.close()
    assert all(b"secret" not in file.read_bytes() for file in path.parent.iterdir())


# --- a run


def test_a_second_run_costs_only_what_is_new(path):
    first, second = Worker(), Worker()
    notes, told = [], []
    before = run_over(["a", "bb", "ccc"], first, Run(cache=Cache(path)))
    run = Run(1, cache=Cache(path), note=notes.append, report=lambda *at: told.append(at))
    found = run_over(["dddd", "ccc", "a", "e"], second, run)
    assert second.items == [("dddd",), ("e",)]
    assert found[[2, 1]].tobytes() == before[[0, 2]].tobytes()
    np.testing.assert_array_equal(found, run_over(["dddd", "ccc", "a", "e"], Worker(), RUN))
    assert notes == ["2 of 4 results are those of earlier runs, from the cache"]
    assert told == [(3, 4), (4, 4)]


@pytest.mark.parametrize("content", [None, lambda: None])
def test_what_has_no_known_content_is_not_cached(path, content):
    run_over(["a"], Worker(), Run(cache=Cache(path)), CacheKey("a model", content))
    assert not path.exists()


def test_beside_a_journal(path, tmp_path):
    journal = Journal(tmp_path / "journal")
    run_over(["a"], Worker(), Run(journal=journal))
    run_over(["bb"], Worker(), Run(cache=Cache(path)))
    worker = Worker()
    run = Run(journal=Journal(journal.path, resume=True).read(), cache=Cache(path))
    found = run_over(["a", "bb", "ccc"], worker, run)
    assert worker.items == [("ccc",)]
    np.testing.assert_array_equal(found, [values("a"), values("bb"), values("ccc")])


# --- several processes


def write(path, process, n):
    cache = Cache(path, note=lambda _: os._exit(3))
    for start in range(0, n, 50):
        # Half of the keys are those of the other processes, too.
        keys = [i if i % 2 else i * 1000 + process for i in range(start, start + 50)]
        cache.add({key(i): np.array([i, i / 7]) for i in keys})
        found = cache.get(map(key, keys))
        assert all(found[key(i)].tolist() == [i, i / 7] for i in keys)


def test_four_processes_at_once(path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(path, number, 1000)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert count(path) == 500 + 4 * 500 - 2  # 1 and 3 are a process' own, too


# --- its size


def test_what_was_not_used_for_longest_goes(path, monkeypatch):
    cache = Cache(path, most=150_000)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**14)
    cache.add(some(1000))
    monkeypatch.setattr(time, "time_ns", lambda: now)
    used = [key(n) for n in range(500)]
    cache.get(used)
    for n in range(10):
        cache.add({key(i): np.ones(2) for i in range(2000 + n * 50, 2050 + n * 50)})
    assert cache.get(used).keys() == set(used)
    assert 0 < len(cache.get(key(n) for n in range(500, 1000))) < 500


def test_it_never_takes_more_than_it_may(path, monkeypatch):
    cache = Cache(path, most=100_000)
    for n in range(60):
        monkeypatch.setattr(time, "time_ns", lambda at=n: at * 10**9)
        cache.add({key(i): np.ones(3) for i in range(n * 100, n * 100 + 100)})
    assert 500 < count(path) < 2500
    assert len(cache.get(key(i) for i in range(5900, 6000))) == 100  # the newest
    cache.close()
    assert path.stat().st_size < 130_000


# --- what does not play along


def goes_on_without(path, patience=0.05):
    notes = []
    texts = ["a", "bb", "ccc"]
    run = Run(batch_tokens=1, cache=Cache(path, note=notes.append, patience=patience))
    worker = Worker()
    found = run_over(texts, worker, run)
    np.testing.assert_array_equal(found, list(map(values, texts)))
    (note,) = notes
    assert note.startswith(f"the cache {path} is not used (")
    return worker


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_cache(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    assert len(goes_on_without(path).items) == 3
    assert path.read_bytes() == content


def test_a_file_of_which_a_part_is_lost(path):
    cache = Cache(path)
    cache.add(some(5000))
    cache.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + os.urandom(len(whole) // 2))
    notes = []
    found = Cache(path, note=notes.append).get(key(n) for n in range(5000))
    assert len(found) < 5000
    expected = some(5000)
    assert all(found[one].tobytes() == expected[one].tobytes() for one in found)


@pytest.fixture(params=["table", "index"])
def changed_key(path, request):
    """A cache of which one bit of a key has changed, in the table or in the index by use."""
    cache = Cache(path)
    cache.add(some(400))
    cache.close()
    content = path.read_bytes()
    places = content.index(key(7)), content.rindex(key(7))
    place = places[request.param == "index"]
    assert places[0] < places[1]
    path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    return path


def test_a_run_at_the_limit_goes_on_without_such_a_cache(changed_key):
    notes = []
    cache = Cache(changed_key, most=0, note=notes.append)
    cache.add(some(3))
    (note,) = notes
    assert note.startswith(f"the cache {changed_key} is not used (")
    assert note.endswith("; delete it to start anew")


@pytest.mark.parametrize("used", ["text", b"bytes", -1, 1 << 62, 1.5])
def test_a_time_that_cannot_be_does_not_count(path, used):
    cache = Cache(path)
    cache.add(some(2))
    with cache._database as database:
        database.execute("UPDATE entries SET used = ? WHERE key = ?", (used, key(1)))
    assert len(cache.get([key(0), key(1)])) == 2


@pytest.mark.parametrize(
    "packed", [b"", b"x" * 7, b"x" * 20, "text", 7, np.array([0.5]).tobytes() + b"\0\0\0\0"]
)
def test_an_entry_that_is_not_what_was_written_does_not_count(path, packed):
    cache = Cache(path)
    cache.add({key_of("a"): np.array(values("a"))})
    with cache._database as database:
        database.execute("UPDATE entries SET found = ?", (packed,))
    worker = Worker()
    run_over(["a"], worker, Run(cache=cache))
    assert worker.items == [("a",)]
    assert len(cache.get([key_of("a")])) == 1  # it is right again


def test_values_of_another_shape_are_told(path):
    cache = Cache(path)
    cache.add({key_of("a"): np.ones(5)})
    with pytest.raises(ShroomError, match="expected 5 values, got 2; run again without the cache"):
        run_over(["a", "b"], Worker(), Run(cache=cache))


def test_a_folder_in_place_of_the_file(path):
    path.mkdir(parents=True)
    goes_on_without(path)


def test_another_process_that_never_lets_go(path):
    Cache(path).add(some(1))
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    goes_on_without(path)
    other.rollback()
    other.close()


# --- models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return nli_model(tmp_path_factory.mktemp("nli"))


POINTS = [pair(text, hyp) for text in TEXT for hyp in ("A cat.", "It rained all day long.")]


def test_an_nli_model_is_not_asked_twice(folder, path, monkeypatch):
    without = NLI(str(folder)).p(POINTS)
    first = NLI(str(folder)).p(POINTS, Run(cache=Cache(path)))
    nli = NLI(str(folder))
    monkeypatch.setattr(nli, "_loaded", {})
    told = []
    run = Run(cache=Cache(path), report=lambda *at: told.append(at))
    again = nli.p(POINTS, run)
    assert told == []
    assert without.tobytes() == first.tobytes() == again.tobytes()


def test_other_weights_and_other_files_have_other_keys(folder, path, tmp_path):
    NLI(str(folder)).p(POINTS, Run(cache=Cache(path)))
    other = nli_model(tmp_path / "other", seed=1)
    with_cache = NLI(str(other)).p(POINTS, Run(cache=Cache(path)))
    np.testing.assert_array_equal(with_cache, NLI(str(other)).p(POINTS))
    assert count(path) == 2 * len(POINTS)


def test_a_folder_is_known_by_its_content_alone(folder, tmp_path):
    copied = tmp_path / "under another name"
    copied.mkdir()
    for file in folder.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    assert hub.content(str(copied)) == hub.content(str(folder))
    (copied / "README.md").write_text("what is never read")
    assert hub.content(str(copied)) == hub.content(str(folder))
    (copied / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert hub.content(str(copied)) != hub.content(str(folder))
    (copied / "adapter_config.json").write_text("{}")
    assert hub.content(str(copied)) is None


def test_files_that_changed_after_the_model_was_loaded_are_not_its_key(path, tmp_path):
    folder = nli_model(tmp_path / "model")
    nli = NLI(str(folder))
    nli.p(POINTS[:1])
    (folder / "config.json").write_text((folder / "config.json").read_text() + "\n")
    nli.p(POINTS, Run(cache=Cache(path)))
    assert not path.exists()


def test_the_shipped_model(path):
    model = CrossEncoder()
    without = model.p(POINTS[:4])
    for _ in range(2):
        found = model.p(POINTS[:4], Run(cache=Cache(path)))
        assert found.tobytes() == without.tobytes()
    assert count(path) == 4
    assert "onnxruntime" in model._model.content()


# --- the command


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SHROOM_NO_CACHE")
    return tmp_path / "cache" / "pairs.sqlite"


@pytest.fixture
def data(tmp_path):
    return write_json(tmp_path / "val.model-agnostic.json", gold(6))


def test_predict_reads_and_writes_it(at_home, data, folder, tmp_path, shroom):
    call = ("predict", "nli", data, "--model", folder, "-o")
    code, _, err = shroom(*call, tmp_path / "without.json", "--no-cache")
    assert (code, at_home.exists(), "cache" in err) == (0, False, False)
    code, _, err = shroom(*call, tmp_path / "first.json")
    assert (code, at_home.exists(), "cache" in err) == (0, True, False)
    code, _, err = shroom(*call, tmp_path / "again.json")
    assert code == 0
    assert "note: 7 of 7 results are those of earlier runs, from the cache\n" in err
    texts = {
        (tmp_path / name).read_bytes() for name in ("without.json", "first.json", "again.json")
    }
    assert len(texts) == 1
    assert count(at_home) == 7


def test_a_broken_cache_is_reported(at_home, data, folder, tmp_path, shroom):
    at_home.parent.mkdir()
    at_home.write_text("no database")
    code, _, err = shroom("predict", "nli", data, "--model", folder, "-o", tmp_path / "p.json")
    assert code == 0
    assert err.count("note: the cache ") == 1
