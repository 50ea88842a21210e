"""SHROOM-CAP 2025: answers to two questions, and the recorded figures."""

import json
import shutil

import pytest
from conftest import DATA, write_lines
from sklearn.metrics import f1_score

from shroom.core.problems import InvalidInput
from shroom.scoring.check import check
from shroom.scoring.scores import score
from shroom.scoring.units import unit_of

FACTUAL, FLUENCY = "has_factual_mistakes", "has_fluency_mistakes"
GOLD = ["yn", "yy", "nn", "yn", "ny", "yn"]
SAID = ["yn", "ny", "nn", "yy", "ny", "nn"]


def rows(answers):
    return [
        {"index": f"en-val-{i}", FACTUAL: answer[0], FLUENCY: answer[1]}
        for i, answer in enumerate(answers)
    ]


@pytest.fixture
def files(tmp_path):
    def make(said=None, gold=None):
        return (
            write_lines(
                tmp_path / "system" / "en_valid.jsonl", rows(SAID) if said is None else said
            ),
            write_lines(tmp_path / "en_valid_label.jsonl", rows(GOLD) if gold is None else gold),
        )

    return make


def test_scores_are_scikit_learns_and_floors_those_of_the_constants(files):
    (result,) = score(*files(), edition="cap2025").results
    assert (result.track, result.split, result.n) == ("en", "valid", 6)
    for place, name in enumerate(("factual", "fluency")):
        gold, said = ([answer[place] for answer in side] for side in (GOLD, SAID))
        assert result.scores[f"{name}_f1"] == f1_score(gold, said, average="macro")
        for word in "yn":
            constant = f1_score(gold, [word] * 6, average="macro")
            assert result.floors[f"all {word}"][f"{name}_f1"] == constant
    assert result.intervals == {"factual_f1": None, "fluency_f1": None}  # of six items
    assert "edition:cap2025|track:en|n:6|" in result.signature


@pytest.mark.parametrize("odd", ["x" * 2_000_000, "en-val-\ud800", "en-val-2\0"])
def test_an_id_that_no_array_can_hold_is_an_error_at_its_row(files, odd):
    said = rows(SAID)
    said[2]["index"] = odd
    problems = check(*files(said), edition="cap2025").problems
    assert [(p.index, p.key) for p in problems if p.code == "id-value"] == [(2, "index")]


def test_rows_are_paired_by_index_whatever_their_order(files):
    expected = score(*files(), edition="cap2025").results[0].scores
    assert score(*files(rows(SAID)[::-1]), edition="cap2025").results[0].scores == expected


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({FLUENCY: "yn"}, "word-value", FLUENCY),
        ({FLUENCY: ""}, "word-value", FLUENCY),
        ({FACTUAL: "Y"}, "word-value", FACTUAL),
        ({FACTUAL: True}, "word-value", FACTUAL),
        ({"index": "en-val-9"}, "id-unknown", "index"),
        ({"index": "en-val-0"}, "id-doubled", "index"),
        ({"index": 2}, "id-value", "index"),
        ({FACTUAL: None}, "word-value", FACTUAL),
    ],
    ids=str,
)
def test_errors_of_predictions_have_code_and_place(files, change, code, key):
    said = rows(SAID)
    said[2] = {**said[2], **change}
    checked = check(*files(said), edition="cap2025")
    places = [(p.code, p.index, p.key) for p in checked.problems]
    assert (code, 2, key) in places or (code, 2, "id") in places


@pytest.mark.parametrize("said", [rows(SAID)[:-1], [{"index": "en-val-0", FACTUAL: "y"}], [5], []])
def test_what_leaves_something_out_is_refused(files, said):
    with pytest.raises(InvalidInput, match=r"ids-missing|key-missing|item-object|empty"):
        score(*files(said), edition="cap2025")


def test_the_same_answer_everywhere_is_reported(files):
    checked = check(*files(rows(["yy", "yn", "yy", "yn", "yn", "yn"])), edition="cap2025")
    assert [(p.code, p.key) for p in checked.problems] == [("label-constant", FACTUAL)]
    assert '"y" on every item' in str(next(iter(checked.problems)))


def test_gold_with_doubled_ids_is_refused_by_name(files):
    with pytest.raises(InvalidInput, match=r"en_valid_label.jsonl: item 6 .* got en-val-0 again"):
        score(*files(gold=[*rows(GOLD), {**rows(GOLD)[0], FACTUAL: "n"}]), edition="cap2025")


