"""Hard items: by hand where the answer is known, then through the command line."""

import csv
import importlib
import io
import json
import re

import numpy as np
import pytest
from conftest import DATA, gold, write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.problems import ShroomError
from shroom.evaluation.contest import Contest
from shroom.evaluation.item_difficulty import (
    datapoints,
    differing,
    difficulty,
    hardest,
    unsolved,
    wrong,
)
from shroom.report.items import LONGEST
from shroom.scoring.align import AlignedTrack
from shroom.scoring.datapoint_files import read
from shroom.scoring.editions.files import default
from shroom.scoring.file_names import Name
from shroom.scoring.table import Table

check_module = importlib.import_module("shroom.scoring.check")
P = "p(Hallucination)"
LABEL = {1: "Hallucination", 0: "Not Hallucination"}
NAME = Name("val", "model-agnostic")


def columns(p, label=None):
    p = np.array(p, np.float64)
    found = p > 0.5 if label is None else np.array(label)
    return Table("f.json", len(p), found.astype(np.int8), p)


def contest(gold_p, ids=None, **systems):
    """Return a contest: each system is its p, or its labels and p."""
    truth = columns(gold_p)
    truth.ids = None if ids is None else np.array(ids)
    made = Contest(NAME, truth, default())
    for name, said in systems.items():
        own = columns(*said[::-1]) if isinstance(said, tuple) else columns(said)
        made.add(name, AlignedTrack(NAME, own, truth, 0, default(), np.arange(truth.n)))
    return made


def rows(items):
    return [item.row for item in items]


# By hand


def test_hardest_by_hand():
    made = contest([1.0, 0.0, 0.2, 0.8, 0.6], a=[0.9, 0.6, 0.1, 0.0, 0.4])
    assert wrong(made, "a").tolist() == [False, True, False, True, True]
    # Wrong by 0.8, 0.6 and 0.2; right by 0.1 and 0.1, which tie and so go by row.
    assert rows(hardest(made, "a")) == [3, 1, 4, 0, 2]
    assert rows(hardest(made, "a", 2)) == [3, 1]
    assert rows(hardest(made, "a", 99)) == [3, 1, 4, 0, 2]
    assert hardest(made) == hardest(made, "a")


def test_a_wrong_label_is_harder_than_a_far_p():
    made = contest([0.6, 0.6], a=([1, 0], [0.0, 0.6]))  # labels against p are allowed
    assert rows(hardest(made, "a")) == [1, 0]


def test_hardest_for_all_counts_systems_and_then_distance():
    made = contest([0.0, 0.0, 0.0], a=[0.6, 0.9, 0.1], b=[0.6, 0.9, 0.2], c=[0.6, 0.1, 0.3])
    assert difficulty(made).tolist() == [1.0, 2 / 3, 0.0]
    assert rows(hardest(made)) == [0, 1, 2]
    assert [item.difficulty for item in hardest(made)] == [1.0, 2 / 3, 0.0]
    farther = contest([0.0, 0.0], a=[0.6, 0.6], b=[0.6, 0.9])
    assert rows(hardest(farther)) == [1, 0]


TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)


@given(st.lists(st.tuples(TENTHS, TENTHS, TENTHS, TENTHS), min_size=1, max_size=25))
def test_the_orders_by_brute_force(table):
    gold_p, *systems = map(list, zip(*table))
    made = contest(gold_p, **dict(zip("abc", systems)))
    n = len(table)
    bad = {
        name: [(p > 0.5) != (g > 0.5) for p, g in zip(own, gold_p)]
        for name, own in zip("abc", systems)
    }
    off = [round(abs(p - g), 6) for p, g in zip(systems[0], gold_p)]
    expected = sorted(range(n), key=lambda i: (not bad["a"][i], -off[i], i))
    assert rows(hardest(made, "a")) == expected
    none = [i for i in range(n) if all(bad[name][i] for name in "abc")]
    sure = [round(max(g, 1 - g), 6) for g in gold_p]
    assert rows(unsolved(made)) == sorted(none, key=lambda i: (-sure[i], i))
    apart = [round(abs(p - q), 6) for p, q in zip(*systems[:2])]
    one = [i for i in range(n) if bad["a"][i] != bad["b"][i]]
    assert rows(differing(made, "a", "b")) == sorted(one, key=lambda i: (-apart[i], i))
    assert difficulty(made).tolist() == [
        pytest.approx(sum(bad[name][i] for name in "abc") / 3) for i in range(n)
    ]
    for item in hardest(made):
        assert item.difficulty == pytest.approx(difficulty(made)[item.row])
        assert item.systems["b"].right is not bad["b"][item.row]


