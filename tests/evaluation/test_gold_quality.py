"""What a check of a gold finds, kind by kind, and that it finds nothing in a sound one."""

import copy
import json
import random
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from conftest import DATA, ROOT, SAMPLE, gold, write_json, write_lines
from html_outline import assert_good
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.gold_quality import quality as module
from shroom.evaluation.gold_quality.findings import CHECKS
from shroom.evaluation.gold_quality.quality import gold_quality
from shroom.evaluation.gold_quality.sharing import Texts, jaccard, shared
from shroom.metrics.intervals import Intervals
from shroom.scoring.annotator_agreement import agreement
from shroom.scoring.editions.edition import Annotation, Aspect, Edition, Files, Item, Split, Track
from shroom.scoring.rows import P

FEW = Intervals(50)
ASPECTS = Edition(
    "questions",
    "Questions",
    2025,
    tracks=(Track("hi"), Track("ml")),
    splits=(Split("train2"), Split("test")),
    files=Files("{lang}_{split}_label.jsonl", data="{lang}_{split}_data.jsonl"),
    item=Item("string", {"id": "index", "hyp": "answer", "src": "question"}),
    annotation=Annotation("aspects", (Aspect("is_wrong", "wrong"), Aspect("is_odd", "odd"))),
)
MARKS, PICTURES = (Item("string", {"hyp": key}) for key in ("output", "response"))
SPANS = Edition("marks", "Marks", 2025, item=MARKS, annotation=Annotation("spans"))
LABELLED = replace(
    SPANS, item=PICTURES, annotation=Annotation("labelled-spans", labels=("invention", "other"))
)


def answers(n=40, prefix="q"):
    rows = []
    for place in range(n):
        row = {"index": f"{prefix}-{place}", "question": f"Why {place}?", "answer": f"So {place}."}
        rows.append({**row, "is_wrong": "yn"[place % 2], "is_odd": "ny"[place % 3 == 0]})
    return rows


def marks(n=30):
    rows = []
    for place in range(n):
        start, end = place % 5, place % 5 + 6
        hard = [] if place % 2 else [[start, end]]
        soft = [{"start": start, "end": end, "prob": 0.5 if place % 2 else 1.0}]
        row = {"id": f"m-{place}", "output": f"There are {place} small rivers."}
        own = {"b": hard, "c": [[start, end]]}
        rows.append({**row, "soft_labels": soft, "hard_labels": hard, "annotations": own})
    return rows


def pictures(n=30):
    rows = []
    for place in range(n):
        labels = [{"start": 0, "end": 4, "prob": 0.5, "label": "invention"}] if place % 2 else []
        people = {"a": "Two" if place % 4 == 1 else "|", "b": "Two" if place % 4 == 3 else "|"}
        row = {"id": f"p-{place}", "response": f"Two cats and {place} dogs."}
        rows.append({**row, "labels": labels, "raw_annots": people})
    return rows


def votes(n=30):
    return gold(n, first_id=1)


KINDS = {"binary": (votes, None), "aspects": (answers, ASPECTS), "spans": (marks, SPANS)}
KINDS["labelled-spans"] = (pictures, LABELLED)


def checked(path, rows, edition=None, **options):
    return gold_quality(write_json(path, rows), edition=edition, intervals=FEW, **options)


def counts(quality, place=0):
    return {finding.code: finding.count for finding in quality.files[place].findings}