def test_a_fixed_submission_can_be_scored(shroom, files, tmp_path):
    file, gold = files(rows(SAID)[::-1])
    code, _, err = shroom(
        "check", file.parent, "--gold", gold, "--edition", "cap2025", "--fix", tmp_path / "out"
    )
    assert code == 0, err
    (result,) = score(tmp_path / "out", gold, edition="cap2025").results
    assert result.scores == score(file, gold, edition="cap2025").results[0].scores


@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "No "), (True, False), (1.0, 0.0), ("1", "0"), ("\u200bY", "N"), ("TRUE", "FALSE")],
)
def test_answers_in_other_words_are_fixed(shroom, files, tmp_path, yes, no):
    file, gold = files([
        {k: {"y": yes, "n": no}.get(v, v) for k, v in row.items()} for row in rows(SAID)
    ])  # fmt: skip
    out = tmp_path / "out.jsonl"
    more = "--gold", gold, "--edition", "cap2025"
    assert shroom("check", file, *more)[0] == 1
    code, _, err = shroom("check", file, *more, "--fix", out)
    assert code == 0, err
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows(SAID)


def test_an_unknown_metric_is_refused_with_the_nearest(shroom, files):
    code, _, err = shroom("score", *files(), "--edition", "cap2025", "--metrics", "factual_f2")
    assert code == 2
    assert "no metric 'factual_f2' of cap2025; did you mean 'factual_f1'?" in err


# The real files: factual and fluency by the organisers' own record

FIGURES = {
    "random": {
        "en": (0.414069, 0.472059),
        "es": (0.457778, 0.518954),
        "fr": (0.419244, 0.449735),
        "hi": (0.384921, 0.415067),
        "it": (0.45338, 0.46712),
    },
    "selfcheck": {
        "en": (0.448774, 0.37919),
        "es": (0.534125, 0.495755),
        "fr": (0.467198, 0.457014),
        "hi": (0.424568, 0.401667),
        "it": (0.469276, 0.394363),
    },
    "all y": {
        "en": (0.443155, 0.183673),
        "es": (0.429929, 0.322034),
        "fr": (0.460674, 0.378238),
        "hi": (0.475983, 0.189189),
        "it": (0.285714, 0.120879),
    },
}


def recorded(scores):
    return tuple(round(scores[f"{name}_f1"], 6) for name in ("factual", "fluency"))


@pytest.mark.real
@pytest.mark.parametrize("system", ["random", "selfcheck"])
def test_the_recorded_figures_of_the_baselines(tmp_path, system):
    for lang, figures in FIGURES[system].items():
        name = f"{lang}_valid_label_{system}.jsonl"
        file = tmp_path / name
        shutil.copy(DATA / "cap2025" / "baselines" / system / name, file)
        if file.read_bytes().startswith(b"["):  # they are one JSON list, which .json is for
            file = file.rename(file.with_suffix(".json"))
        (result,) = score(file, DATA / "cap2025", edition="cap2025", by=()).results
        assert (result.track, result.split, result.n) == (lang, "valid", 240)
        assert recorded(result.scores) == figures
        assert recorded(result.floors["all y"]) == FIGURES["all y"][lang]


@pytest.mark.real
def test_a_json_list_in_a_jsonl_file_is_refused_by_a_sentence():
    name = "baselines/selfcheck/en_valid_label_selfcheck.jsonl"
    with pytest.raises(InvalidInput, match=r"got one JSON list \(name it .json\)"):
        score(DATA / "cap2025" / name, DATA / "cap2025", edition="cap2025")


@pytest.mark.real
def test_intervals_draw_the_questions_that_eight_models_answered():
    name = "en_valid_label_random.jsonl"
    file = DATA / "cap2025" / "baselines" / "random" / name
    result = score(file, DATA / "cap2025", edition="cap2025", metrics=["factual_accuracy"])
    assert result.intervals.unit == "question"
    (track,) = result.tracks
    unit = unit_of(track.gold, track.edition)
    assert len(set(unit.tolist())) == 30
    assert recorded(result.results[0].scores) == FIGURES["random"]["en"]
    alone = score(file, rows_of_gold(), edition="cap2025")
    assert alone.intervals.unit == ""
    assert alone.results[0].intervals != result.results[0].intervals


def rows_of_gold():
    path = DATA / "cap2025" / "en_valid_label.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
