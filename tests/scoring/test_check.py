"""Aligning predictions with the gold, and what shows only then."""

import json

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from hypothesis import given, settings
from hypothesis import strategies as st
from test_two_paths import ROW

from shroom.core.problems import InvalidInput
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check
from shroom.scoring.scores import score

PATHS = ["p.json", "val.model-aware.json", "test.model-agnostic.json"]


def codes(submission, *args, **settings):
    return check(submission, *args, **settings).problems.codes


@settings(max_examples=40)
@given(st.permutations(range(14)), st.permutations(range(14)))
def test_a_permutation_of_rows_with_ids_changes_nothing(tmp_path, one, other):
    rows, truth = predictions(14, first_id=50), gold(14, first_id=50)
    straight = score(
        write_json(tmp_path / "p.json", rows),
        write_json(tmp_path / "g.json", truth),
        intervals=Intervals(0),
    ).results[0]
    mixed = score(
        write_json(tmp_path / "q.json", [rows[i] for i in one]),
        write_json(tmp_path / "h.json", [truth[i] for i in other]),
        intervals=Intervals(0),
    ).results[0]
    assert (mixed.accuracy, mixed.rho) == (straight.accuracy, straight.rho)
    assert mixed.slices == straight.slices
    assert mixed.signature == straight.signature  # the gold's hash among it


@settings(max_examples=300)
@given(st.lists(ROW, max_size=4), st.integers(1, 4), st.booleans(), st.sampled_from(PATHS))
def test_check_passes_exactly_when_score_works(tmp_path, rows, n, with_ids, name):
    """On any rows, valid or not, against gold with and without ids, under any name."""
    submission = write_json(tmp_path / name, rows)
    truth = write_json(tmp_path / "g.json", gold(n, first_id=0 if with_ids else None))
    checked = check(submission, truth)
    if not checked.ok:
        with pytest.raises(InvalidInput) as refused:
            score(submission, truth)
        assert refused.value.problems.codes == checked.problems.codes
        return
    result = score(submission, truth, intervals=Intervals(20))
    assert checked.problems.codes <= {problem.code for problem in result.warnings}
    assert 0 <= result.results[0].accuracy <= 1


def test_ids_are_sorted_as_numbers(tmp_path):
    rows, truth = predictions(12, first_id=1), gold(12, first_id=1)
    for row in rows:
        row["id"] = str(row["id"])
    mixed = sorted(rows, key=lambda row: row["id"])  # "1", "10", "11", "12", "2", …
    found = score(write_json(tmp_path / "p.json", mixed), write_json(tmp_path / "g.json", truth))
    plain = score(
        write_json(tmp_path / "q.json", predictions(12, first_id=1)),
        write_json(tmp_path / "g.json", truth),
    )
    assert found.results[0].rho == plain.results[0].rho
    assert {problem.code for problem in found.warnings} == {"id-string", "order"}


def test_predictions_that_know_nothing_are_not_called_inverted(tmp_path):
    generator = np.random.default_rng(0)
    g = write_json(tmp_path / "g.json", gold(60))
    for place in range(20):
        rows = predictions(60)
        for row, p in zip(rows, generator.random(60).tolist()):
            row["p(Hallucination)"] = p
            row["label"] = "Hallucination" if p > 0.5 else "Not Hallucination"
        assert codes(write_json(tmp_path / f"{place}.json", rows), g) == set()


ADVICE = ("label-inverted", "p-inverted", "p-confidence")


def turned(rows: list[dict], code: str) -> list[dict]:
    """Return predictions that are changed as the advice of a code says."""
    rows = [dict(row) for row in rows]
    for row in rows:
        if code == "label-inverted":
            hallucinated = row["label"] == "Hallucination"
            row["label"] = "Not Hallucination" if hallucinated else "Hallucination"
        elif code == "p-inverted" or row["label"] == "Not Hallucination":
            row["p(Hallucination)"] = 1 - row["p(Hallucination)"]
    return rows


def noisy(truth: list[dict], seed: int, noise: float = 0.2) -> list[dict]:
    """Return predictions that go by the gold and by chance."""
    generator, rows = np.random.default_rng(seed), []
    for row in truth:
        p = float(np.clip(row["p(Hallucination)"] + noise * generator.normal(), 0.001, 0.999))
        label = "Hallucination" if p > 0.5 else "Not Hallucination"
        rows.append({"label": label, "p(Hallucination)": p})
    return rows