# The command line


def said(*p, first_id=None):
    """Return predictions of these p."""
    made = [{"label": LABEL[int(value > 0.5)], P: value} for value in p]
    return made if first_id is None else [{"id": first_id + i, **r} for i, r in enumerate(made)]


def truth(*p, first_id=None, **texts):
    """Return gold of these p, with these texts in its first items."""
    made = gold(len(p), first_id=first_id)
    for row, value in zip(made, p):
        votes = [LABEL[1]] * round(value * 5) + [LABEL[0]] * round(5 - value * 5)
        row.update({"label": LABEL[int(value > 0.5)], P: value, "labels": votes})
    for key, values in texts.items():
        for row, value in zip(made, values):
            row[key] = value
    return made


@pytest.fixture
def files(tmp_path):
    """Return two systems and the gold: item 1 is unsolved, the systems differ on 2 and 3."""
    return [
        write_json(tmp_path / "one.json", said(0.9, 0.9, 0.1, 0.2, 0.2)),
        write_json(tmp_path / "two.json", said(0.8, 0.7, 0.6, 0.9, 0.1)),
        write_json(tmp_path / "gold.json", truth(1.0, 0.0, 0.2, 0.4, 0.0, hyp=["zero", "one"])),
    ]


def listed(shroom, *arguments):
    code, out, err = shroom("items", *arguments, "--format", "json")
    assert code == 0, err
    found = json.loads(out, parse_constant=pytest.fail)
    return found, [[item["row"] for item in part["items"]] for part in found["results"]]


def test_defaults(files, shroom, monkeypatch):
    one, two, truth = files
    found, places = listed(shroom, one, truth)
    assert found["results"][0]["order"] == "hardest"
    assert found["results"][0]["total"] == 1
    assert places == [[1, 3, 4, 0, 2]]
    found, places = listed(shroom, one, two, truth)
    assert found["results"][0]["order"] == "unsolved"
    assert found["results"][0]["systems"] == ["one", "two"]
    assert places == [[1]]
    assert listed(shroom, one, truth, "--unsolved")[1] == [[1]]
    assert listed(shroom, one, two, truth, "--hardest", "two", "--top", 3)[1] == [[1, 3, 2]]
    assert listed(shroom, one, two, truth, "--hardest", two)[1] == [[1, 3, 2, 0, 4]]  # by its path
    monkeypatch.chdir(one.parent)  # from where paths are shown without their folder
    assert listed(shroom, one, two, truth, "--hardest", two)[1] == [[1, 3, 2, 0, 4]]
    found, places = listed(shroom, one, two, truth, "--differing", "two", one)
    assert places == [[3, 2]]
    assert found["results"][0]["systems"] == ["two", "one"]


def test_json_has_everything(files, shroom):
    found, _ = listed(shroom, *files)
    assert set(found) == {"results", "warnings"}
    (part,) = found["results"]
    assert (part["track"], part["split"], part["n"], part["total"]) == ("model-agnostic", "", 5, 1)
    assert part["signature"].startswith("shroom|v:")
    (item,) = part["items"]
    assert item == {
        "row": 1,
        "id": None,
        "label": "Not Hallucination",
        "p": 0.0,
        "difficulty": 1.0,
        "systems": {
            "one": {"label": "Hallucination", "p": 0.9, "right": False},
            "two": {"label": "Hallucination", "p": 0.7, "right": False},
        },
        "task": "MT",
        "model": "",
        "ref": "tgt",
        "hyp": "one",
        "src": "source 1",
        "tgt": "target 1",
    }


