"""Two halves on two cores give what the whole gives, or nothing."""

import json
import os
import threading

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.scoring import fast_reader, parallel_decoding
from shroom.scoring.scores import score
from shroom.scoring.table import Role


@pytest.fixture(autouse=True)
def every_file_is_worth_it(monkeypatch):
    monkeypatch.setattr(parallel_decoding, "WORTH_IT", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.fixture
def forks(monkeypatch):
    """Count the processes that are made."""
    made = []
    real = os.fork

    def fork():
        child = real()
        made.append(child)
        return child

    monkeypatch.setattr(os, "fork", fork)
    return made


def whole(data, role, **more):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_decoding, "WORTH_IT", 1 << 60)
        return fast_reader.table(data, role, "f", **more)


def same(one, other):
    assert (one is None) == (other is None)
    if one is None:
        return
    assert one.n == other.n
    for column in ("label", "p", "ids"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    for key, group in one.groups.items():
        assert group.words == other.groups[key].words
        np.testing.assert_array_equal(group.place, other.groups[key].place)
    assert one.texts == other.texts


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("layout", ["compact", "spaced", "indented", "crlf", "lines", "bom"])
def test_every_layout(role, layout, forks):
    rows = gold(9, first_id=3)
    if role is Role.PREDICTIONS:
        rows = predictions(9, first_id=3)
    rows[2]["model" if role is Role.GOLD else "id"] = "other" if role is Role.GOLD else 40
    text = {
        "compact": json.dumps(rows, separators=(",", ":")),
        "spaced": json.dumps(rows),
        "indented": json.dumps(rows, indent=2),
        "crlf": json.dumps(rows, indent=2).replace("\n", "\r\n"),
        "lines": "\n".join(map(json.dumps, rows)),
        "bom": "\ufeff" + json.dumps(rows),
    }[layout]
    data = memoryview(text.encode())
    found = fast_reader.table(data, role, "f", lines=layout == "lines", texts=True)
    assert len(forks) == 1
    assert found is not None
    same(found, whole(data, role, lines=layout == "lines", texts=True))


@given(st.integers(0, 12), st.sampled_from(["},{", "}, {", "]},{[", '"},{"', "\\", "x"]))
def test_a_cut_inside_a_text_is_noticed(place, odd):
    rows = gold(3)
    rows[1]["hyp"] = odd * 40 + "y" * place
    data = json.dumps(rows).encode()
    found = fast_reader.table(data, Role.GOLD, "f", texts=True)
    assert found is not None
    same(found, whole(data, Role.GOLD, texts=True))


def test_a_cut_inside_a_nested_list_is_noticed():
    rows = gold(3)
    rows[1]["spans"] = [{"start": i} for i in range(50)]
    data = json.dumps(rows).encode()
    found = fast_reader.table(data, Role.GOLD, "f")
    assert found is not None
    same(found, whole(data, Role.GOLD))


@pytest.mark.parametrize("row", [0, 8])
def test_a_problem_in_either_half_refuses_the_whole(row):
    rows = predictions(9)
    rows[row]["p(Hallucination)"] = 2
    assert fast_reader.table(json.dumps(rows).encode(), Role.PREDICTIONS, "f") is None


def test_ids_in_one_half_alone_refuse_the_whole():
    rows = predictions(8)
    for row in rows[:4]:
        row["id"] = 1
    assert fast_reader.table(json.dumps(rows).encode(), Role.PREDICTIONS, "f") is None


def test_a_child_that_dies_is_no_loss(monkeypatch):
    real, parent = fast_reader._columns, os.getpid()

    def columns(*args):
        if os.getpid() != parent:
            raise MemoryError
        return real(*args)

    monkeypatch.setattr(fast_reader, "_columns", columns)
    data = json.dumps(predictions(9)).encode()
    same(fast_reader.table(data, Role.PREDICTIONS, "f"), whole(data, Role.PREDICTIONS))


def test_no_process_is_made_beside_other_threads_or_on_one_core(forks, monkeypatch):
    data = json.dumps(predictions(9)).encode()
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    assert fast_reader.table(data, Role.PREDICTIONS, "f") is not None
    done.set()
    other.join()
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert fast_reader.table(data, Role.PREDICTIONS, "f") is not None
    assert forks == []


def test_scores_are_the_same(tmp_path, forks):
    p = write_json(tmp_path / "p.json", predictions(40, first_id=1))
    g = write_json(tmp_path / "g.json", gold(40, first_id=1))
    found = score(p, g).to_dict()
    assert len(forks) == 2
    parallel_decoding.WORTH_IT = 1 << 60  # put back by the fixture
    assert score(p, g).to_dict() == found
