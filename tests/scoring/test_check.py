"""Aligning predictions with the gold, and what shows only then."""

import json

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from hypothesis import given, settings
from hypothesis import strategies as st
from test_two_paths import ROW

from shroom.core.problems import InvalidInput, Problems
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check, check_documents
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import documents
from shroom.scoring.scores import score

PATHS = ["p.json", "val.model-aware.json", "test.model-agnostic.json"]


def codes(submission, *args, **more):
    return check(submission, *args, **more).problems.codes


def without(rows, *keys):
    return [{key: value for key, value in row.items() if key not in keys} for row in rows]


@settings(max_examples=40)
@given(st.permutations(range(14)), st.permutations(range(14)), st.sampled_from([int, str]))
def test_a_permutation_of_rows_with_ids_changes_nothing(one, other, form):
    """Nor are ids in quotes sorted as texts: 10 comes after 9."""
    rows, truth = predictions(14, first_id=5), gold(14, first_id=5)
    mixed = [{**rows[i], "id": form(rows[i]["id"])} for i in one]
    straight, mixed = (
        score(*files, intervals=Intervals(0)).results[0]
        for files in ((rows, truth), (mixed, [truth[i] for i in other]))
    )
    assert (mixed.scores, mixed.slices) == (straight.scores, straight.slices)
    assert mixed.signature == straight.signature  # the gold's hash among it


@settings(max_examples=300)
@given(st.lists(ROW, max_size=4), st.integers(1, 4), st.booleans(), st.sampled_from(PATHS))
def test_check_passes_exactly_when_score_works(tmp_path, rows, n, with_ids, name):
    """On any rows, valid or not, against gold with and without ids, under any name."""
    submission = write_json(tmp_path / name, rows)
    truth = write_json(tmp_path / "g.json", gold(n, first_id=0 if with_ids else None))
    checked = check(submission, truth)
    if not checked:
        with pytest.raises(InvalidInput) as refused:
            score(submission, truth)
        assert refused.value.problems.codes == checked.problems.codes
        return
    result = score(submission, truth, intervals=Intervals(20))
    assert checked.problems.codes <= {problem.code for problem in result.warnings}
    assert 0 <= result.results[0].accuracy <= 1


def test_predictions_that_know_nothing_are_not_called_inverted():
    generator = np.random.default_rng(0)
    for _ in range(20):
        rows = [
            {"label": "Hallucination" if p > 0.5 else "Not Hallucination", "p(Hallucination)": p}
            for p in generator.random(60).tolist()
        ]
        assert codes(rows, gold(60)) == set()
        assert codes(turned(rows, "p-inverted"), gold(60)) == {"label-against-p", "label-p"}
        # Whichever way labels of another source are exchanged, p does not fall.
        truth = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in gold(60)]
        labels = [{**row, "label": other["label"]} for row, other in zip(rows, truth)]
        assert codes(labels, truth) <= {"label-p"}
        assert codes(turned(labels, "label-inverted"), truth) == {"label-inverted", "label-p"}


ADVICE = ("label-inverted", "p-inverted", "p-confidence")


def turned(rows, code):
    """Return predictions that are changed as the advice of a code says."""
    rows = [dict(row) for row in rows]
    for row in rows:
        if code == "label-inverted":
            hallucinated = row["label"] == "Hallucination"
            row["label"] = "Not Hallucination" if hallucinated else "Hallucination"
        elif code == "p-inverted" or row["label"] == "Not Hallucination":
            row["p(Hallucination)"] = 1 - row["p(Hallucination)"]
    return rows


def noisy(truth, seed, noise=0.2):
    """Return predictions that go by the gold and by chance."""
    generator, rows = np.random.default_rng(seed), []
    for row in truth:
        p = float(np.clip(row["p(Hallucination)"] + noise * generator.normal(), 0.001, 0.999))
        label = "Hallucination" if p > 0.5 else "Not Hallucination"
        rows.append({"label": label, "p(Hallucination)": p})
    return rows