def test_text(files, shroom, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = shroom("items", *files)
    assert (code, err) == (0, "")
    assert out.splitlines()[:-1] == [
        "model-agnostic: none of 2 systems labels 1 of 5 items right",
        "",
        "1. item 1, MT, ref tgt",
        "    hyp  one",
        "    src  source 1",
        "    tgt  target 1",
        "                label                  p",
        "    annotators  Not Hallucination  0.000",
        "    one         Hallucination      0.900  wrong",
        "    two         Hallucination      0.700  wrong",
        "",
    ]
    assert out.splitlines()[-1].startswith("shroom|v:")
    out = shroom("items", files[0], files[2], "--top", "2")[1]
    assert out.startswith("model-agnostic: one labels 1 of 5 items wrong; the 2 hardest\n")
    out = shroom("items", *files, "--differing", "one", "two", "--top", "1")[1]
    assert "one or two, but not both, labels 2 of 5 items right; shown: 1\n" in out
    assert shroom("items", *files) == shroom("items", *files)


def test_nothing_to_show(tmp_path, files, shroom):
    same = write_json(tmp_path / "same.json", said(0.9, 0.9, 0.1, 0.2, 0.2))
    code, out, err = shroom("items", files[0], same, files[2], "--differing", "one", "same")
    assert (code, err) == (0, "")
    assert "labels 0 of 5 items right" in out


def test_csv(files, shroom):
    code, out, err = shroom("items", *files, "--differing", "one", "two", "--format", "csv")
    assert (code, err) == (0, "")
    found = list(csv.DictReader(io.StringIO(out)))
    assert [(row["rank"], row["row"], row["system"], row["right"]) for row in found] == [
        ("1", "3", "one", "1"),
        ("1", "3", "two", "0"),
        ("2", "2", "one", "1"),
        ("2", "2", "two", "0"),
    ]
    assert found[0]["gold_label"] == "Not Hallucination"
    assert (found[1]["p"], found[1]["gold_p"], found[1]["hyp"]) == ("0.9", "0.4", "hypothesis 3")


ODD = [
    "\x1b[31mred",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "",
    "a\nb\tc",
    "👩\u200d👩 😀",
    "漢字" * 60,
    "w" * 100_000,
    "word " * 20_000,
    "<script>alert(1)</script>",
    "\u0085\u2028\x9b31m",
]


@pytest.mark.parametrize("width", ["80", "40", "1"])
def test_hostile_texts(tmp_path, shroom, monkeypatch, width):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", width)
    n = len(ODD)
    a = write_json(tmp_path / "p.json", said(*[1.0] * n))
    b = write_json(tmp_path / "g.json", truth(*[0.0] * (n - 1), 0.2, hyp=ODD, src=ODD[::-1]))
    code, out, err = shroom("items", a, b)
    assert code == 0
    assert "label-constant" in err  # a warning, as everywhere
    assert all(line.isprintable() for line in out.splitlines())
    assert "\\u001b[31mred" in out.replace("\n         ", "") or width == "1"
    assert "(empty)" in out
    assert "…" in out
    texts = [
        line
        for line in out.splitlines()
        if line[4:9] in ("hyp  ", "src  ", "tgt  ", "     ") and " label " not in line
    ]
    assert max(map(cell_len, texts)) <= max(int(width), 29)
    assert len(out) < 40 * (LONGEST + 200)
    (part,) = listed(shroom, a, b)[0]["results"]
    assert [item["hyp"] for item in part["items"]] == ODD  # json has them whole
    assert shroom("items", a, b, "--format", "json")[1].isascii()
    table = shroom("items", a, b, "--format", "csv")[1]
    assert table.isprintable() or all(line.isprintable() for line in table.split("\n"))
    cells = [row["hyp"] for row in csv.DictReader(io.StringIO(table))]
    assert cells[2] == "'" + ODD[2]
    assert cells[4] == "a\\nb\\tc"
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def bare(rows):
    return [{key: row[key] for key in ("id", "label", P) if key in row} for row in rows]


@pytest.mark.parametrize("path", ["fast", "slow"])
def test_gold_without_texts(tmp_path, files, shroom, monkeypatch, path):
    if path == "slow":
        monkeypatch.setattr(check_module, "fast", None)
    whole = files[2]
    plain = write_json(tmp_path / "bare.json", bare(json.loads(whole.read_text())))
    code, out, err = shroom("items", files[0], files[1], plain)
    assert code == 0
    assert "1. item 1\n" in out
    assert "hyp" not in out
    assert err.startswith(f'shroom: {plain}: item 0: expected the key "hyp"')
    assert err.endswith("name the data that has them with --data\n")
    assert err.count("\n") == 1
    found, _ = listed(shroom, files[0], files[1], plain)
    assert found["results"][0]["items"][0]["hyp"] is None
    assert len(found["warnings"]) == 1
    code, out, err = shroom("items", files[0], files[1], plain, "--data", whole)
    assert (code, err) == (0, "")
    assert "hyp  one" in out
    code, out, err = shroom("items", files[0], files[1], whole, "--data", plain)
    assert (code, out) == (1, "")
    assert "[key-missing]" in err


@pytest.mark.parametrize("labelled", [True, False])
def test_texts_are_aligned_by_id(tmp_path, shroom, labelled):
    rows = truth(1.0, 0.0, 0.2, 0.4, first_id=50)
    data = [dict(row) for row in rows[::-1]]
    for row in data if not labelled else ():
        del row["label"], row[P], row["labels"]
    a = write_json(tmp_path / "p.json", said(0.9, 0.9, 0.1, 0.2, first_id=50)[::-1])
    b = write_json(tmp_path / "g.json", bare(rows))
    c = write_json(tmp_path / "d.json", data)
    found = listed(shroom, a, b, "--data", c)[0]["results"][0]["items"]
    assert [(item["row"], item["id"], item["hyp"]) for item in found[:2]] == [
        (1, 51, "hypothesis 1"),
        (3, 53, "hypothesis 3"),
    ]
    out = shroom("items", a, b, "--data", c)[1]
    assert "1. item 1 (id 51), MT, ref tgt\n" in out


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (truth(1.0, 0.0, 0.2, first_id=50), "no texts for 1 ids of .*, such as 53"),
        (truth(1.0, 0.0, 0.2), "has 3 items, but .* has 4"),
        (truth(0.0, 0.0, 0.2, 0.4, first_id=50), r"other p\(Hallucination\)"),
        (truth(1.0, 0.0, 0.2, 0.4), None),
    ],
)
def test_data_of_other_items(tmp_path, shroom, data, message):
    a = write_json(tmp_path / "p.json", said(0.9, 0.9, 0.1, 0.2, first_id=50))
    b = write_json(tmp_path / "g.json", bare(truth(1.0, 0.0, 0.2, 0.4, first_id=50)))
    c = write_json(tmp_path / "d.json", data)
    code, out, err = shroom("items", a, b, "--data", c)
    if message is None:  # as many, without ids: they are taken in order
        assert (code, err) == (0, "")
        return
    assert (code, out) == (1, "")
    assert err.startswith(f"shroom: {c}: ")
    assert err.count("\n") == 1
    assert re.search(message, err)