@pytest.mark.parametrize(("n", "noise"), [(60, 0.1), (400, 0.3)])
@pytest.mark.parametrize(
    "wrong",
    [
        *((), ("label-inverted",), ("p-inverted",), ("label-inverted", "p-inverted")),
        *(("p-confidence",), ("p-confidence", "label-inverted")),
        *(("p-confidence", "p-inverted"), ("p-confidence", "label-inverted", "p-inverted")),
    ],
)
def test_whatever_is_exchanged_is_told_and_the_advice_ends_it(tmp_path, n, noise, wrong):
    g = write_json(tmp_path / "g.json", truth := gold(n))
    for seed in range(10):
        rows = right = noisy(truth, seed, noise)
        for code in wrong:  # each undoes itself; p is made a confidence before labels are exchanged
            rows = turned(rows, code)
        told = codes(write_json(tmp_path / "p.json", rows), g)
        assert told - {"label-p"} == set(wrong)
        for code in ADVICE:
            rows = turned(rows, code) if code in told else rows
        assert codes(write_json(tmp_path / "p.json", rows), g) == set()
        assert [row["label"] for row in rows] == [row["label"] for row in right]
        found = [row["p(Hallucination)"] for row in rows]
        assert found == pytest.approx([row["p(Hallucination)"] for row in right])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ((), set()),
        (("label-inverted",), {"label-against-p"}),
        (("p-inverted",), {"label-against-p"}),
        (("label-inverted", "p-inverted"), set()),
        (("p-confidence",), {"p-confidence"}),
    ],
)
def test_without_gold_only_the_contradiction_is_told(tmp_path, wrong, told):
    truth = gold(60)
    data = [{key: row[key] for key in ("hyp", "src", "tgt")} for row in truth]
    rows = noisy(truth, 1)
    for code in wrong:
        rows = turned(rows, code)
    p = write_json(tmp_path / "p.json", rows)
    for problems in (check(p), check(p, data=write_json(tmp_path / "d.json", data))):
        assert problems.problems.codes - {"label-p"} == told
    for code in ("label-inverted", "p-inverted") if told == {"label-against-p"} else told:
        assert codes(write_json(tmp_path / "q.json", turned(rows, code))) == set()


@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize("flagged", [0.2, 0.7])
def test_a_threshold_of_ones_own_is_no_exchange(tmp_path, low, flagged):
    """All p on one side of 1/2, and labels by another threshold: nothing has to be turned."""
    g = write_json(tmp_path / "g.json", truth := gold(60))
    rows = noisy(truth, 2)
    for row in rows:
        p = row["p(Hallucination)"]
        row["label"] = "Hallucination" if p > 1 - flagged else "Not Hallucination"
        row["p(Hallucination)"] = low + p / 2
    p = write_json(tmp_path / "p.json", rows)
    assert codes(p) == codes(p, g) == {"label-p"}


@pytest.mark.parametrize("scale", [1e-170, 1e-308, 1e-20])
@pytest.mark.filterwarnings("error")
def test_a_direction_does_not_depend_on_the_scale_of_p(tmp_path, scale):
    g = write_json(tmp_path / "g.json", truth := gold(60))
    rows = noisy(truth, 3)
    for row in rows:
        row["p(Hallucination)"] *= scale
    assert codes(write_json(tmp_path / "p.json", rows), g) == {"label-p"}
    for row in rows:
        row["p(Hallucination)"] = scale - row["p(Hallucination)"]
    (line,) = (
        problem.sentence
        for problem in check(write_json(tmp_path / "p.json", rows), g).problems
        if problem.code == "p-reversed"  # 1 - p would be 1 on every item
    )
    assert "got a correlation of -0.8" in line
    assert codes(write_json(tmp_path / "p.json", turned(rows, "p-inverted")), g) == {
        *("label-p", "p-constant")
    }
    for row in rows:  # as that advice says
        row["p(Hallucination)"] = 1 - row["p(Hallucination)"] / scale
    assert codes(write_json(tmp_path / "p.json", rows), g) == set()


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("wrong", [(), ("p-confidence",), ("p-confidence", "label-inverted")])
def test_a_confidence_in_labels_by_another_threshold(tmp_path, threshold, wrong):
    g = write_json(tmp_path / "g.json", truth := gold(60))
    for seed in range(5):
        rows = noisy(truth, seed)
        for row in rows:
            is_high = row["p(Hallucination)"] > threshold
            row["label"] = "Hallucination" if is_high else "Not Hallucination"
        right = [row["p(Hallucination)"] for row in rows]
        for code in wrong:
            rows = turned(rows, code)
        told = codes(write_json(tmp_path / "p.json", rows), g) - {"label-p"}
        assert told == set(wrong)
        for code in ADVICE:
            rows = turned(rows, code) if code in told else rows
        assert [row["p(Hallucination)"] for row in rows] == pytest.approx(right)
        assert codes(write_json(tmp_path / "p.json", rows), g) <= {"label-p"}


