"""``shroom score`` and ``check`` with the predictions of other data sets than SHROOM's."""

import json

import jsonschema
import numpy as np
import pytest
from conftest import DATA, felm_row, gold, predictions, write_json
from conftest import write_lines as lines
from sklearn import metrics as sk

from shroom.core.problems import ShroomError
from shroom.datasets.registry import DATA_SETS, data_set, form_of, guess
from shroom.scoring import data_set_forms
from shroom.scoring.check import check

DOMAINS = ("wk", "science", "writing_rec", "reasoning", "math")


def answers(n=12, lang="EN", split="val"):
    """Return n answers of Mu-SHROOM's form with marks drawn at random, some of them empty."""
    rng = np.random.default_rng(n)
    rows = []
    for i in range(n):
        start, size = rng.integers(0, 8), rng.integers(0, 9)
        prob = float(rng.integers(1, 6)) / 5
        soft = [{"start": int(start), "end": int(start + size), "prob": prob}]
        rows.append(
            {
                "id": f"{split}-{lang.lower()}-{i}",
                "lang": lang,
                "model_input": f"Question {i}?",
                "model_output_text": f"Answer {i}, which says a thing.",
                "soft_labels": soft if size else [],
                "hard_labels": [[int(start), int(start + size)]] if size and i % 3 else [],
            }
        )
    return rows


def marked(rows, shift=2):
    """Return predictions for answers: their marks moved by some characters."""
    said = []
    for row in rows:
        soft = [
            {**span, "start": span["start"] + shift, "end": span["end"] + shift}
            for span in row["soft_labels"]
        ]
        hard = [[start + shift, end + shift] for start, end in row["hard_labels"]]
        said.append({"id": row["id"], "soft_labels": soft, "hard_labels": hard})
    return said


def responses(n=20, seed=0):
    """Return n responses of FELM's form."""
    rng = np.random.default_rng(seed)
    return [felm_row(i, [bool(x) for x in rng.random(rng.integers(1, 5)) > 0.3]) for i in range(n)]


def judged(rows, seed=1, key="p"):
    rng = np.random.default_rng(seed)
    found = []
    for row in rows:
        p = [round(float(0.4 * (not label) + 0.6 * rng.random()), 3) for label in row["labels"]]
        found.append({"index": row["index"], key: p if key == "p" else [x <= 0.5 for x in p]})
    return found