@pytest.fixture
def folders(tmp_path):
    """Return a system on both tracks, one on one track, and the gold of both."""
    for track, values in (("agnostic", (0.9, 0.9)), ("aware", (0.1, 0.9))):
        write_json(tmp_path / "both" / f"val.model-{track}.json", said(*values))
        write_json(tmp_path / "gold" / f"val.model-{track}.json", truth(1.0, 0.0, hyp=[track] * 2))
    write_json(tmp_path / "half" / "val.model-aware.json", said(0.1, 0.1))
    return tmp_path


def test_tracks(folders, shroom):
    both, half, truth = (folders / name for name in ("both", "half", "gold"))
    found, places = listed(shroom, both, half, truth)
    assert [part["track"] for part in found["results"]] == ["model-agnostic", "model-aware"]
    assert places == [[1], [0]]
    assert [part["items"][0]["hyp"] for part in found["results"]] == ["agnostic", "aware"]
    assert listed(shroom, both, half, truth, "--track", "model-aware")[1] == [[0]]
    found, _ = listed(shroom, both, half, truth, "--hardest", "half")
    assert [part["track"] for part in found["results"]] == ["model-aware"]
    found, _ = listed(shroom, both, half, truth, "--differing", "half", "both")
    assert [part["track"] for part in found["results"]] == ["model-aware"]
    code, out, err = shroom("items", half, truth, "--track", "model-agnostic")
    assert (code, out) == (1, "")
    assert err == "shroom: no submission has the model-agnostic track\n"
    code, out, err = shroom("items", both, half, truth, "--hardest", "hal")
    assert (code, out) == (2, "")
    assert "hal: no system has this name on val model-agnostic; there are both" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--unsolved", "--hardest", "one"), 2, ""),
        (("--hardest", "one", "--differing", "one", "two"), 2, ""),
        (("--data", "-"), 2, ""),  # it would be read once for each track
        (("--hardest", "tow"), 2, "tow: no system has this name"),
        (("--differing", "one", "one"), 1, "one: does not differ from itself"),
    ],
)
def test_wrong_command_lines(files, shroom, arguments, code, message):
    found, out, err = shroom("items", *files, *arguments)
    assert (found, out) == (code, "")
    assert message in err
    assert err


