"""--fix: what is mechanical is fixed and logged; nothing else changes."""

import json
import re
import unicodedata
import zipfile

import pytest
from conftest import gold, predictions, write_json

from shroom.scoring.check import check


def fixed(shroom, path, out, *more):
    code, stdout, stderr = shroom("check", path, "--fix", out, *more)
    return code, stdout, stderr


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("has_same_answers", [True, False])
@pytest.mark.parametrize("keys", [("hyp",), ("hyp", "src"), ("hyp", "src", "tgt")])
def test_rows_with_the_same_texts_are_exchanged_only_if_nothing_differs(
    tmp_path, shroom, keys, has_same_answers, reverse
):
    truth, rows = gold(12), predictions(12)
    truth[7] |= {key: truth[2][key] for key in ("hyp", "src")}
    if has_same_answers:
        rows[7] = rows[2]
    rows = [{**p, **{key: g[key] for key in keys}} for p, g in zip(rows, truth)]
    path = write_json(tmp_path / "p.json", rows[::-1] if reverse else rows)
    out, g = tmp_path / "out.json", write_json(tmp_path / "g.json", truth)
    code, _, err = fixed(shroom, path, out, "--gold", g)
    if has_same_answers or "tgt" in keys or not reverse:
        assert (code, json.loads(out.read_text())) == (0, rows)
    else:
        assert (code, out.exists()) == (1, False)
        assert "rows with the same texts do not show which is which" in err


@pytest.mark.parametrize("has_own_case", [True, False])
def test_texts_that_differ_by_case_only_are_rows_of_their_own(tmp_path, shroom, has_own_case):
    truth = gold(12)
    for place, row in enumerate(truth):
        row["hyp"], row["src"] = f"{'Cc'[place % 2]}afé {place // 2}", "s"
    rows = [{**p, "hyp": g["hyp"], "src": "s"} for p, g in zip(predictions(12), truth)]
    if not has_own_case:
        for row in rows:
            row["hyp"] = row["hyp"].lower()
    turned = [rows[place ^ 1] for place in range(12)]
    p, g = write_json(tmp_path / "p.json", turned), write_json(tmp_path / "g.json", truth)
    assert check(p, g).ok != has_own_case
    assert fixed(shroom, p, tmp_path / "out.json", "--gold", g)[0] == 0
    assert json.loads((tmp_path / "out.json").read_text()) == (rows if has_own_case else turned)


@pytest.mark.parametrize("key", ["src", "tgt"])
def test_targets_of_ones_own_do_not_hide_the_order(tmp_path, shroom, key):
    truth = gold(12)
    rows = [{**p, "hyp": g["hyp"], key: f"mine {g[key]}"} for p, g in zip(predictions(12), truth)]
    p, g = write_json(tmp_path / "p.json", rows[::-1]), write_json(tmp_path / "g.json", truth)
    code, _, _ = fixed(shroom, p, tmp_path / "out.json", "--gold", g)
    assert (code, "order" in check(p, g).problems.codes) == (
        (1, True) if key == "src" else (0, False)
    )


OTHERWISE = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "trailing": lambda text: text + " ",
    "upper": str.upper,
    "zero-width": "\u200b".join,
    "nfkc": lambda text: text.replace("fi", "\ufb01"),
}


@pytest.mark.parametrize("change", OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("keys", [("hyp",), ("hyp", "src"), ("src",)])
def test_the_order_by_texts_that_are_written_otherwise(tmp_path, shroom, change, keys):
    truth = gold(12)
    for place, row in enumerate(truth):
        row["hyp"], row["src"] = f"un café fini, numéro {place}", f"père {place}"
    rows = [{**p, **{key: change(g[key]) for key in keys}} for p, g in zip(predictions(12), truth)]
    g = write_json(tmp_path / "g.json", truth)
    assert check(write_json(tmp_path / "p.json", rows), g).problems.codes == set()
    path = write_json(tmp_path / "p.json", [*rows[5:], *rows[:5]])
    assert "order-texts" in check(path, g).problems.codes
    code, stdout, _ = fixed(shroom, path, tmp_path / "out.json", "--gold", g)
    assert (code, "0 errors, 0 warnings" in stdout) == (0, True)
    assert json.loads((tmp_path / "out.json").read_text()) == rows


def other_text(rows):
    rows[3]["hyp"] = "another one"


def doubled_text(rows):
    rows[3]["hyp"] = rows[8]["hyp"]


def missing_text(rows):
    del rows[3]["hyp"]


def output_of_two_inputs(rows):
    rows[7]["hyp"] = rows[2]["hyp"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_text, "1 row cannot be placed by the texts"),
        (doubled_text, "2 rows cannot be placed by the texts"),
        (missing_text, "not all rows have their texts"),
        (output_of_two_inputs, "rows with the same texts do not show which is which"),
    ],
)
def test_an_order_that_cannot_be_restored_is_refused(tmp_path, shroom, change, why):
    truth = gold(12)
    rows = [{**p, "hyp": g["hyp"]} for p, g in zip(predictions(12), truth)]
    change(rows)
    truth[7]["hyp"] = rows[7]["hyp"]  # the texts of the gold, but for those of two inputs
    path = write_json(tmp_path / "p.json", rows[::-1])
    g = write_json(tmp_path / "g.json", truth)
    code, stdout, err = fixed(shroom, path, tmp_path / "out.json", "--gold", g)
    assert (code, stdout[:9], why in err) == (1, "not valid", True)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("ids", [True, False])