H, N = "Hallucination", "Not Hallucination"
ALL, LEFT_OUT = range(30), object()
MARK = {"start": 0, "end": 2, "prob": 1, "label": "other"}
PAST = {"b": [[0, 99]], "c": [[0, 99]]}
OF_SOFT = {"span-outside": 1, "span-votes": 1, "hard-soft": 1}
OF_NO_OUTPUT = {"text-empty": 1, "span-outside": 1, "annotation-outside": 1}
#: The kind of a gold, the rows that are changed, their new values, and what is found.
FAULTS = [
    *((kind, [], {}, {}) for kind in KINDS),
    ("binary", [7], {"id": 4}, {"id-doubled": 1}),
    ("binary", [2], {"id": LEFT_OUT}, {"id-missing": 1}),
    ("binary", [5], {"id": [1]}, {"id-missing": 1}),
    ("binary", [2], dict.fromkeys(("label", P, "labels"), LEFT_OUT), {"unannotated": 1}),
    ("binary", [1, 4], {"label": "hallucination"}, {"label-value": 2}),
    ("binary", [1, 4], {"label": LEFT_OUT, P: LEFT_OUT}, {"label-value": 2, "p-value": 2}),
    ("binary", [1], {P: "0.2"}, {"p-value": 1}),
    ("binary", [1], {P: 1.5}, {"p-value": 1}),
    ("binary", [6], {"hyp": " \u200b"}, {"text-empty": 1}),
    ("binary", [6], {"src": "", "tgt": None}, {"text-empty": 1}),
    ("binary", ALL, {"src": "", "tgt": None}, {"text-empty": 30}),
    ("binary", ALL, {"src": LEFT_OUT, "tgt": LEFT_OUT}, {}),
    ("binary", [0], {"label": H, P: 0.0}, {"label-p": 1, "label-votes": 1}),
    ("binary", [0], {P: 0.4}, {"p-votes": 1}),
    ("binary", ALL, {"label": N, "labels": [N, H, N], P: 1 / 3}, {"one-class": 30}),
    ("binary", [0], {"labels": [*votes()[0]["labels"], "Halucination"]}, {"vote-value": 1}),
    ("binary", [0], {"labels": ["", H, H], "label": H, P: 1}, {"vote-value": 1}),
    ("binary", [0, 1], {"labels": f"{H}, {N}"}, {"label-value": 2}),
    ("aspects", [7], {"index": "q-3"}, {"id-doubled": 1}),
    ("aspects", [1, 2, 3], {"is_odd": ""}, {"label-value": 3}),
    ("aspects", [1], {"is_odd": "yn"}, {"label-value": 1}),
    ("aspects", [2], dict.fromkeys(("is_odd", "is_wrong"), LEFT_OUT), {"unannotated": 1}),
    ("aspects", range(40), {"is_wrong": "y"}, {"one-class": 40}),
    ("spans", [1], {"hard_labels": [[3, 3]]}, {"span-value": 1}),
    ("spans", [1], {"hard_labels": [[0, 2]]}, {"hard-soft": 1}),
    ("labelled-spans", [1], {"labels": [{**MARK, "label": "x"}]}, {"label-value": 1}),
    ("labelled-spans", [1], {"labels": [{**MARK, "prob": 7}]}, {"p-value": 1}),
    ("labelled-spans", [1], {"labels": []}, {"span-votes": 1}),
    ("labelled-spans", ALL, {"labels": [], "raw_annots": {}}, {"one-class": 30}),
    ("spans", [0], {"soft_labels": [{**MARK, "end": 99}]}, OF_SOFT),
    ("spans", [0], {"annotations": PAST}, {"annotation-outside": 1, "span-votes": 1}),
    ("spans", [0], {"output": ""}, OF_NO_OUTPUT),
]


@pytest.mark.parametrize(("kind", "places", "values", "expected"), FAULTS)
def test_each_fault_is_found_with_its_number(tmp_path, kind, places, values, expected):
    make, edition = KINDS[kind]
    rows = make()
    for place in places:
        row = {**rows[place], **values}
        rows[place] = {key: value for key, value in row.items() if value is not LEFT_OUT}
    quality = checked(tmp_path / "gold.json", rows, edition)
    assert (quality.files[0].kind, counts(quality)) == (kind, expected)
    assert bool(quality.errors) == any(CHECKS[code].severity == "error" for code in expected)


MISSING = '12 items without the key "answer", which the edition specifies; got keys '
SWAPPED = (
    "12 items whose label contradicts p [label-p]",
    'the label must be "fine" if p is above 1/2',
    '12 items whose p differs from the share of votes for "fine"',
    'p must be the share of votes for "fine"',
)


