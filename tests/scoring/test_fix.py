"""--fix: what is mechanical is fixed and logged; nothing else changes."""

import json
import re
import unicodedata
import zipfile

import pytest
import yaml
from conftest import ROOT, gold, predictions, write_json

from shroom.scoring.check import check
from shroom.scoring.fix import fix_submission

P = "p(Hallucination)"


def mended(rows, truth=None, **more):
    """Return the rows that --fix would write, if it would, and the fixing."""
    fixed = fix_submission(rows, truth, **more)
    (text,) = fixed.files.values()
    lines = f"[{','.join(text.splitlines())}]"  # of JSON Lines
    return None if fixed.obstacle else json.loads(text if text[0] == "[" else lines), fixed


def with_texts(rows, truth, *keys):
    return [{**p, **{key: g[key] for key in keys}} for p, g in zip(rows, truth)]


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("has_same_answers", [True, False])
@pytest.mark.parametrize("keys", [("hyp",), ("hyp", "src"), ("hyp", "src", "tgt")])
def test_rows_with_the_same_texts_are_exchanged_only_if_nothing_differs(
    keys, has_same_answers, reverse
):
    truth, rows = gold(12), predictions(12)
    truth[7] |= {key: truth[2][key] for key in ("hyp", "src")}
    if has_same_answers:
        rows[7] = rows[2]
    rows = with_texts(rows, truth, *keys)
    found, fixed = mended(rows[::-1] if reverse else rows, truth)
    is_clear = has_same_answers or "tgt" in keys or not reverse
    assert found == (rows if is_clear else None)
    assert is_clear or "the same texts cannot be told apart" in fixed.obstacle


@pytest.mark.parametrize("has_own_case", [True, False])
def test_texts_that_differ_by_case_only_are_rows_of_their_own(has_own_case):
    truth = gold(12)
    for place, row in enumerate(truth):
        row["hyp"], row["src"] = f"{'Cc'[place % 2]}afé {place // 2}", "s"
    rows = with_texts(predictions(12), truth, "hyp", "src")
    if not has_own_case:
        rows = [{**row, "hyp": row["hyp"].lower()} for row in rows]
    turned = [rows[place ^ 1] for place in range(12)]
    assert check(turned, truth).ok != has_own_case
    assert mended(turned, truth)[0] == (rows if has_own_case else turned)


@pytest.mark.parametrize("key", ["src", "tgt"])
def test_targets_of_ones_own_do_not_hide_the_order(key):
    truth = gold(12)
    rows = [{**p, "hyp": g["hyp"], key: f"mine {g[key]}"} for p, g in zip(predictions(12), truth)]
    assert mended(rows[::-1], truth)[0] == (None if key == "src" else rows)
    assert ("order" in check(rows[::-1], truth).problems.codes) == (key == "src")


OTHERWISE = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "trailing": lambda text: text + " ",
    "upper": str.upper,
    "zero-width": "\u200b".join,
    "nfkc": lambda text: text.replace("fi", "\ufb01"),
}


@pytest.mark.parametrize("first_id", [None, 0])
@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("keys", [("hyp",), ("hyp", "src"), ("src",)])
def test_the_order_by_texts_that_are_written_otherwise(change, keys, first_id):
    """Also beside ids of one's own, which gold does not have."""
    truth, rows = gold(12), predictions(12, first_id=first_id)
    for place, (row, own) in enumerate(zip(truth, rows)):
        row["hyp"], row["src"] = f"un café fini, numéro {place}", f"père {place}"
        own |= {key: change(row[key]) for key in keys}
    assert check(rows, truth).problems.codes == set()
    turned = [*rows[5:], *rows[:5]]
    assert "order-texts" in check(turned, truth).problems.codes
    found, fixed = mended(turned, truth)
    assert (found, fixed.checked.problems.codes) == (rows, set())


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("first_id", [1, None])
def test_places_are_those_of_the_file_that_was_handed_in(tmp_path, form, first_id):
    truth = gold(12, first_id=first_id)
    rows = with_texts(predictions(12, first_id=first_id), truth, "hyp")
    is_high = rows[4]["label"] == "Hallucination"
    rows[4]["label"] = "Not Hallucination" if is_high else "Hallucination"
    rows, path = rows[::-1], tmp_path / f"p.{form}"
    parts = ["id 5"] * (first_id is not None) + ["line 9"] * (form == "csv")
    where = f"item 7 ({', '.join(parts)})" if parts else "item 7"
    for label, place in ((rows[9]["label"], where), ("maybe", "item 9")):
        rows[9]["label"] = label
        write_json(path, rows)
        if form == "csv":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            path.write_text("\n".join(lines))
        for checked in (check(path, truth), fix_submission(path, truth).checked):
            assert any(place in line for line in checked.problems.lines())