WRONG = [
    *((), ("label-inverted",), ("p-inverted",), ("label-inverted", "p-inverted")),
    *(("p-confidence",), ("p-confidence", "label-inverted")),
    *(("p-confidence", "p-inverted"), ("p-confidence", "label-inverted", "p-inverted")),
]


@pytest.mark.parametrize(
    ("n", "noise", "threshold", "wrong"),
    [
        *((60, 0.1, None, wrong) for wrong in WRONG),
        *((400, 0.3, None, wrong) for wrong in WRONG),
        *((n, 0.1, None, wrong) for n in (10, 12, 15) for wrong in (WRONG[2], WRONG[5])),
        *((60, 0.2, t, wrong) for t in (0.1, 0.3, 0.5, 0.7, 0.9) for wrong in ((), *WRONG[4:6])),
    ],
)
def test_whatever_is_exchanged_is_told_and_the_advice_ends_it(n, noise, threshold, wrong):
    truth = gold(n)
    for seed in range(10):
        rows = noisy(truth, seed, noise)
        for row in rows if threshold else ():  # labels by a threshold of their own
            is_high = row["p(Hallucination)"] > threshold
            row["label"] = "Hallucination" if is_high else "Not Hallucination"
        right = rows
        for code in wrong:  # each undoes itself; p is made a confidence before labels are exchanged
            rows = turned(rows, code)
        told = codes(rows, truth)
        assert told - {"label-p"} == set(wrong)
        for code in ADVICE:
            rows = turned(rows, code) if code in told else rows
        assert codes(rows, truth) <= ({"label-p"} if threshold else set())
        assert [row["label"] for row in rows] == [row["label"] for row in right]
        found = [row["p(Hallucination)"] for row in rows]
        assert found == pytest.approx([row["p(Hallucination)"] for row in right])


def test_exchanged_labels_do_not_make_a_weak_p_doubtful():
    def item(p):
        return {"label": "Hallucination" if p > 0.5 else "Not Hallucination", "p(Hallucination)": p}

    truth = [item(int(fifths) / 5) for fifths in "10451345125422235412"]
    rows = [item({"l": 0.42, "h": 0.51, "H": 0.53}[level]) for level in "llhhlhhhHhhhlhlhhhll"]
    assert codes(rows, truth) == set()
    assert codes(turned(rows, "label-inverted"), truth) == {"label-inverted", "label-p"}


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
def test_without_gold_only_the_contradiction_is_told(wrong, told):
    truth = gold(60)
    rows = noisy(truth, 1)
    for code in wrong:
        rows = turned(rows, code)
    for data in (None, without(truth, "label", "labels", "p(Hallucination)")):
        assert codes(rows, data=data) - {"label-p"} == told
    for code in ("label-inverted", "p-inverted") if told == {"label-against-p"} else told:
        assert codes(turned(rows, code)) == set()


@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize("flagged", [0.2, 0.7])
def test_a_threshold_of_ones_own_is_no_exchange(low, flagged):
    """All p on one side of 1/2, and labels by another threshold: nothing has to be turned."""
    rows = noisy(gold(60), 2)
    for row in rows:
        p = row["p(Hallucination)"]
        row["label"] = "Hallucination" if p > 1 - flagged else "Not Hallucination"
        row["p(Hallucination)"] = low + p / 2
    assert codes(rows) == codes(rows, gold(60)) == {"label-p"}


@pytest.mark.parametrize("scale", [1e-170, 1e-308, 1e-20])
@pytest.mark.filterwarnings("error")
def test_a_direction_does_not_depend_on_the_scale_of_p(scale):
    rows, truth = noisy(gold(60), 3), gold(60)
    for row in rows:
        row["p(Hallucination)"] *= scale
    assert codes(rows, truth) == {"label-p"}
    for row in rows:
        row["p(Hallucination)"] = scale - row["p(Hallucination)"]
    # 1 - p would be 1 on every item
    (told,) = (it for it in check(rows, truth).problems if it.code == "p-reversed")
    assert "got a correlation of -0.8" in told.sentence
    assert codes(turned(rows, "p-inverted"), truth) == {"label-p", "p-constant"}
    for row in rows:  # as that advice says
        row["p(Hallucination)"] = 1 - row["p(Hallucination)"] / scale
    assert codes(rows, truth) == set()