@pytest.mark.parametrize(
    ("key", "order", "found", "said"),
    [
        ("answer", 1, {}, ()),
        ("hyp", 1, {}, ()),
        ("Answer", 1, {"key-missing": 12}, (MISSING, '"Answer"')),
        ("answer", -1, {"label-p": 12, "p-votes": 12}, SWAPPED),
    ],
)
def test_the_keys_and_words_of_the_edition_are_used(tmp_path, key, order, found, said):
    words, keys = {H: "odd", N: "fine"}, {"hyp": "answer", "labels": "votes"}
    labels = Annotation(labels=(*words.values(),)[::order])
    named = Edition("own", "Own", 2027, item=Item(keys=keys), annotation=labels)
    rows = votes(12)
    for row in rows:
        row[key] = row.pop("hyp")
        people = enumerate(row.pop("labels"))
        row |= {"votes": {f"p{i}": words[it] for i, it in people}, "label": words[row["label"]]}
    quality = checked(tmp_path / "gold.json", rows, named)
    assert counts(quality) == found
    text = quality.render("text")
    assert [sentence for sentence in said if sentence not in text] == []
    assert H not in text.replace(P, "")
    found = agreement(tmp_path / "gold.json", edition=named)
    listed = [{**row, "votes": [*row["votes"].values()]} for row in rows]
    assert found.results[0].whole == agreement(listed, edition=named).results[0].whole


@pytest.mark.parametrize(("key", "found"), [("quelle", {}), ("Quelle", {"key-missing": 12})])
def test_keys_of_texts_that_no_row_has_are_reported(tmp_path, key, found):
    named = Edition("own", "Own", 2027, item=Item(keys={"src": "quelle"}))
    rows = [{**row, key: row["src"], "src": LEFT_OUT, "tgt": LEFT_OUT} for row in votes(12)]
    rows = [{name: it for name, it in row.items() if it is not LEFT_OUT} for row in rows]
    assert counts(checked(tmp_path / "gold.json", rows, named)) == found


def test_doubled_ids_are_counted_with_their_answers_and_texts(tmp_path):
    """As in a gold of 240 rows in which 79 ids stand twice, where pairing by id is undefined."""
    rows = answers(161) + [{**row, "answer": "Other."} for row in answers(79)]
    for row in rows[161 : 161 + 31]:
        row["is_odd"] = "n" if row["is_odd"] == "y" else "y"
    quality = checked(tmp_path / "hi_test_label.json", rows, ASPECTS)
    finding = next(f for f in quality.files[0].findings if f.code == "id-doubled")
    assert finding.about == (
        "79 ids in more than one item (79 repetitions); ids with different texts: 79; "
        "ids with different annotations: 31"
    )
    assert finding.places[0] == "item 161 (id q-0)"


def test_texts_that_a_reader_cannot_tell_apart_are_the_same(tmp_path):
    rows = votes()
    rows[9] = {**rows[4], "id": 99, "label": N if rows[4]["label"] == H else H}
    rows[9]["hyp"] = f"  {rows[4]['hyp'].upper()}\ufeff "
    findings = checked(tmp_path / "gold.json", rows).files[0].findings
    (about,) = (it.about for it in findings if it.code == "item-doubled")
    assert about.startswith("1 item with the same texts as an earlier item; texts whose copies ")
    assert "copies have different annotations: 1 of 1" in about


def test_near_duplicates_are_those_of_all_pairs():
    """MinHash proposes, the true similarity decides; compared with a loop over all pairs."""
    generator = random.Random(0)  # noqa: S311
    vocabulary = [f"w{place:03d}" for place in range(300)]
    lines = [" ".join(generator.choices(vocabulary, k=14)) for _ in range(500)]
    own, other = lines[:400], lines[400:]
    for line in own[::4]:
        parts = line.split()
        for place in generator.sample(range(14), generator.randint(1, 4)):
            parts[place] += "x"
        other.append(" ".join(parts))
    rows, others = ([{"hyp": line, "src": "S"} for line in lines] for lines in (own, other))
    result = shared(Texts(rows), Texts(others), "other")
    expected = {
        place
        for (place, line), candidate in product(enumerate(own), other)
        if jaccard(line, candidate) >= 0.8
    }
    assert 10 < len(expected) < 100
    assert {*result.near} == expected
    assert result.exact == {}


def test_items_of_other_splits_are_found_once_each(tmp_path):
    rows, train = votes(10), votes(4)
    for place, row in enumerate(train):
        row |= {"hyp": f"train {place}", "src": f"in {place}", "tgt": f"out {place}"}
    train[0] |= {key: rows[2][key] for key in ("hyp", "tgt")}  # another wording of the source
    train[1] |= {key: rows[5][key] for key in ("src", "tgt")}
    long = "The quick brown fox jumps over the lazy dog near the river bank every single morning"
    rows[8]["hyp"], train[2]["hyp"], train[2]["tgt"] = f"{long}.", f"{long}!", rows[8]["tgt"]
    train_file = write_json(tmp_path / "train.json", train)
    quality = checked(tmp_path / "gold.json", rows, against=[train_file, tmp_path / "gold.json"])
    expected = {"shared": 1, "shared-near": 1, "shared-input": 1, "shared-answer": 1}
    assert counts(quality) == expected
    (other,) = quality.files[0].shared  # never compared with itself
    assert (other.exact, other.near, other.inputs) == ({2: 0}, {8: 2}, {5: 1})
    again = write_json(tmp_path / "old" / "train.json", train)
    quality = checked(tmp_path / "gold.json", rows, against=[train_file, again])
    assert [other.file for other in quality.files[0].shared] == [str(train_file), str(again)]