def native_json(shroom, *args):
    code, out, err = shroom("score", *args, "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    jsonschema.validate(found, json.loads(shroom("score", "--json-schema")[1]))
    return found, err


# Mu-SHROOM


def test_the_form_is_told_and_taken(shroom, tmp_path):
    rows = answers(40)
    files = lines(tmp_path / "p.jsonl", marked(rows)[::-1]), lines(tmp_path / "g.jsonl", rows)
    found, err = native_json(shroom, *files)
    assert "looks like mushroom2025 data and is read as such (--edition mushroom2025)" in err
    assert native_json(shroom, *files, "--edition", "mushroom2025") == (found, "")
    (result,) = found["results"]
    assert (result["track"], result["split"], result["n"]) == ("en", "val", 40)


SOFT = {"start": 4, "end": 7, "prob": 1}
EMPTY = {"model_output_text": "", "soft_labels": [], "hard_labels": []}


@pytest.mark.parametrize(
    ("fields", "code", "key"),
    [
        ({"soft_labels": "4-7"}, "span-value", "soft_labels"),
        ({"soft_labels": [{**SOFT, "end": 70}]}, "span-value", "soft_labels[0]"),
        ({"soft_labels": [{**SOFT, "prob": "1"}]}, "p-number", "soft_labels[0].prob"),
        ({"hard_labels": "4-7"}, "span-value", "hard_labels"),
        ({"hard_labels": [[4, 7], [8, 9, 10]]}, "span-value", "hard_labels[1]"),
        ({"soft_labels": [{**SOFT, "start": 7, "end": 4}]}, "", "soft_labels[0]"),
        ({"hard_labels": [[4, 70]]}, "", "hard_labels[0]"),
        (EMPTY, "", "model_output_text"),
    ],
    ids=str,
)
def test_what_is_wrong_with_gold_is_told_by_score_and_check(shroom, tmp_path, fields, code, key):
    """An error has a code here; all else is a warning, and scored all the same."""
    rows = answers()
    said = marked([{**rows[0], **EMPTY}, *rows[1:]])
    file = lines(tmp_path / "p.jsonl", said)
    # The language is odd, and nothing is scored by it.
    gold_file = lines(tmp_path / "g.jsonl", [{**rows[0], **fields, "lang": "en"}, *rows[1:]])
    for verb in (["score", file, gold_file], ["check", file, "--gold", gold_file]):
        done, _, err = shroom(*verb)
        assert done == bool(code)
        assert f"g.jsonl: item 0 (id val-en-0): {key}: expected " in err
        assert f"[{code}" in err
        assert ("-odd]" in err, err.count("warning: ")) == (False, 0 if code else 1)


def test_of_a_folder_the_languages_that_are_predicted_are_scored_each(shroom, refused, tmp_path):
    for lang in ("EN", "DE", "HI"):
        lines(tmp_path / "gold" / f"{lang}.jsonl", answers(6, lang))
    for lang in ("DE", "HI"):
        lines(tmp_path / "pred" / f"{lang}.jsonl", marked(answers(6, lang)))
    both = [row for lang in ("HI", "DE") for row in marked(answers(6, lang))]
    for predicted in (tmp_path / "pred", lines(tmp_path / "all.jsonl", both)):
        found, _ = native_json(shroom, predicted, tmp_path / "gold")
        assert [(each["track"], each["n"]) for each in found["results"]] == [("de", 6), ("hi", 6)]
    alone, _ = native_json(shroom, tmp_path / "pred" / "DE.jsonl", tmp_path / "gold" / "DE.jsonl")
    assert alone["results"][0] == found["results"][0]
    unknown = lines(tmp_path / "more.jsonl", [*both, {"id": "val-xx-1", "hard_labels": []}])
    err = refused("score", unknown, tmp_path / "gold")
    assert "more.jsonl: item 12 (id val-xx-1): id: expected an id in " in err


# FELM


@pytest.mark.parametrize("key", ["p", "labels"])
def test_segments_equal_scikit_learn(shroom, tmp_path, key):
    # All metrics are compared with scikit-learn in tests/datasets/test_segments.py.
    rows = responses(60)
    said = judged(rows, key=key)
    files = lines(tmp_path / "p.jsonl", said[::-1]), lines(tmp_path / "g.jsonl", rows)
    (result,) = native_json(shroom, *files)[0]["results"]

    def expected(by, value):
        pairs = [(row, each) for row, each in zip(rows, said) if by is None or row[by] == value]
        y = [not label for row, _ in pairs for label in row["labels"]]
        z = [x > 0.5 if key == "p" else not x for _, each in pairs for x in each[key]]
        counts = zip(("TN", "FP", "FN", "TP"), sk.confusion_matrix(y, z).ravel().tolist())
        return {"segment_f1": sk.f1_score(y, z), **dict(counts)}

    slices = [(by, *pair) for by in ("domain", "source") for pair in result[f"by_{by}"].items()]
    assert {value for by, value, _ in slices if by == "domain"} == set(DOMAINS)
    for by, value, part in [(None, None, result), *slices]:
        for name, figure in expected(by, value).items():
            assert part[name] == pytest.approx(figure, abs=1e-12)
        assert part["segment_f1_ci"][0] <= part["segment_f1"] <= part["segment_f1_ci"][1]
    assert ("segment_auroc" in result) == (key == "p")


def test_other_gold_has_another_signature_and_undefined_scores_are_null(shroom, tmp_path):
    rows = responses(3)
    file, path = lines(tmp_path / "p.jsonl", judged(rows)), tmp_path / "g.jsonl"
    first, _ = native_json(shroom, file, lines(path, rows))
    lines(path, [{**row, "labels": [True for _ in row["labels"]]} for row in rows])
    other, _ = native_json(shroom, path, path)
    assert other["signature"] != first["signature"]
    assert other["results"][0]["segment_f1"] is None
    code, out, _ = shroom("score", path, path)
    assert (code, "–" in out, "nan" in out) == (0, True, False)


# which data set


@pytest.mark.parametrize("named_as", ["semeval2024", "mushroom2025", "verifiability"])
def test_gold_of_another_data_set_is_told(refused, tmp_path, named_as):
    rows = responses()
    file, gold_file = (lines(tmp_path / "p.jsonl", judged(rows)), lines(tmp_path / "g.jsonl", rows))
    for verb in (["score", file, gold_file], ["check", file, "--gold", gold_file]):
        err = refused(*verb, "--edition", named_as)
        assert f"g.jsonl is in the format of felm, not of {named_as}" in err


@pytest.mark.parametrize(
    ("rows", "said", "harm"),
    [
        (responses(), judged(responses()), {"labels": "x"}),
        (answers(), marked(answers()), {"model_output_text": 5}),
    ],
    ids=["felm", "mushroom2025"],
)
def test_rows_of_the_gold_that_cannot_be_used_are_told(shroom, tmp_path, rows, said, harm):
    gold_file = lines(tmp_path / "g.jsonl", [rows[0], {**rows[1], **harm}, *rows[2:]])
    without = lines(tmp_path / "without.jsonl", [said[0], *said[2:]])
    code, _, err = shroom("score", without, gold_file)
    assert (code, "g.jsonl: item 1" in err, "[row-value]" in err) == (0, True, True)
    file = lines(tmp_path / "all.jsonl", said)
    code, _, err = shroom("score", file, gold_file)
    assert (code, "[id-unknown]" in err, "[row-value]" in err) == (1, True, True)
    lines(gold_file, [{**row, **harm} for row in rows])
    for verb in (["score", file, gold_file], ["check", file, "--gold", gold_file]):
        code, _, err = shroom(*verb)
        assert (code, "got no usable rows" in err, "[gold-unlabelled]" in err) == (1, True, True)
        assert "g.jsonl: item 0" in err


@pytest.mark.parametrize("options", ["--format codalab", "--by task", "--metrics ece"])
def test_options_of_shrooms_own_form_are_refused(refused, tmp_path, options):
    file = lines(tmp_path / "g.jsonl", responses())
    assert options.split()[0] in refused("score", file, file, *options.split(), code=2)


FORMS = {
    "felm": ("g.jsonl", responses(), "the format of felm ('shroom score'"),
    "mushroom": ("g.jsonl", answers(), "the format of mushroom2025 ('shroom score'"),
}


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("check {other}", "felm"),
        ("check {other} --fix {out}", "mushroom"),
        ("check {mine} --data {other}", "felm"),
        ("compare {mine} {mine} {other}", "felm"),
        ("report {mine} {other} -o {out}", "felm"),
        ("gold agreement {other}", "mushroom"),
        ("leaderboard {folder} {other}", "felm"),
        ("calibrate {mine} {other} -o {out}", "mushroom"),
        ("predict unigram {other} -o {out}", "felm"),
        ("ensemble {mine} {other} -o {out}", "felm"),
    ],
)
def test_another_form_is_told_in_one_sentence(shroom, tmp_path, line, form):
    name, rows, told = FORMS[form]
    other = lines(tmp_path / name, rows)
    mine = write_json(tmp_path / "all" / "a" / "val.model-aware.json", predictions())
    places = {"other": other, "mine": mine, "folder": mine.parent.parent, "out": tmp_path / "out"}
    code, _, err = shroom(*line.format(**places).split())
    assert code == 1
    assert err.startswith(f"{other}: expected SHROOM's format, got {told}")
    assert err.count("[other-form]\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", ["gold", "txt", "v1"])