def test_places_are_those_of_the_file_that_was_handed_in(tmp_path, shroom, form, ids):
    truth, rows = gold(12, first_id=1), predictions(12, first_id=1)
    rows = [{**p, "hyp": g["hyp"]} for p, g in zip(rows, truth)]
    for row in (*truth, *rows) if not ids else ():
        del row["id"]
    rows[4]["label"] = (
        "Hallucination" if rows[4]["label"] != "Hallucination" else "Not Hallucination"
    )
    g = write_json(tmp_path / "g.json", truth)
    rows = rows[::-1]
    line = "" if form == "json" else "line 9"
    where = ", ".join(filter(None, ["id 5" if ids else "", line]))
    for label, place in ((None, f"item 7 ({where})" if where else "item 7"), ("maybe", "item 9")):
        rows[9]["label"] = label or rows[9]["label"]
        path = write_json(tmp_path / "p.json", rows)
        if form == "csv":
            path = tmp_path / "p.csv"
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            path.write_text("\n".join(lines))
        _, _, before = shroom("check", path, "--gold", g)
        _, _, err = fixed(shroom, path, tmp_path / "out.json", "--gold", g)
        assert place in before
        assert place in err


def test_spans_are_put_in_the_order_of_the_gold(tmp_path, shroom):
    text = {"model_input": "When?", "model_output_text": "In 1823.", "lang": "EN"}
    spans = {"soft_labels": [{"start": 3, "end": 7, "prob": 0.5}], "hard_labels": [[3, 7]]}
    truth = [{"id": f"tst-en-{place}", **text, **spans} for place in range(4)]
    rows = [{"id": row["id"], **spans} for row in truth]
    gold_path, path = tmp_path / "gold.jsonl", tmp_path / "en-tst.jsonl"
    gold_path.write_text("".join(json.dumps(row) + "\n" for row in truth))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[::-1]))
    out = tmp_path / "out.jsonl"
    more = ("--edition", "mushroom2025", "--data", gold_path)
    code, _, err = fixed(shroom, path, out, *more)
    assert code == 0, err
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows


MU_TEXT = {"model_input": "When?", "model_output_text": "In 1823.", "lang": "EN"}
SOFT = {"start": 3, "end": 7, "prob": 0.5}
OCR = {**SOFT, "label": "OCR"}
CAP = {"index": "7", "has_factual_mistakes": "y", "has_fluency_mistakes": "n"}
GOLD = {
    "mushroom2025": {"id": "tst-en-1", **MU_TEXT, "soft_labels": [], "hard_labels": []},
    "visions2026": {"id": "1", "response": "In 1823.", "labels": [], "raw_annots": {"a": "|"}},
    "cap2025": CAP,
}
NOTHING = {"start": -1, "end": -1}
#: Spans of Mu-SHROOM with one reading, which is SOFT, and with several.
ONE_READING = [
    [{**SOFT, "start": 3.0, "end": 7.0}],
    [{**SOFT, "start": "3", "end": "7.0"}],
    [SOFT, {**NOTHING, "prob": 0.9}],
    [{**SOFT, "prob": "np.float32(0.5)"}],
    [{**SOFT, "prob": "0,5"}],
    "[{'start': 3, 'end': 7, 'prob': 0.5}]",
]
SEVERAL = [{"start": 3.5}, {"start": -1}, {"prob": "half"}, {"prob": 1.1}]
MARKED_TWICE = [{**OCR, "label": "ocr\u200b", "start": "3"}, {**OCR, **NOTHING}]