def renamed(rows, word):
    """Return rows with other texts."""
    return [{**row, **{key: f"{word} {row[key]}" for key in ("hyp", "src", "tgt")}} for row in rows]


def test_the_files_of_a_folder_are_compared_with_each_other(tmp_path):
    test, val, aware = votes(12), renamed(votes(12), "val"), renamed(votes(12), "aware")
    val[3] |= {key: test[5][key] for key in ("hyp", "src", "tgt")}  # another label
    val[4] |= {key: test[6][key] for key in ("hyp", "src", "tgt", "label", P, "labels")}
    val[7] |= {key: test[8][key] for key in ("src", "tgt")}
    aware[9] |= {key: test[2][key] for key in ("hyp", "src", "tgt", "label", P, "labels")}
    aware[10] |= {key: test[1][key] for key in ("src", "tgt")}  # as tracks of a split may
    for name, rows in (
        ("test.model-agnostic", test),
        ("test.model-aware", aware),
        ("val.model-agnostic", val),
        ("val.model-agnostic.v2", votes(12)),  # a version of the same gold
    ):
        write_json(tmp_path / f"{name}.json", rows)
    found = gold_quality(tmp_path, intervals=FEW)
    by_file = {file.file: counts(found, place) for place, file in enumerate(found.files)}
    expected = {"shared": 2, "shared-input": 1, "shared-answer": 1}
    assert by_file["val.model-agnostic.json"] == expected
    # The second version of val has the items of test.
    assert by_file["test.model-aware.json"] == {"shared": 1, "shared-input": 1}
    first = by_file["test.model-agnostic.json"]
    assert first["shared-answer"] == 1
    assert first["shared"] == 12  # in the second version of val
    assert found.errors == 0
    # One file alone has nothing to be compared with.
    assert counts(gold_quality(tmp_path / "test.model-aware.json", intervals=FEW)) == {}


@pytest.mark.parametrize("word", ["hyp", "Either", "target", 3])
def test_a_wrong_ref_is_reported_wherever_gold_is_read(tmp_path, shroom, word):
    rows = votes(12)
    rows[4]["ref"] = word
    g = write_json(tmp_path / "gold" / "val.model-agnostic.json", rows)
    assert counts(gold_quality(g, intervals=FEW)) == {"ref-value": 1}
    expected = 'ref: expected "src", "tgt" or "either"'
    for verb in (["score", g, g, "--no-ci"], ["check", g, "--gold", g]):
        code, _, err = shroom(*verb)
        assert (code, f"item 4 (id 5): {expected}" in err) == (0, True)
    _, _, err = shroom("bundle", "--gold", g.parent, "--no-predictions", "-o", tmp_path / "bundle")
    assert expected in err or "[ref-value]" in err


def test_both_is_understood_as_either(tmp_path, shroom):
    rows = votes(12)
    either = write_json(tmp_path / "either.json", rows)
    both = [{**row, "ref": "both" if row["ref"] == "either" else row["ref"]} for row in rows]
    g = write_json(tmp_path / "g.json", both)
    assert counts(gold_quality(g, intervals=FEW)) == {}
    p = write_json(tmp_path / "p.json", [{k: row[k] for k in ("id", "label", P)} for row in rows])
    assert shroom("score", p, g)[1:] == shroom("score", p, either)[1:]
    for data in (either, g):
        assert shroom("predict", "lexical", data, "-o", tmp_path / f"{data.stem}.out.json")[0] == 0
    first, second = (tmp_path / f"{name}.out.json" for name in ("either", "g"))
    assert first.read_text() == second.read_text()