def test_files_with_an_ending_of_their_own_are_told_by_their_beginning(shroom, tmp_path, ending):
    usual = lines(tmp_path / "p.jsonl", marked(answers())), lines(tmp_path / "g.jsonl", answers())
    more = ("--no-ci", "--format", "json")
    straight = shroom("score", *usual, *more)[:2]
    other = [path.rename(path.with_suffix(f".{ending}")) for path in usual]
    assert straight[0] == 0
    assert shroom("score", *other, *more)[:2] == straight


@pytest.mark.parametrize(
    "first",
    [
        {"Label": "Hallucination", "p": 0.5, "prompt_text": "x"},
        {"index": 1, "p": [0.5]},
        {"id": "1", "soft_labels": []},
    ],
)
@pytest.mark.parametrize("write", [write_json, lines])
def test_one_odd_row_before_good_ones_is_no_other_form(tmp_path, first, write):
    path = tmp_path / ("p.json" if write is write_json else "p.jsonl")
    found = check(write(path, [first, *predictions()])).problems
    assert {"key-missing", "key-unknown"} <= found.codes
    assert "other-form" not in found.codes


def test_keys_of_two_forms(shroom, tmp_path):
    """A row with a key of SHROOM is of SHROOM; votes with an index are nobody's."""
    rows = [{**row, "index": n, "labels": [], "query": ""} for n, row in enumerate(predictions())]
    assert check(write_json(tmp_path / "p.json", rows)).problems.codes == {"key-unknown"}
    votes = [{"index": n, "labels": row["labels"]} for n, row in enumerate(gold())]
    code, _, err = shroom("gold", "agreement", write_json(tmp_path / "v.json", votes))
    assert (code, "felm" in err, "[gold-unlabelled]" in err) == (1, False, True)
    for row in (responses()[0], answers()[0]):  # the first row decides
        path = tmp_path / "p.jsonl"
        path.write_text(json.dumps(row) + '\n{"broken\n')
        assert check(path).problems.codes == {"other-form"}


