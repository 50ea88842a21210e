"""Slices by length, script and language: where the cuts are, and that both paths agree."""

import importlib
import json
import unicodedata

import numpy as np
import pytest
from conftest import DATA, SAMPLE, gold, predictions, write_json
from hypothesis import example, given
from hypothesis import strategies as st

from shroom.core import json_reading
from shroom.core.problems import Problems, UnknownName
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho
from shroom.metrics.intervals import Intervals
from shroom.scoring import fast_reader
from shroom.scoring.explaining_reader import tabulate
from shroom.scoring.scores import score
from shroom.scoring.slices import MORE_SLICES, SLICES, group_of, script_of, thirds
from shroom.scoring.table import Role

check_module = importlib.import_module("shroom.scoring.check")
NO_CI = Intervals(0)


def table(rows, *, texts=True, path="fast"):
    data = json.dumps(rows).encode()
    if path == "fast":
        return fast_reader.table(data, Role.GOLD, "g.json", texts=texts)
    return tabulate(json_reading.items(data, "g.json", Problems()), Role.GOLD, "g.json", Problems())


def words_of(group):
    return [group.words[place] for place in group.place.tolist()]


def with_texts(hyps=None, srcs=None, **more):
    """Return gold rows with these texts; ``None`` leaves the key out."""
    rows = gold(len(hyps or srcs))
    for i, row in enumerate(rows):
        for key, values in (("hyp", hyps), ("src", srcs), *more.items()):
            if values is not None:
                row.pop(key, None)
                if values[i] is not None:
                    row[key] = values[i]
    return rows


# Thirds


def nearest_cuts(values):
    """Return the bins by brute force: of all cuts between values, those nearest to thirds."""
    below = {cut: sum(value <= cut for value in values) for cut in sorted(set(values))[:-1]}
    cuts = set()
    for share in (1, 2):
        cuts |= {min(below, key=lambda cut: abs(3 * below[cut] - share * len(values)), default=99)}
    return [sum(value > cut for cut in cuts) for value in values]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
@example([5])
@example([5, 5, 5])
@example([1, 5, 5, 5, 5])
@example([1, 1, 1, 1, 5])
def test_thirds_are_the_nearest_cuts(values):
    found = thirds(values).tolist()
    assert found == nearest_cuts(values)
    assert set(found) == set(range(max(found) + 1))
    assert len({(value, place) for value, place in zip(values, found)}) == len(set(values))


# Length


@pytest.mark.parametrize("path", ["fast", "slow"])
@pytest.mark.parametrize(
    ("hyps", "expected"),
    [
        (["", "", ""], ["0 characters"]),
        (["x"], ["1 character"]),
        (["", "x"], ["0 characters", "1 character"]),
        (["é", "日本", "👩\u200d👩"], ["1 character", "2 characters", "3 characters"]),
        (["a" * 100_000, "a"], ["1 character", "100000 characters"]),
        (["xx", None, "x"], ["1 character", "2 characters", "none"]),
        ([" x ", "\u200b"], ["1 character", "3 characters"]),
        (["a" * n for n in (9, 1, 48, 2, 30, 8)], ["1–2 characters", "8–9 characters", "30–48 ch"]),
        (["a" * n for n in (7, 7, 7, 7, 7, 9)], ["7 characters", "9 characters"]),
    ],
)
def test_length_says_its_bounds(hyps, expected, path):
    group = group_of(table(with_texts(hyps), path=path), "length")
    assert len(group.words) == len(expected)
    assert all(word.startswith(start) for word, start in zip(group.words, expected))
    for word, hyp in zip(words_of(group), hyps):
        if hyp is not None:
            low, _, high = word.split()[0].partition("–")
            assert int(low) <= len(hyp) <= int(high or low)


# Script


SCRIPTS = {
    "none": ("", "1 + 1 = 2 !?", "😀 👩‍👩‍👧", "\ud800", "\ue000\uffff"),
    "Latin": ("word", "déjà", "ｗｏｒｄ", "𝐰𝐨𝐫𝐝", "1 º", "abв", "aб", "Toyota の", "ʼ ʼ ʼ a"),
    "Cyrillic": ("Слово", "aбв", "бa", "а" * 100_000 + "b" * 99_999),
    "Greek": ("λόγος", "Ω µ"),
    "Hebrew": ("שלום",),
    "Arabic": ("\u202eسلام\u202c", "ﷺ"),
    "Devanagari": ("हिन्दी",),
    "Thai": ("ไทย",),
    "Georgian": ("ქართული",),
    "Armenian": ("Հայերեն",),
    "Ethiopic": ("አማርኛ",),
    "Hangul": ("한국어",),
    "Han": ("汉语", "㐀 豈 𠀀 々"),
    "Japanese": ("日本語の本", "カタカナ", "ｶﾅー"),
    "Canadian Syllabics": ("ᐃᓄᒃ",),
    "Mongolian": ("ᠮᠣᠩᠭᠣᠯ",),
    "Old Italic": ("𐌀𐌁",),
    "Ol Chiki": ("ᱚᱛ",),
    "NKo": ("ߒߞߏ",),
}