@pytest.mark.parametrize(
    ("edition", "row", "meant"),
    [
        *(("mushroom2025", {"soft_labels": it}, {"soft_labels": [SOFT]}) for it in ONE_READING),
        *(("mushroom2025", {"soft_labels": [{**SOFT, **it}]}, None) for it in SEVERAL),
        ("mushroom2025", {"soft_labels": "3 to 7"}, None),
        ("mushroom2025", {"hard_labels": [[3.0, "7"], [-1, -1]]}, {"hard_labels": [[3, 7]]}),
        (
            "mushroom2025",
            {"soft_labels": [{**SOFT, "prob": 1 + 1e-7}]},
            {"soft_labels": [{**SOFT, "prob": 1.0}]},
        ),
        ("mushroom2025", {"id": "\u200btst-en-1 ", "hard_labels": []}, {"hard_labels": []}),
        ("visions2026", {"id": 1, "labels": MARKED_TWICE}, {"labels": [OCR]}),
        ("cap2025", {**CAP, "index": 7.0}, CAP),
        ("cap2025", {**CAP, "has_factual_mistakes": "\ufeffY "}, CAP),
    ],
)
def test_values_with_one_reading_are_fixed_in_the_form_of_each_task(
    tmp_path, shroom, edition, row, meant
):
    key = "index" if edition == "cap2025" else "id"
    path, gold_path, out = (tmp_path / f"{name}.jsonl" for name in ("mine", "gold", "out"))
    own = {key: GOLD[edition][key]}
    gold_path.write_text(json.dumps(GOLD[edition]) + "\n")
    path.write_text(json.dumps({**own, **row}) + "\n")
    more = ("--gold", gold_path, "--edition", edition)
    assert shroom("check", path, *more)[0] == 1
    code, _, err = fixed(shroom, path, out, *more)
    if meant is None:
        assert (code, "not written, since errors remain" in err, "fixed: " in err) == (
            1,
            True,
            False,
        )
        return
    assert (code, "fixed: " in err) == (0, True), err
    changes = re.findall(r": (.+) became (.+) \[", err)
    assert all(before != after for before, after in changes)
    assert json.loads(out.read_text()) == {**own, **meant}


def test_a_file_of_another_name_gets_one_verdict_with_fix_and_without(tmp_path, shroom):
    write_json(tmp_path / "sub" / "val.model-aware.json", predictions(6))
    write_json(tmp_path / "sub" / "notes.json", {"not": "a list"})
    write_json(tmp_path / "sub" / "more.json", predictions(6))
    _, _, without = shroom("check", tmp_path / "sub")
    out = tmp_path / "out"
    code, stdout, err = fixed(shroom, tmp_path / "sub", out / "fixed.zip")
    assert (code, err.splitlines()[: len(without.splitlines())]) == (1, without.splitlines())
    assert without.count("[file-name]\n") == 2
    assert "[not-a-list]" not in err
    assert "2 errors" in stdout


def test_of_keys_that_come_again_the_last_is_kept_and_told(tmp_path, shroom):
    path, out = tmp_path / "p.json", tmp_path / "out.json"
    row = '{"id": 1, "label": "Hallucination", "label": "Not Hallucination", "id": 2, "p%s": 0.1}'
    path.write_text(f"[{row % '(Hallucination)'}]")
    code, stdout, err = fixed(shroom, path, out)
    assert code == 0
    assert stdout.endswith("0 errors, 0 warnings\n")
    assert 'p.json: item 0: kept the last "id" and "label" [key-doubled]' in err
    assert json.loads(out.read_text())[0]["label"] == "Not Hallucination"


@pytest.mark.parametrize(("first_id", "numbered"), [(0, True), (1, True), (7, False)])
def test_ids_that_number_the_rows_show_their_order(tmp_path, shroom, first_id, numbered):
    rows = predictions(12, first_id=first_id)
    if not numbered:
        rows[3]["id"] = 99
    turned = [*rows[5:], *rows[:5]]
    path, out = write_json(tmp_path / "val.model-aware.json", turned), tmp_path / "out.json"
    code, _, err = fixed(shroom, path, out, "--gold", write_json(tmp_path / "g.json", gold(12)))
    assert (code, json.loads(out.read_text())) == (0, rows if numbered else turned)
    assert ("put 12 rows into the order of their ids [order]" in err) == numbered == bool(err)


@pytest.mark.parametrize("p", ["NaN", "inf", "1.5", "half", "", "1_0"])
def test_what_is_not_mechanical_stays_and_nothing_is_overwritten(tmp_path, shroom, p):
    rows = predictions(3)
    rows[0]["p(Hallucination)"] = p
    rows[1]["p(Hallucination)"] = "0.5"
    path, out = write_json(tmp_path / "p.json", rows), tmp_path / "out.json"
    out.write_text("precious")
    code, stdout, err = fixed(shroom, path, out)
    assert (code, stdout) == (1, "not valid: 1 error, 0 warnings\n")
    assert f"item 0: p(Hallucination): expected a number, got {json.dumps(p)} [p-number]" in err
    assert ("fixed: " in err, "not written, since errors remain" in err) == (False, True)
    assert out.read_text() == "precious"