@pytest.mark.parametrize(
    ("rows", "said", "key", "row_id"),
    [
        (responses(), judged(responses()), "p", "1"),
        (answers(), marked(answers()), "hard_labels", "val-en-1"),
    ],
    ids=["felm", "mushroom2025"],
)
def test_a_key_that_comes_again_is_told(shroom, tmp_path, rows, said, key, row_id):
    gold_file = lines(tmp_path / "g.jsonl", rows)
    usual = lines(tmp_path / "p.jsonl", said)
    first, second, *rest = map(json.dumps, said)
    twice = tmp_path / "q.jsonl"
    twice.write_text("\n".join([first, f'{{"{key}": [], {second[1:]}', *rest]))
    found = [native_json(shroom, file, gold_file) for file in (usual, twice)]
    assert found[0][0]["results"] == found[1][0]["results"]
    place = f"item 1 (id {row_id}): expected each key only once"
    said = f'{place}, got "{key}" more than once (the last value is used)'
    assert f"warning: {twice}: {said}" in found[1][1]


@pytest.mark.parametrize("content", ["", "{", "[]", "[1]", "null", '[{"a": 1}]', "\x00" * 10])
def test_a_form_is_told_by_the_first_row_however_long(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    assert guess(tmp_path / "x.json") is None
    row = {"padding": "é" * 300_000, **responses(1)[0]}
    assert guess(lines(tmp_path / "x.jsonl", [row])) == "felm"
    (tmp_path / "y.json").write_text(json.dumps([row], indent=2), encoding="utf-8-sig")
    assert guess(tmp_path / "y.json") == "felm"


@pytest.mark.parametrize("name", DATA_SETS)
def test_each_data_set_tells_about_itself(name):
    found = data_set(name)
    assert found.name == name
    assert all((found.licence, found.about, found.source))
    assert all(view.about for view in found.views.values())
    assert {form_of(form.split()) for form in data_set_forms.DATA_SETS[name]} == {name}


def test_a_view_is_the_usual_one_or_named():
    found = data_set("mushroom2025")
    assert found.view() is found.view("share") is not found.view("any")
    with pytest.raises(ShroomError, match="did you mean 'share'"):
        found.view("shere")
    with pytest.raises(ShroomError, match="has no datapoints"):
        data_set("queries").view()


# the real data


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("semeval2024", ["semeval2024/val.model-agnostic.json", "semeval2024/trial-v1.json"]),
        ("mushroom2025", ["mushroom2025"]),
        ("felm", ["felm"]),
        ("verifiability", ["verifiability"]),
        ("factual_consistency", ["factual_consistency"]),
        ("dreamcatcher", ["dreamcatcher"]),
        ("queries", ["verifiability/queries"]),
    ],
)
def test_real_data_are_told_by_their_form_and_seen_as_datapoints(name, paths):
    paths = [DATA / path for path in paths]
    assert [guess(path) for path in paths] == [name] * len(paths)
    found = data_set(name)
    records = found.read(*paths).records
    for view in found.views.values():
        points, units = view.datapoints(records), view.units(records)
        assert len(points) == len(units) > 0
        assert all(point.p is not None and point.label is not None for point in points)
        assert len(set(units)) <= len(points)