def test_without_datasketch_near_duplicates_are_not_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "can_look_for_near", lambda: False)
    quality = checked(tmp_path / "gold.json", votes(), against=[SAMPLE])
    assert [other.near for other in quality.files[0].shared] == [None, None]
    text = quality.render("text")
    assert (
        "the search for near-duplicates was skipped, because datasketch is missing: run pip install"
        in text
    )


def test_labels_get_the_texts_of_their_data_and_predictions_are_left_out(tmp_path):
    splits = [f"{track}_{split}" for track, split in product(("hi", "ml"), ("test", "train2"))]
    keys = ("index", "is_wrong", "is_odd")
    for name in splits:
        rows = answers(6, name)
        rows = [row | {key: f"{row[key]} {name}" for key in ("answer", "question")} for row in rows]
        labels = [{key: row[key] for key in keys} for row in reversed(rows)]
        data = [{key: row[key] for key in row if key not in keys[1:]} for row in rows]
        for kind, listed in (("label", labels), ("label_baseline", labels), ("data", data)):
            write_lines(tmp_path / f"{name}_{kind}.jsonl", listed)
    quality = gold_quality(tmp_path, edition=ASPECTS, intervals=FEW)
    found = [(file.file, file.n) for file in quality.files]
    assert found == [(f"{name}_label.jsonl", 6) for name in splits]
    assert quality.left_out.count("file-ignored") == 4
    assert all(not file.findings for file in quality.files)


def test_people_who_do_not_read_are_named_and_places_are_not(tmp_path):
    rows, generator = votes(200), np.random.default_rng(0)
    for row in rows:
        row["labels"] = {f"p{place}": vote for place, vote in enumerate(row["labels"])}
        row["labels"]["coin"] = H if generator.random() < 0.5 else N
        row["labels"]["lazy"] = H
        share = np.mean([vote == H for vote in row["labels"].values()])
        row |= {P: share, "label": H if share > 0.5 else N}
    named = checked(tmp_path / "named.json", rows)
    people = {finding.code: finding.places for finding in named.files[0].findings}
    assert people == {"annotator-constant": ("lazy",), "annotator-random": ("coin",)}
    for row in rows:
        row["labels"] = list(row["labels"].values())
    places = checked(tmp_path / "places.json", rows)
    assert counts(places) == {}
    assert places.files[0].annotators[0].name == "position 1"


def test_a_split_says_how_large_a_difference_it_can_show(tmp_path):
    quality = checked(tmp_path / "gold.json", votes(60))
    accuracy, rho = quality.files[0].detectable
    shares = np.array([row[P] for row in votes(60)])
    differ = np.mean(2 * shares * (1 - shares) * 5 / 4)
    assert accuracy.differ == pytest.approx(differ)
    assert accuracy.difference == pytest.approx(2.8016 * np.sqrt(differ / 60), rel=1e-4)
    assert 0 < rho.difference < 1
    for make, edition in KINDS.values():
        other = checked(tmp_path / "other.json", make(60), edition)
        assert any(one.difference for one in other.files[0].detectable)


@pytest.mark.parametrize(
    ("values", "found", "known"),
    [
        ({P: None}, "30 items whose p(Hallucination) is not a number in [0, 1]; got null", [1, 0]),
        ({"label": None, "labels": None}, '"Not Hallucination"; got null', [0]),
        ({"labels": [H]}, "", [0, 0]),
        ({"labels": [H, H]}, "", [0, 0]),
    ],
)
def test_a_difference_without_votes_that_differ_is_unknown(tmp_path, values, found, known):
    quality = checked(tmp_path / "gold.json", [{**row, **values} for row in votes()])
    assert [one.difference is not None for one in quality.files[0].detectable] == known
    assert found in quality.render("text")
    assert "- an unknown detectable difference (–) needs votes" in quality.render("text")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_rows_of_any_values_are_checked_or_refused(tmp_path_factory, kind, data):
    make, edition = KINDS[kind]
    rows = make(4)
    words = st.text(max_size=3) | st.sampled_from([H, "y", "n", "|", "invention"])
    leaf = st.none() | st.booleans() | st.integers(-2, 1 << 40) | st.floats() | words
    value = st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["start", "end", "prob", "label", "a"]), inner)
        ),
        max_leaves=6,
    )
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.sampled_from(sorted(row)))] = data.draw(value)
    path = write_json(tmp_path_factory.mktemp("any") / "gold.json", copy.deepcopy(rows))
    try:
        quality = gold_quality(path, edition=edition, intervals=FEW)
    except (InvalidInput, ShroomError):
        return
    json.dumps(quality.to_dict(), allow_nan=False)
    quality.render("text")