@pytest.mark.parametrize("n", [10, 12, 15])
@pytest.mark.parametrize("wrong", [("p-inverted",), ("p-confidence", "label-inverted")])
def test_few_items_show_a_clear_direction(tmp_path, n, wrong):
    g = write_json(tmp_path / "g.json", truth := gold(n))
    for seed in range(5):
        rows = noisy(truth, seed, 0.1)
        for code in wrong:
            rows = turned(rows, code)
        assert codes(write_json(tmp_path / "p.json", rows), g) - {"label-p"} == set(wrong)


@pytest.mark.parametrize("path", ["fast", "slow"])
def test_ids_that_number_the_rows_otherwise_beside_gold_without_ids(tmp_path, monkeypatch, path):
    if path == "slow":
        monkeypatch.setattr("shroom.scoring.rows.quick", None)
    truth, rows = gold(12), predictions(12, first_id=1)
    g = write_json(tmp_path / "g.json", truth)
    assert codes(write_json(tmp_path / "p.json", rows), g) == set()
    rows[2], rows[9] = rows[9], rows[2]
    problems = check(write_json(tmp_path / "p.json", rows), g).problems
    assert (problems.codes, problems.errors) == ({"order"}, 0)
    assert "item 2 (id 10): expected the order of" in next(problems.lines())
    # Texts that are in order tell more than ids do.
    told = [{**p, "hyp": g["hyp"]} for p, g in zip(rows, truth)]
    assert codes(write_json(tmp_path / "p.json", told), g) == set()
    # Gold without texts cannot tell by them.
    bare = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in truth]
    b = write_json(tmp_path / "b.json", bare)
    assert codes(write_json(tmp_path / "p.json", told), b) == {"order", "swapped"}


@pytest.mark.parametrize(
    ("own", "theirs", "is_trusted"),
    [
        ((), (), True),
        ((), ("hyp", "src"), True),
        (("hyp",), ("hyp", "src"), False),
        (("some hyp",), ("hyp", "src"), True),
        (("tgt",), ("hyp", "src", "tgt"), True),
        (("id",), ("hyp",), True),
        (("id",), ("hyp", "id"), False),
    ],
)
def test_an_order_that_nothing_shows_is_said_to_be_trusted(
    tmp_path, shroom, own, theirs, is_trusted
):
    every = gold(12, first_id=1)
    truth = [{key: row[key] for key in ("label", "p(Hallucination)", *theirs)} for row in every]
    rows = [
        {**p, **{key: row[key] for key in own if key in row}}
        for p, row in zip(predictions(12), every)
    ]
    if own == ("some hyp",):
        rows[:-1] = [{**p, "hyp": row["hyp"]} for p, row in zip(rows[:-1], every)]
    if is_trusted and own in ((), ("tgt",)):
        rows.reverse()
    p, g = write_json(tmp_path / "p.json", rows), write_json(tmp_path / "g.json", truth)
    assert ("12 items, aligned by order only" in shroom("check", p, "--gold", g)[1]) == is_trusted
    assert ("p.json is aligned by order only" in shroom("score", p, g)[2]) == is_trusted


@pytest.mark.parametrize("n", [12, 3])
@pytest.mark.parametrize("keys", [("hyp",), ("src", "tgt")])
def test_the_texts_of_another_row_are_an_error_and_unknown_ones_are_not(tmp_path, shroom, keys, n):
    truth, rows = gold(12), predictions(12)
    for row, other in zip(rows, truth[1:n] + truth[:1]):
        row |= {key: other[key].upper() for key in keys}
    p, g = write_json(tmp_path / "p.json", rows), write_json(tmp_path / "g.json", truth)
    assert (codes(p, g), check(p, g).ok) == ({"order-texts"}, False)
    code, _, err = shroom("score", p, g)
    assert (code, "check --fix restores it" in err) == (1, True)
    assert f"the texts of other rows on {n} items, first here" in err
    for row, other in zip(rows, truth):  # as a wrong encoding makes them, on one row
        row |= {key: other[key] for key in keys if key in row}
    rows[1][keys[0]] = "caf\u00c3\u00a9"
    (told,) = check(write_json(tmp_path / "p.json", rows), g).problems
    assert (told.code, told.index) == ("order", 1)
    assert told.found == "texts that no row of it has, on 1 item, first here"