@pytest.mark.parametrize("form", ["p.jsonl", "p.csv", "val.model-aware.zip"])
def test_a_file_that_cannot_be_read_whole_gets_the_verdict_of_the_check(tmp_path, shroom, form):
    good, bad = predictions(3)[0], {"label": "maybe", "p(Hallucination)": "high"}
    lines = [json.dumps(good), json.dumps(bad), '{"label": "Halluc', json.dumps(good)]
    if form.endswith(".csv"):
        lines = ["label,p(Hallucination)", "maybe,high", "Hallucination,0.9,1"]
    path = tmp_path / form
    path.write_text("\n".join(lines))
    if form.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("val.model-aware.json", "[" + lines[2])
            archive.writestr("test.model-agnostic.json", json.dumps([bad]))
    code, stdout, err = shroom("check", path)
    assert (code, "errors" in stdout) == (1, True)
    code, out, fixed_err = fixed(shroom, path, tmp_path / "out.json")
    assert (code, out) == (1, stdout)
    assert fixed_err.splitlines()[:-1] == err.splitlines()
    assert fixed_err.endswith("not written, since errors remain\n")


@pytest.mark.linux
def test_the_original_is_never_the_target(tmp_path, shroom):
    path = write_json(tmp_path / "p.json", predictions(3))
    before = path.read_bytes()
    (tmp_path / "link.json").symlink_to(path)
    for target in (path, tmp_path / "link.json"):
        code, stdout, err = fixed(shroom, path, target)
        assert (code, stdout) == (1, "")
        assert "name another" in err
    assert path.read_bytes() == before
    folder = tmp_path / "sub"
    write_json(folder / "val.model-aware.json", predictions(3))
    assert fixed(shroom, folder, folder)[0] == 1


def test_each_renaming_is_told_once_with_its_count(tmp_path, shroom):
    rows = [{**row, "p": row.pop("p(Hallucination)")} for row in predictions(1500)]
    path, out = write_json(tmp_path / "p.json", rows), tmp_path / "out.json"
    code, _, err = fixed(shroom, path, out)
    assert code == 0
    assert err == (
        f'fixed: {path}: "p" renamed to "p(Hallucination)" in 1500 items [key-unknown]\n'
    )
    assert json.loads(out.read_text()) == predictions(1500)


@pytest.mark.parametrize("name", ["out.zip", "out.json.gz"])
@pytest.mark.parametrize("refused_from", [None, 1 << 20])
def test_long_texts_that_repeat_are_written_as_they_can_be_read(
    name, refused_from, tmp_path, shroom, monkeypatch
):
    if refused_from:  # what is beyond the limit is written without compression
        monkeypatch.setattr("shroom.core.archives.RATIO_FROM", refused_from)
    rows = [{**row, "src": "word " * 20_000} for row in predictions(40)]
    path = write_json(tmp_path / "val.model-aware.json", rows)
    assert fixed(shroom, path, tmp_path / name)[0] == 0
    assert (tmp_path / name).stat().st_size < (5_000_000 if refused_from else 20_000)
    checked = check(tmp_path / name)
    assert checked.ok
    assert checked.tracks[0].predictions.n == 40


def label_case(rows):
    rows[1]["label"] = rows[1]["label"].upper()


def string_p(rows):
    rows[2]["p(Hallucination)"] = str(rows[2]["p(Hallucination)"])


def no_p(rows):
    del rows[2]["p(Hallucination)"]


def turned(rows):
    rows.reverse()


def unknown_label(rows):
    rows[2]["label"] = "perhaps"


@pytest.mark.parametrize(
    ("changes", "offer"),
    [
        ((), ""),
        ((label_case,), "label-value"),
        ((label_case, string_p, turned), "label-value, order-texts, p-number"),
        ((label_case, no_p), ""),
        ((unknown_label,), ""),
        ((turned,), "order-texts"),
        ((turned, other_text), ""),
        ((label_case, turned, missing_text), ""),
    ],
)
def test_fixing_is_offered_only_if_it_writes(tmp_path, shroom, changes, offer):
    truth = gold(12)
    rows = [{**p, "hyp": g["hyp"]} for p, g in zip(predictions(12), truth)]
    for change in changes:
        change(rows)
    path, g = write_json(tmp_path / "p.json", rows), write_json(tmp_path / "g.json", truth)
    _, _, err = shroom("check", path, "--gold", g)
    said = [line for line in err.splitlines() if "--fix FILE" in line]
    assert said == ([f"note: --fix FILE writes a copy without {offer}"] if offer else [])
    _, _, score_err = shroom("score", path, g)
    assert "--fix FILE" not in score_err
    code, _, err = fixed(shroom, path, tmp_path / "out.json", "--gold", g)
    if offer:
        assert (code, check(tmp_path / "out.json", g).problems.codes) == (0, set())
    elif changes:
        assert (code, "not written, since" in err) == (1, True)