def test_the_page_is_whole_and_names_are_only_text(tmp_path):
    rows, hostile = votes(), "<script>alert(1)</script>"
    for row in rows:
        row["id"] = f"{hostile}{row['id']}"
        row["labels"] = dict(zip((hostile, "b", "c"), row["labels"]))
    rows[3]["id"] = rows[2]["id"]
    page = checked(tmp_path / f"gold{'<b>'}.json", rows, against=[SAMPLE]).render("html")
    outline = assert_good(page)
    assert hostile in outline.text
    assert page.index("Correct the gold") < page.index("<table")


def test_the_edition_beside_the_gold_is_followed_and_named(tmp_path, shroom):
    keys = {"hyp": "answer", "src": "question"}
    rows = [{keys.get(key, key): value for key, value in row.items()} for row in votes()]
    path = write_json(tmp_path / "dev.json", rows)
    assert shroom("gold", "check", path)[:2] == (1, "")
    (tmp_path / "edition.toml").write_text(
        'name = "own"\ntitle = "Own"\nyear = 2027\nsplits = [{name = "dev"}]\n'
        'item.keys = {hyp = "answer", src = "question"}\nfiles.predictions = "{split}.json"\n'
    )
    code, out, err = shroom("gold", "check", path)
    assert (code, "dev.json: own, binary, 30 items" in out) == (0, True)
    assert err == f"note: using the edition own ({tmp_path / 'edition.toml'})\n"
    write_json(tmp_path / "eval.json", [{"answer": "A.", "question": "B."}])
    expected = "eval.json: own, not annotated, 1 item\n  no problem found\n"
    assert expected in shroom("gold", "check", tmp_path)[1]
    _, _, err = shroom("gold", "check", tmp_path / "edition.toml")
    assert "expected the folder or file with the items, got an edition [no-file]" in err


@pytest.mark.parametrize(
    ("content", "expected"),
    {
        "": "[empty]",
        "[]": "[empty]",
        '[{"a": 1}]': "[key-missing]",
        '[{"hyp": "A.", "src": "B."}]': 'labels), so there is nothing to check; got keys ["hyp"',
        "[1, 2]": "",
    }.items(),
)
def test_what_is_not_gold_is_refused(tmp_path, refused, content, expected):
    path = tmp_path / "gold.json"
    path.write_text(content)
    assert expected in refused("gold", "check", path)
    refused("gold", "check", path, "--html", path)
    assert path.read_text() == content


def test_the_page_of_the_documentation_has_every_check():
    page = (ROOT / "docs" / "gold.md").read_text(encoding="utf-8")
    listed = re.search(r"\*\*Errors\*\*(.*)\*\*Warnings\*\*(.*?)\n\n[A-Z]", page, re.DOTALL)
    for severity, text in zip(("error", "warning"), listed.groups()):
        codes = {code for code, check in CHECKS.items() if check.severity == severity}
        assert {code for code in re.findall(r"`([\w-]+)`", text) if code in CHECKS} == codes


@pytest.mark.real
def test_figures_of_the_documentation_are_those_of_the_data(monkeypatch):
    monkeypatch.setattr(module, "can_look_for_near", lambda: False)  # which takes seconds
    keys = {"id": "index", "hyp": "output_text", "src": "question"}
    aspects = (Aspect("has_factual_mistakes", "factual"), Aspect("has_fluency_mistakes", "fluency"))
    edition = replace(ASPECTS, item=Item("string", keys), annotation=Annotation("aspects", aspects))
    quality = gold_quality(DATA / "cap2025/hi_train2_label.jsonl", edition=edition, intervals=FEW)
    assert counts(quality) == {"one-class": 160}
    quality = gold_quality(DATA / "cap2025", edition=edition, intervals=FEW)
    (test,) = (file for file in quality.files if file.file == "hi_test_data.jsonl.gz")
    assert (test.findings[0].count, test.annotated) == (79, False)
    semeval = DATA / "semeval2024"
    quality = gold_quality(
        semeval / "val.model-agnostic.json", against=[semeval / "trial-v1.json"], intervals=FEW
    )
    assert counts(quality) == {"item-doubled": 1, "shared": 16, "shared-answer": 11}