@pytest.mark.parametrize("path", ["fast", "slow"])
@pytest.mark.parametrize("turned", [0, 15, 16, 30])
def test_gold_whose_labels_contradict_its_own_p(tmp_path, monkeypatch, path, turned):
    if path == "slow":
        monkeypatch.setattr("shroom.scoring.rows.quick", None)
    truth = gold(30)
    for row in truth[:turned]:
        flip = row["label"] == "Hallucination"
        row["label"] = "Not Hallucination" if flip else "Hallucination"
    g = write_json(tmp_path / "g.json", truth)
    problems = check(write_json(tmp_path / "p.json", predictions(30)), g).problems
    told = [problem.sentence for problem in problems if problem.code == "label-against-p"]
    assert len(told) == (turned > 15)
    assert all(
        f"g.json: expected p that agrees with the labels, got p against the label in {turned} of 30"
        in line
        for line in told
    )


def test_the_latest_gold_is_taken_and_other_files_are_left_alone(tmp_path):
    folder = tmp_path / "gold"
    stale = gold(12)
    for row in stale:
        row["label"] = "Hallucination"
    write_json(folder / "val.model-aware.v1.json", stale)
    write_json(folder / "val.model-aware.v2.json", gold(12))
    write_json(folder / "notes.json", {"not": "a list"})
    (folder / "README.txt").write_text("hello")
    p = write_json(tmp_path / "val.model-aware.json", predictions(12))
    both = score(p, folder), score(p, folder / "val.model-aware.v2.json")
    assert both[0].to_dict() == both[1].to_dict()
    assert both[0].warnings == []


@pytest.mark.parametrize(
    "names", [("pred.json", "gold.json"), ("val.model-aware.json", "gold.json")]
)
@pytest.mark.parametrize("form", ["file", "folder"])
def test_one_file_against_one_gold_whatever_they_are_called(tmp_path, names, form):
    p = write_json(tmp_path / "sub" / names[0], predictions(12))
    g = write_json(tmp_path / "gold" / names[1], gold(12))
    assert check(p, g if form == "file" else g.parent).ok


def test_one_gold_without_a_name_does_not_serve_two_tracks(tmp_path):
    for track in ("aware", "agnostic"):
        write_json(tmp_path / "sub" / f"val.model-{track}.json", predictions(12))
    g = write_json(tmp_path / "gold.json", gold(12))
    assert check(tmp_path / "sub", g).problems.codes == {"no-gold"}


def test_unlabelled_gold(tmp_path):
    rows = [{"id": i, "hyp": "a", "src": "b", "task": "MT"} for i in range(12)]
    data = write_json(tmp_path / "data" / "test.model-aware.json", rows)
    sub = tmp_path / "sub"
    write_json(sub / "test.model-aware.json", predictions(12, first_id=0))
    assert check(sub, data=data).ok
    assert codes(sub, data) == {"gold-unlabelled"}
    # beside a labelled split it is no more than a remark
    write_json(sub / "val.model-aware.json", predictions(12))
    write_json(data.parent / "val.model-aware.json", gold(12))
    result = score(sub, data.parent)
    assert [r.split for r in result.results] == ["val"]
    assert {problem.code for problem in result.warnings} == {"gold-skipped"}


@pytest.mark.parametrize("first_id", [None, 7])
def test_gold_that_is_named_first_is_told(tmp_path, first_id):
    said = write_json(tmp_path / "p.json", predictions(12, first_id=first_id))
    truth = write_json(tmp_path / "g.json", gold(12, first_id=first_id))
    assert codes(said, truth) == set()
    swapped = check(truth, said)
    assert swapped.ok
    assert swapped.problems.codes == {"swapped"}
    (line, _) = swapped.problems.lines()
    assert str(truth) in line
    assert str(said) in line
    repeated = write_json(tmp_path / "r.json", gold(12, first_id=first_id))
    assert codes(repeated, truth) == set()  # predictions may repeat the data
    assert codes(truth, data=said) == set()  # and be told from what has no labels


@pytest.mark.parametrize("padding", [0, 70_000])
def test_lines_are_told_by_a_first_line_that_is_an_object(tmp_path, padding):
    g, m = write_json(tmp_path / "g.json", gold(12)), tmp_path / "m"
    rows = predictions(12)
    m.write_text("\n" + "\n".join(" " * padding + json.dumps(row) for row in rows))
    assert check(m, g).ok
    listed = ",\n".join(map(json.dumps, rows))
    for text in (f'{{"predictions": [\n{listed}\n]}}', json.dumps({"a": rows}, indent=1)):
        m.write_text(" " * padding + text)
        (told,) = check(m, g).problems
        assert (told.code, told.found) == ("not-a-list", "an object")