@pytest.mark.parametrize(
    ("script", "text"), [(script, text) for script, texts in SCRIPTS.items() for text in texts]
)
def test_script_of(script, text):
    assert script_of(text) == script


@given(st.text(max_size=30))
def test_any_text_has_a_script(text):
    found = script_of(text)
    assert found
    assert found.isprintable()
    letters = [c for c in unicodedata.normalize("NFKC", text) if c.isalpha()]
    if not letters:
        assert found == "none"
    if text.isascii():
        assert found == ("Latin" if letters else "none")


def test_script_is_that_of_src():
    rows = with_texts(["hyp"] * 4, ["Слово", "", "word", None])
    assert words_of(group_of(table(rows), "script")) == ["Cyrillic", "none", "Latin", "none"]


# Language


@pytest.mark.parametrize("path", ["fast", "slow"])
def test_lang_prefers_that_of_the_source(path):
    rows = with_texts(["x"] * 4, lang=["de", "de", None, ""], src_lang=["fi", None, None, ""])
    assert words_of(group_of(table(rows, path=path), "lang")) == ["fi", "de", "none", "none"]


# Two paths


TEXT = st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["a", "aa", "Слово", "の本"]))


@given(st.lists(st.tuples(TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=8))
def test_both_paths_slice_alike(rows):
    hyps, srcs, langs, src_langs = zip(*rows)
    made = with_texts(hyps, srcs, lang=langs, src_lang=src_langs)
    quick = table(made)
    if quick is None:  # a lone surrogate
        return
    slow = table(made, path="slow")
    for key in (*SLICES, *MORE_SLICES):
        a, b = group_of(quick, key), group_of(slow, key)
        assert (a is None) == (b is None), key
        assert a is None or words_of(a) == words_of(b), key
        assert a is None or a.words == b.words, key


# Scores


@pytest.fixture
def files(tmp_path):
    rows = with_texts(
        ["x" * (1 + i % 5) for i in range(30)], ["Слово" if i % 3 else "word" for i in range(30)]
    )
    return write_json(tmp_path / "p.json", predictions(30)), write_json(tmp_path / "g.json", rows)


@pytest.mark.parametrize("path", ["fast", "slow"])
@pytest.mark.parametrize("ids", [False, True])
def test_slices_are_scores_of_the_items(tmp_path, monkeypatch, ids, path):
    n, first = 40, 100 if ids else None
    if path == "slow":
        monkeypatch.setattr(check_module, "fast", None)
    told, truth = predictions(n, first_id=first), gold(n, first_id=first)
    for i, row in enumerate(truth):
        row.update(hyp="x" * (i % 11), src="Слово" if i % 4 else "word", lang="ru")
    handed_in = told[::-1] if ids else told
    found = score(
        write_json(tmp_path / "p.json", handed_in),
        write_json(tmp_path / "g.json", truth),
        by=("length", "script", "lang"),
        intervals=Intervals(50),
    ).results[0]
    assert list(found.slices) == ["length", "script", "lang"]
    key = {"script": lambda row: "Cyrillic" if row["src"] == "Слово" else "Latin"}
    key["lang"] = lambda row: row["lang"]
    key["length"] = lambda row: next(
        word
        for word in found.slices["length"]
        if int(word.split("–")[0]) <= len(row["hyp"]) <= int(word.split("–")[1].split()[0])
    )
    for by, slices in found.slices.items():
        assert sum(part["n"] for part in slices.values()) == n
        for word, part in slices.items():
            rows = [i for i in range(n) if key[by](truth[i]) == word]
            assert part["n"] == len(rows)
            said, meant = ([side[i]["label"] for i in rows] for side in (told, truth))
            assert part["accuracy"] == accuracy(np.array(said), np.array(meant))
            x, y = ([side[i]["p(Hallucination)"] for i in rows] for side in (told, truth))
            assert part["rho"] == rho(np.array(x), np.array(y))
            assert part["accuracy_ci"][0] <= part["accuracy"] <= part["accuracy_ci"][1]


def bare(rows):
    keep = ("id", "label", "p(Hallucination)")
    return [{key: row[key] for key in keep if key in row} for row in rows]


@pytest.mark.parametrize("votes", [1, 2, 3, 5, 8, 10])
@pytest.mark.parametrize("digits", [2, 3, 16])
def test_shares_of_a_few_votes_slice_by_agreement(votes, digits):
    rows = gold(votes + 1)
    for count, row in enumerate(rows):
        row["p(Hallucination)"] = round(count / votes, digits)
    group = group_of(table(rows), "agreement")
    assert group is not None
    expected = {max(row["p(Hallucination)"], 1 - row["p(Hallucination)"]) for row in rows}
    assert {float(word) for word in group.words} == {round(share, 3) for share in expected}


def test_a_continuous_p_makes_no_slices_by_agreement(tmp_path):
    truth = gold(40)
    for place, row in enumerate(truth):
        p = (place * 17 % 40 + 0.37) / 40
        row["p(Hallucination)"] = p
        row["label"] = "Hallucination" if p > 0.5 else "Not Hallucination"
    files = write_json(tmp_path / "p.json", predictions(40)), write_json(tmp_path / "g.json", truth)
    usual = score(*files, intervals=NO_CI)
    assert set(usual.results[0].slices) == {"task", "ref"}
    assert usual.unsliced == []
    (sentence,) = score(*files, by=("task", "agreement"), intervals=NO_CI).unsliced
    assert sentence.endswith(
        "g.json: p(Hallucination) is not the share of up to 10 votes on every item, so there are "
        "no slices by agreement"
    )


@pytest.mark.parametrize("path", ["fast", "slow"])
def test_gold_without_texts_is_told(tmp_path, monkeypatch, path, shroom):
    if path == "slow":
        monkeypatch.setattr(check_module, "fast", None)
    a = write_json(tmp_path / "p.json", predictions(12))
    b = write_json(tmp_path / "g.json", bare(gold(12)))
    found = score(a, b, by=("length", "script", "lang", "ref"), intervals=NO_CI)
    assert found.results[0].slices == {}
    assert [sentence.partition(": ")[2] for sentence in found.unsliced] == [
        "no item has hyp, so there are no slices by length",
        "no item has src, so there are no slices by script",
        "no item has src_lang or lang, so there are no slices by lang",
        "no item has ref, so there are no slices by ref",
    ]
    assert found.to_dict()["warnings"] == found.unsliced
    code, out, err = shroom("score", a, b, "--by", "length,agreement", "--no-ci")
    assert code == 0
    assert "agreement" in out
    assert err == f"shroom: {b}: no item has hyp, so there are no slices by length\n"
    assert score(a, b, intervals=NO_CI).unsliced == []  # nobody has asked


def test_command_line(files, shroom):
    code, out, err = shroom("score", *files, "--by", "length,script")
    assert (code, err) == (0, "")
    assert "length 1–2 characters" in out
    assert "script Cyrillic" in out
    assert "task" not in out
    code, out, _ = shroom("score", *files, "--by", "length", "--format", "json")
    (track,) = json.loads(out, parse_constant=pytest.fail)["results"]
    assert set(track["slices"]) == {"length"}
    assert sum(part["n"] for part in track["slices"]["length"].values()) == 30
    code, out, err = shroom("score", *files, "--by", "size")
    assert (code, out) == (2, "")
    assert "length, script, lang" in err
    assert shroom("score", *files, "--by", "length", "--format", "codalab")[0] == 0


def test_slices_of_the_same_rows_are_computed_once(tmp_path, monkeypatch):
    rows = gold(24)
    for row in rows:
        row["model"], row["ref"] = f"model of {row['task']}", "src"
    a, b = (
        write_json(tmp_path / name, items)
        for name, items in (("p.json", predictions(24)), ("g.json", rows))
    )
    counted = []
    scoring = importlib.import_module("shroom.scoring.scores")
    estimates = scoring.estimates

    def counting(scored, how):
        counted.append(len(scored[0][1]))
        return estimates(scored, how)

    monkeypatch.setattr(scoring, "estimates", counting)
    (result,) = score(a, b, by=("task", "model", "ref"), intervals=Intervals(50)).results
    assert counted == [24, 6, 6, 6, 6, 24]
    tasks, models = result.slices["task"], result.slices["model"]
    assert tasks == {word: models[f"model of {word}"] for word in tasks}
    assert result.slices["ref"]["src"] == {"n": 24, **result.whole}
    alone = score(a, b, by=("model",), intervals=Intervals(50)).results[0]
    assert alone.slices["model"] == models


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "lengths", "scripts"),
    [
        (
            "val.model-agnostic.json",
            {"9–27 characters": 166, "28–38 characters": 162, "39–234 characters": 171},
            {"Cyrillic": 187, "Latin": 312},
        ),
        (
            "val.model-aware.v2.json",
            {"8–44 characters": 169, "45–81 characters": 163, "82–244 characters": 169},
            None,
        ),
    ],
)
def test_real_slices(name, lengths, scripts):
    path = DATA / "semeval2024" / name
    tables = [
        fast_reader.table(path.read_bytes(), Role.GOLD, name, texts=True),
        tabulate(json.loads(path.read_text("utf-8")), Role.GOLD, name, Problems()),
    ]
    for found in tables:
        for key, expected in (("length", lengths), ("script", scripts)):
            group = group_of(found, key)
            counts = np.bincount(group.place).tolist()
            assert sum(counts) == found.n
            assert expected is None or dict(zip(group.words, counts)) == expected


def test_one_key_and_one_metric_need_no_list():
    result = score(SAMPLE, SAMPLE, by="task", metrics="brier", intervals=NO_CI).results[0]
    assert list(result.slices) == ["task"]
    assert result.whole["brier"] is not None
    with pytest.raises(UnknownName, match="no key 'tasks' to slice by; there are task, model, ref"):
        score(SAMPLE, SAMPLE, by=["tasks"])