@pytest.mark.usefixtures("both_readers")
def test_ids_that_number_the_rows_otherwise_beside_gold_without_ids():
    truth, rows = gold(12), predictions(12, first_id=1)
    assert codes(rows, truth) == set()
    rows[2], rows[9] = rows[9], rows[2]
    problems = check(rows, truth).problems
    assert (problems.codes, problems.errors) == ({"order"}, 0)
    assert "item 2 (id 10): expected the order of" in next(problems.lines())
    # Texts that are in order tell more than ids do, but gold without texts cannot tell by them.
    told = [{**p, "hyp": g["hyp"]} for p, g in zip(rows, truth)]
    assert codes(told, truth) == set()
    bare = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in truth]
    assert codes(told, bare) == {"order", "swapped"}


@pytest.mark.parametrize("n", [12, 3])
@pytest.mark.parametrize("keys", [("hyp",), ("src", "tgt")])
def test_the_texts_of_another_row_are_an_error_and_unknown_ones_are_not(keys, n):
    truth, rows = gold(12), predictions(12)
    for row, other in zip(rows, truth[1:n] + truth[:1]):
        row |= {key: other[key].upper() for key in keys}
    with pytest.raises(InvalidInput, match=f"the texts of other rows in {n} items"):
        score(rows, truth)
    assert codes(rows, truth) == {"order-texts"}
    for row, other in zip(rows, truth):  # as a wrong encoding makes them, on one row
        row |= {key: other[key] for key in keys if key in row}
    rows[1][keys[0]] = "caf\u00c3\u00a9"
    (told,) = check(rows, truth).problems
    assert (told.code, told.index) == ("order", 1)
    assert told.found == "unknown texts in 1 item; this is the first"


@pytest.mark.usefixtures("both_readers")
@pytest.mark.parametrize("turned", [0, 15, 16, 30])
def test_gold_whose_labels_contradict_its_own_p(turned):
    truth = gold(30)
    for row in truth[:turned]:
        flip = row["label"] == "Hallucination"
        row["label"] = "Not Hallucination" if flip else "Hallucination"
    problems = check(predictions(30), truth).problems
    told = [problem.sentence for problem in problems if problem.code == "label-against-p"]
    assert len(told) == (turned > 15)
    said = (
        "gold: expected p that agrees with the labels, got p that contradicts the label in "
        f"{turned} of"
    )
    assert all(said in line for line in told)


def test_the_latest_gold_is_taken_and_other_files_are_left_alone(tmp_path):
    stale = [{**row, "label": "Hallucination"} for row in gold(12)]
    write_json(tmp_path / "val.model-aware.v1.json", stale)
    latest = write_json(tmp_path / "val.model-aware.v2.json", gold(12))
    write_json(tmp_path / "notes.json", {"not": "a list"})
    (tmp_path / "README.txt").write_text("hello")
    rows = {"val.model-aware": predictions(12)}
    both = score(rows, tmp_path), score(rows, latest)
    assert both[0].to_dict() == both[1].to_dict()
    assert both[0].warnings == []


@pytest.mark.parametrize("name", ["pred.json", "val.model-aware.json"])
def test_one_file_is_held_against_one_gold_whatever_they_are_called(tmp_path, name):
    p = write_json(tmp_path / "sub" / name, predictions(12))
    g = write_json(tmp_path / "gold" / "gold.json", gold(12))
    assert check(p, g).ok
    assert check(p, g.parent).ok
    for track in ("aware", "agnostic"):  # but one gold does not serve two tracks
        write_json(tmp_path / "two" / f"val.model-{track}.json", predictions(12))
    assert codes(tmp_path / "two", g) == {"no-gold"}


