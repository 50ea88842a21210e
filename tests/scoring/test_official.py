"""The organisers' 2024 programs: what they accepted, and the numbers they gave."""

import json
import math
import shutil

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from scipy import stats

P = "p(Hallucination)"


def submission(tmp_path, split, rows, truth):
    """Write gold; return a valid submission, and what writes its changed rows again."""
    name = f"{split}.model-aware.json"
    write_json(tmp_path / "gold" / name, truth)
    return rows, lambda rows: write_json(tmp_path / split / name, rows).parent


@pytest.fixture
def val(tmp_path):
    """A valid aware val submission of the size that the checker wants, and its gold."""
    return submission(tmp_path, "val", predictions(501), gold(501))


@pytest.fixture
def test(tmp_path):
    """The same for the test split, with ids."""
    rows, truth = predictions(1500, first_id=7), gold(1500, first_id=7)
    return submission(tmp_path, "test", rows, truth)


def accepted(shroom, folder):
    return shroom("check", folder, "--official")[0] == 0


def official(shroom, folder, tmp_path):
    """Return what the scorer writes as a dict, or None where it fails."""
    code, out, _ = shroom("score", folder, tmp_path / "gold", "--official", "--format", "codalab")
    assert ": " not in out
    return dict(line.split(":") for line in out.splitlines()) if code == 0 else None


def test_accepts_and_scores(val, test, tmp_path, shroom, in_json):
    for rows, write in (val, test):
        folder = write(rows)
        assert accepted(shroom, folder)
        (kit,) = in_json("score", folder, tmp_path / "gold")["results"]
        expected = {"aware_acc": repr(kit["accuracy"]), "aware_rho": repr(kit["rho"])}
        assert official(shroom, folder, tmp_path) == expected  # only what was found


@pytest.mark.parametrize("count", [0, 500, 502])
def test_checker_wants_the_exact_count(val, shroom, count):
    rows, write = val
    assert not accepted(shroom, write((rows * 2)[:count]))


@pytest.mark.parametrize(
    ("change", "is_accepted"),
    [
        *(({key: ...}, False) for key in ("label", P)),
        ({"label": "hallucination"}, False),
        *(({P: p}, True) for p in (None, [1], {}, 10**30, 10**400)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_the_scorer_cannot_score(val, tmp_path, shroom, change, is_accepted):
    rows, write = val
    rows[3] = {key: value for key, value in {**rows[3], **change}.items() if value is not ...}
    folder = write(rows)
    assert accepted(shroom, folder) == is_accepted
    assert official(shroom, folder, tmp_path) is None


@pytest.mark.parametrize("p", [1.5, -3, math.inf, True, "0.3", math.nan])
def test_checker_does_not_look_at_p_and_the_scorer_ranks_it(val, tmp_path, shroom, p):
    rows, write = val
    rows[3][P] = p
    folder = write(rows)
    assert accepted(shroom, folder)
    scores = official(shroom, folder, tmp_path)
    values = [float(row[P]) for row in rows]
    if isinstance(p, str):  # then all are ranked as texts
        _, values = np.unique([str(row[P]) for row in rows], return_inverse=True)
    expected = stats.spearmanr(values, [row[P] for row in gold(501)])[0]
    assert scores["aware_rho"] == repr(float(expected))


@pytest.mark.parametrize("p", [0.5, float("nan")])
def test_constant_and_nan_give_nan(val, tmp_path, shroom, p):
    rows, write = val
    for row in rows:
        row[P] = p
    assert official(shroom, write(rows), tmp_path)["aware_rho"] == "nan"
    text = shroom("score", tmp_path / "val", tmp_path / "gold", "--official", "--format", "json")[1]
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["results"][0]["rho"] is None
    why = "a constant" if p == 0.5 else "NaN"
    assert (
        f"expected p that varies and contains no NaN, got {why} "
        "[rho-undefined]" in found["warnings"][0]
    )


def test_checker_compares_ids_with_nothing_and_the_scorer_does(test, tmp_path, shroom):
    rows, write = test
    rows[0]["id"] = 999_999
    folder = write(rows)
    assert accepted(shroom, folder)
    assert official(shroom, folder, tmp_path) is None
    assert shroom("check", folder, "--official", "--gold", tmp_path / "gold")[0] == 1
    del rows[0]["id"]
    assert not accepted(shroom, write(rows))


def test_checker_sorts_raw_ids_and_the_scorer_integers(test, tmp_path, shroom):
    rows, write = test
    expected = official(shroom, write(rows), tmp_path)
    for row in rows:
        row["id"] = str(row["id"])
    folder = write(rows[::-1])
    assert accepted(shroom, folder)
    assert official(shroom, folder, tmp_path) == expected
    rows[0]["id"] = int(rows[0]["id"])
    folder = write(rows)
    assert not accepted(shroom, folder)  # a mix of types cannot be sorted
    assert official(shroom, folder, tmp_path) == expected


@pytest.mark.parametrize(
    "name", ["val.model-aware.v2.json", "pred.json", "__MACOSX/._val.model-aware.json"]
)
def test_checker_wants_no_other_file(val, tmp_path, shroom, name):
    rows, write = val
    folder = write(rows)
    assert accepted(shroom, shutil.make_archive(str(tmp_path / "clean"), "zip", folder))
    write_json(folder / name, rows)
    assert not accepted(shroom, folder)
    assert not accepted(shroom, shutil.make_archive(str(tmp_path / "more"), "zip", folder))


def test_a_file_of_many_more_bytes_than_items_need_is_refused(val, shroom, monkeypatch):
    rows, write = val
    folder = write(rows)
    size = (folder / "val.model-aware.json").stat().st_size
    monkeypatch.setattr("shroom.scoring.editions.official.MAX_BYTES", size)
    assert accepted(shroom, folder)
    monkeypatch.setattr("shroom.scoring.editions.official.MAX_BYTES", size - 1)
    code, _, err = shroom("check", folder, "--official")
    assert (code, "[too-large]" in err) == (1, True)