SOFT = {"start": 3, "end": 7, "prob": 0.5}
ANSWER = {"model_input": "When?", "model_output_text": "In 1823.", "lang": "EN"}
GOLD = {
    "mushroom2025": {"id": "tst-en-1", **ANSWER, "soft_labels": [], "hard_labels": []},
    "visions2026": {"id": "1", "response": "In 1823.", "labels": [], "raw_annots": {"a": "|"}},
    "cap2025": {"index": "7", "has_factual_mistakes": "y", "has_fluency_mistakes": "n"},
}
READINGS = yaml.safe_load((ROOT / "tests" / "scoring" / "one_reading.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", READINGS, ids=str)
def test_values_with_one_reading_are_fixed_in_the_form_of_each_task(case):
    edition, row, meant = case["edition"], case["row"], case.get("meant")
    key = "index" if edition == "cap2025" else "id"
    own = {key: GOLD[edition][key]}
    assert not check([{**own, **row}], [GOLD[edition]], edition=edition).ok
    found, fixed = mended([{**own, **row}], [GOLD[edition]], edition=edition)
    assert found == (meant and [{**own, **meant}])
    assert bool(fixed.changes) == (meant is not None)
    changes = re.findall(r": (.+) became (.+) \[", "\n".join(fixed.changes))
    assert all(before != after for before, after in changes)


def test_spans_are_put_in_the_order_of_the_gold():
    rows = [{"id": f"tst-en-{n}", "soft_labels": [SOFT], "hard_labels": [[3, 7]]} for n in range(4)]
    truth = [{**row, **ANSWER} for row in rows]
    assert mended(rows[::-1], data=truth, edition="mushroom2025")[0] == rows


def test_a_file_of_another_name_gets_one_verdict_with_fix_and_without(tmp_path, shroom):
    write_json(tmp_path / "sub" / "val.model-aware.json", predictions(6))
    write_json(tmp_path / "sub" / "notes.json", {"not": "a list"})
    write_json(tmp_path / "sub" / "more.json", predictions(6))
    _, _, without = shroom("check", tmp_path / "sub")
    code, stdout, err = shroom("check", tmp_path / "sub", "--fix", tmp_path / "out" / "fixed.zip")
    assert (code, err.splitlines()[: len(without.splitlines())]) == (1, without.splitlines())
    assert without.count("[file-name]\n") == 2
    assert "[not-a-list]" not in err
    assert "2 errors" in stdout


@pytest.mark.parametrize(("first_id", "numbered"), [(0, True), (1, True), (7, False)])
def test_ids_that_number_the_rows_show_their_order(first_id, numbered):
    rows = predictions(12, first_id=first_id)
    if not numbered:
        rows[3]["id"] = 99
    turned = [*rows[5:], *rows[:5]]
    found, fixed = mended(turned, gold(12))
    said = ["fixed: predictions: put 12 rows into the order of their ids [order]"]
    assert (found, fixed.changes) == ((rows, said) if numbered else (turned, []))


@pytest.mark.parametrize("p", ["NaN", "inf", "1.5", "half", "", "1_0"])
def test_what_is_not_mechanical_stays_and_nothing_is_overwritten(tmp_path, shroom, p):
    rows = predictions(3)
    rows[0][P], rows[1][P] = p, "0.5"
    path, out = write_json(tmp_path / "p.json", rows), tmp_path / "out.json"
    out.write_text("precious")
    code, stdout, err = shroom("check", path, "--fix", out)
    assert (code, stdout) == (1, "not valid: 1 error, 0 warnings\n")
    assert f"item 0: {P}: expected a number, got {json.dumps(p)} [p-number]" in err
    assert ("fixed: " in err, "was not written, because errors remain" in err) == (False, True)
    assert out.read_text() == "precious"


@pytest.mark.parametrize("form", ["p.jsonl", "p.csv", "val.model-aware.zip"])
def test_a_file_that_cannot_be_read_whole_gets_the_verdict_of_the_check(tmp_path, form):
    good, bad = predictions(3)[0], {"label": "maybe", P: "high"}
    lines = [json.dumps(good), json.dumps(bad), '{"label": "Halluc', json.dumps(good)]
    if form.endswith(".csv"):
        lines = [f"label,{P}", "maybe,high", "Hallucination,0.9,1"]
    path = tmp_path / form
    path.write_text("\n".join(lines))
    if form.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("val.model-aware.json", "[" + lines[2])
            archive.writestr("test.model-agnostic.json", json.dumps([bad]))
    fixed, problems = fix_submission(path), check(path).problems
    assert problems.errors > 1
    assert (fixed.obstacle, fixed.changes) == ("errors remain", [])
    assert list(fixed.checked.problems.lines()) == list(problems.lines())


@pytest.mark.parametrize("name", ["out.zip", "out.json.gz"])
@pytest.mark.parametrize("refused_from", [None, 1 << 20])
def test_long_texts_that_repeat_are_written_as_they_can_be_read(
    name, refused_from, tmp_path, shroom, monkeypatch
):
    if refused_from:  # what is beyond the limit is written without compression
        monkeypatch.setattr("shroom.core.archives.RATIO_FROM", refused_from)
    rows = [{**row, "src": "word " * 20_000} for row in predictions(40)]
    path = write_json(tmp_path / "val.model-aware.json", rows)
    assert shroom("check", path, "--fix", tmp_path / name)[0] == 0
    assert (tmp_path / name).stat().st_size < (5_000_000 if refused_from else 20_000)
    checked = check(tmp_path / name)
    assert (checked.ok, checked.tracks[0].predictions.n) == (True, 40)