def test_unlabelled_gold(tmp_path):
    rows = [{"id": i, "hyp": "a", "src": "b", "task": "MT"} for i in range(12)]
    data = write_json(tmp_path / "data" / "test.model-aware.json", rows)
    sub = write_json(tmp_path / "sub" / data.name, predictions(12, first_id=0)).parent
    assert check(sub, data=data).ok
    assert codes(sub, data) == {"gold-unlabelled"}
    # beside a labelled split it is no more than a remark
    write_json(sub / "val.model-aware.json", predictions(12))
    write_json(data.parent / "val.model-aware.json", gold(12))
    result = score(sub, data.parent)
    assert [r.split for r in result.results] == ["val"]
    assert {problem.code for problem in result.warnings} == {"gold-skipped"}


@pytest.mark.parametrize("first_id", [None, 7])
def test_gold_that_is_named_first_is_told(first_id):
    said, truth = predictions(12, first_id=first_id), gold(12, first_id=first_id)
    for file, code in ((truth, "gold-first"), (without(truth, "labels"), "swapped")):
        swapped = check(file, said)
        assert (swapped.ok, swapped.problems.codes) == (code == "swapped", {code})
        assert all(name in next(swapped.problems.lines()) for name in ("predictions", "gold"))
    assert codes(said, truth) == set()
    assert codes(truth, gold(12, first_id=first_id)) == set()  # predictions may repeat the data
    assert codes(truth, data=said) == set()  # and be told from what has no labels


@pytest.mark.parametrize("padding", [0, 70_000])
def test_lines_are_told_by_a_first_line_that_is_an_object(tmp_path, padding):
    m, rows = tmp_path / "m", predictions(12)
    m.write_text("\n" + "\n".join(" " * padding + json.dumps(row) for row in rows))
    assert check(m, gold(12)).ok
    listed = ",\n".join(map(json.dumps, rows))
    for text in (f'{{"predictions": [\n{listed}\n]}}', json.dumps({"a": rows}, indent=1)):
        m.write_text(" " * padding + text)
        (told,) = check(m, gold(12)).problems
        assert (told.code, told.found) == ("not-a-list", "an object")


def test_problems_are_counted_if_none_is_kept():
    rows = [{**prediction, "id": 1} for prediction in predictions(3)]
    assert check(rows, limit=0).problems.errors == 2


LABELS = ["Hallucination", "Not Hallucination"]
VOTE_CODES = {"label-votes", "p-votes"}


@pytest.mark.usefixtures("both_readers")
def test_gold_against_its_votes_is_told_by_the_check_and_not_by_the_scoring_program(tmp_path):
    """Of the twelve items two have another p, and one another label."""
    rows = gold()
    for row in (1, 7):
        rows[row]["p(Hallucination)"] = 0.9 if rows[row]["p(Hallucination)"] < 0.5 else 0.55
    rows[5]["label"] = LABELS[1 - LABELS.index(rows[5]["label"])]
    truth = write_json(tmp_path / "gold" / PATHS[1], rows)
    mine = write_json(tmp_path / "mine" / PATHS[1], predictions())
    problems = check(mine, truth).problems
    assert {
        each.code: (each.index, each.found) for each in problems if each.code in VOTE_CODES
    } == {
        "label-votes": (5, "another value in 1 item; this is the first"),
        "p-votes": (1, "another value in 2 items; this is the first"),
    }
    problems = Problems()
    check_documents(documents(mine, problems), truth, problems=problems, edition=default())
    assert not problems.codes & VOTE_CODES


@pytest.mark.parametrize(
    "change",
    [
        *({"labels": votes} for votes in ([], [None], "Hallucination", ["maybe"], [LABELS])),
        {"labels": LABELS, "p(Hallucination)": 0.5},
        {"labels": [LABELS[0], None, LABELS[1]], "p(Hallucination)": 0.5},
        {"labels": [*LABELS, LABELS[0]], "p(Hallucination)": 0.67},
    ],
)
def test_what_votes_do_not_tell_is_not_reported(change):
    rows = gold()
    rows[5] = {**rows[5], "label": "Hallucination", **change}
    assert not codes(predictions(), rows) & VOTE_CODES