def test_bad_submissions_and_gold(tmp_path, files, shroom):
    broken = write_json(tmp_path / "b.json", said(0.9, 0.9))
    code, out, err = shroom("items", broken, files[0], files[2])
    assert (code, out) == (1, "")
    assert "[count]" in err
    unlabelled = write_json(tmp_path / "u.json", [{"hyp": "x", "task": "MT"}] * 4)
    code, out, err = shroom("items", files[0], unlabelled)
    assert (code, out) == (1, "")
    assert "[gold-unlabelled]" in err


def test_output(tmp_path, files, shroom):
    out = tmp_path / "items.json"
    assert shroom("items", *files, "--format", "json", "-o", out)[1] == ""
    assert json.loads(out.read_text())["results"]
    before = files[2].read_bytes()
    code, _, err = shroom("items", *files, "-o", files[2])
    assert code == 1
    assert "is an input" in err
    assert files[2].read_bytes() == before
    kept = out.read_bytes()
    assert shroom("items", *files, "--hardest", "x", "-o", out)[0] == 2
    assert out.read_bytes() == kept


@pytest.mark.real
def test_real_items(shroom):
    folder, truth = DATA / "submissions", DATA / "semeval2024"
    systems = [folder / name for name in ("gpt-4-1106-preview-v8-2024-01-20",)]
    found, _ = listed(shroom, *systems, truth)
    assert [(part["n"], part["total"]) for part in found["results"]] == [(499, 110), (501, 107)]
    systems = sorted(path for path in folder.iterdir() if path.name.startswith("gpt-"))
    found, _ = listed(shroom, *systems, truth)
    assert [part["total"] for part in found["results"]] == [16, 33]  # of 14 systems
    for part, name in zip(found["results"], ("val.model-agnostic.json", "val.model-aware.v2.json")):
        points = read(truth / name)
        for item in part["items"]:
            assert item["hyp"] == points[item["row"]].hyp
            assert item["p"] == points[item["row"]].p


def test_the_texts_of_a_contest_without_its_file(tmp_path):
    made = contest([0.2, 0.8], a=[0.1, 0.2])
    for track in ("agnostic", "aware"):
        rows = truth(0.2, 0.8, hyp=[track, track])
        write_json(tmp_path / f"val.model-{track}.json", rows)
    assert [point.hyp for point in datapoints(made, tmp_path)] == ["agnostic", "agnostic"]
    (tmp_path / "val.model-agnostic.json").rename(tmp_path / "other.json")
    with pytest.raises(ShroomError, match="has no file of val model-agnostic"):
        datapoints(made, tmp_path)
