"""Describing data sets: the figures of the real files, and what small and hostile ones give."""

import csv
import functools
import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import test_ragtruth as ragtruth
from conftest import DATA, ROOT, felm_row, write_json
from hypothesis import assume, given
from hypothesis import strategies as st
from test_any_row import ROWS
from test_dreamcatcher import LABELLED, save
from test_halueval import QUESTION

from shroom.core.paths import shown_path
from shroom.datasets.description import describe
from shroom.datasets.registry import DATA_SETS, data_set
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.span_metrics import CharacterVotes, Spans
from shroom.scoring.annotator_agreement import agreement

EXAMPLES = ROOT / "docs" / "examples" / "worked-citations.jsonl"
H, N = "Hallucination", "Not Hallucination"

SEGMENTED = felm_row(0)
MARKED = {
    "id": "val-en-1", "lang": "EN", "model_input": "Who?", "model_output_text": "Ann Lee and Bo",
    "soft_labels": [{"start": 0, "end": 3, "prob": 1.0}, {"start": 3, "end": 7, "prob": 0.5}],
    "hard_labels": [[0, 3]], "annotations": {"a": [[0, 3]], "b": [[0, 7]]}, "model_id": "made/up",
    "model_output_tokens": ["Ann"], "model_output_logits": [0.5], "wikipedia_url": "",
}  # fmt: skip
VOTED = {
    "hyp": "a cat", "src": "a hat", "tgt": "", "ref": "src", "task": "PG", "model": "",
    "labels": [H, H, N], "label": H, "p(Hallucination)": 2 / 3,
}  # fmt: skip
CSV_ROWS = """\
conv_index,model_type,decoding,context,knowledge,response,\
Avg Factual Correctness,Hallucination,Verifiable
1,GPT2-small,DBS,A: Hi <br>,Soup is hot.,It is hot.,1.0,No,y
1,GPT2-large,DBS,A: Hi <br>,Soup is hot.,It is hot.,0.5,Yes,y
2,GPT2-small,nucleus,A: Ho <br>,Soup is hot.,"It is
cold.",,,n
"""


@pytest.fixture
def described(in_json):
    """Describe a data set; return what is printed as JSON."""
    return functools.partial(in_json, "datasets", "describe")


def row_of(rows, **keys):
    (found,) = [row for row in rows if all(row[key] == said for key, said in keys.items())]
    return found


# the real files: each figure by the command that the documentation shows


@pytest.fixture
def real(shroom, described={}):  # noqa: B006 - what is described once serves all tests
    """Describe all files of a data set; return what is printed, as JSON and as warnings."""

    def describe(name):
        if name not in described:
            folder = DATA / ("verifiability/queries" if name == "queries" else name)
            given = ("datasets", "describe", name, folder, "--no-ci", "--all")
            described[name] = shroom(*given, "--format", "json")
        code, out, err = described[name]
        assert code == 0, err
        return json.loads(out), [line for line in err.splitlines() if line.startswith("warning:")]

    return describe


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "rows", "warnings"),
    [
        ("semeval2024", 66081, 1), ("mushroom2025", 1099, 171), ("felm", 847, 9),
        ("verifiability", 844, 3), ("factual_consistency", 4515, 110), ("dreamcatcher", 502, 0),
        ("queries", 2100, 6),
    ],
)  # fmt: skip
def test_every_row_of_every_file_is_a_record_or_reported(name, rows, warnings, real):
    found, told = real(name)
    assert found["dataset"] == name
    for file in found["files"]:  # without any reader of the kit
        path = Path(file["file"])
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        if path.suffix == ".csv":
            read = len(list(csv.DictReader(io.StringIO(text, newline=""))))
        elif path.suffix == ".jsonl":
            read = sum(bool(line.strip()) for line in text.split("\n"))
        else:
            read = len(json.loads(text))
        assert file["rows"] == file["records"] + file["dropped"] == read
    assert (found["rows"], found["records"], found["dropped"]) == (rows, rows, 0)
    assert len(told) == len(set(told)) == len(found["warnings"]) == warnings
    assert sum(found["warning_counts"].values()) == warnings
    assert told == [f"warning: {line}" for line in found["warnings"]]


@pytest.mark.real
def test_the_figures_of_felm(described):
    found = described("felm", DATA / "felm" / "all.jsonl")
    page = (ROOT / "docs" / "felm.md").read_text(encoding="utf-8").splitlines()
    for row in found["tables"]["domain"][:-1]:
        (line,) = (line for line in page if line.startswith(f"| `{row['domain']}`"))
        keys = ("responses", "segments", "factual", "wrong", "wrong_responses")
        assert line.endswith(f"| {' | '.join(str(row[key]) for key in keys)} |")
    assert found["labels"]["segments"] == {"factual": 3639, "wrong": 787}
    assert row_of(found["tables"]["domain"], domain="all")["wrong_share"] == 787 / 4426


@pytest.mark.real
def test_the_figures_of_factual_consistency(described):
    found = described("factual_consistency", DATA / "factual_consistency")
    tables = found["tables"]
    usual = {"dpr": 0.6584, "gt": 0.8295, "knn": 0.7346, "factual_dataset_expert": 0.6995}
    for file, mean in usual.items():
        row, in_range = (
            row_of(tables["file"], file=f"{file}.csv"),
            0.6970 if "expert" in file else mean,
        )
        assert row["mean_correctness_as_given"] == pytest.approx(mean, abs=5e-5)
        assert row["mean_correctness"] == pytest.approx(in_range, abs=5e-5)
        low, high = row["mean_correctness_ci"]
        assert low < row["mean_correctness"] < high
    keys = ("file", "rows", "hallucinated", "verifiable")
    assert {tuple(row[key] for key in keys) for row in tables["file"]} == {
        ("dpr.csv", 1193, 146, 483), ("gt.csv", 1199, 105, 780), ("knn.csv", 1197, 143, 606),
        ("factual_dataset_expert.csv", 926, 200, 584),
    }  # fmt: skip
    for file, table, value, *shown in (
        ("gt.csv", "decoding", "nucleus", 0.8559, 27),
        ("dpr.csv", "model_type", "GPT2-small", 0.6208, 41),
    ):
        one = row_of(tables[table], **{"file": file, table: value})
        assert [round(one["mean_correctness"], 4), one["hallucinated"]] == shown
    assert len(tables["model_type_decoding"]) == 37
    assert {"file", "model_type", "decoding"} < tables["model_type_decoding"][0].keys()


@pytest.mark.real
def test_what_the_splits_of_semeval2024_have(real):
    found, _ = real("semeval2024")
    files = {row["file"]: row for row in found["tables"]["file"]}
    keys = ("items", "labelled", "with_id", "with_ref")
    tests = ("agnostic", "aware.fixed-crlf", "aware")
    assert {file: tuple(row[key] for key in keys) for file, row in files.items()} == {
        **{f"test.model-{it}.json": (1500, 0, 1500, 0) for it in tests},
        **{f"train.model-{it}.json.gz": (30000, 0, 0, 30000) for it in ("agnostic", "aware")},
        "trial-v1.json": (80, 80, 0, 80),
        "val.model-agnostic.json": (499, 499, 0, 499),
        **{f"val.model-aware.v{it}.json": (501, 501, 0, 501) for it in (1, 2)},
    }
    for row in found["tables"]["task"]:
        if "aware" in row["file"] and row["task"] == "PG":
            assert row["without_tgt"] == row["items"] > 0
    assert found["labels"]["label"] == {"none": 64500, N: 909, H: 672}


#: IoU and rho of marking everything and nothing, to six digits; alpha on characters, to three.
FLOORS = {
    "ar-val.v2": (0.335404, 0.0, 0.0, 0.0, 0.553),
    "de-tst.v1": (0.345082, 0.013333, 0.026667, 0.013333, 0.496),
    "de-val.v2": (0.393848, 0.02, 0.08, 0.02, 0.338),
    "en-val.v2": (0.288734, 0.0, 0.04, 0.0, 0.224),
    "es-val.v2": (0.138857, 0.04, 0.16, 0.04, 0.293),
    "fi-tst.v1": (0.4857, 0.0, 0.0, 0.0, 0.529),
    "fi-val.v2": (0.424786, 0.0, 0.0, 0.0, 0.475),
    "fr-tst.v1": (0.454341, 0.0, 0.0, 0.0, 0.671),
    "fr-val.v2": (0.36957, 0.0, 0.0, 0.0, 0.418),
    "hi-tst.v1": (0.271096, 0.0, 0.0, 0.0, 0.678),
    "hi-val.v2": (0.281651, 0.0, 0.04, 0.0, 0.322),
    "it-val.v2": (0.354375, 0.0, 0.0, 0.0, 0.597),
    "sv-val.v2": (0.532906, 0.0, 0.040816, 0.0, 0.369),
    "zh-val.v2": (0.460416, 0.0, 0.06, 0.0, 0.194),
}


@pytest.mark.real
def test_the_figures_of_mushroom2025(real):
    found, _ = real("mushroom2025")
    told = {}
    for row in found["tables"]["file"]:
        alpha = row_of(found["agreement"], file=row["file"])["krippendorff_alpha"]
        floors = ("everything", "nothing")
        keys = [f"flag_{floor}_{metric}" for floor in floors for metric in ("iou", "rho")]
        key = row["file"].removeprefix("mushroom.").removesuffix(".extra.jsonl")
        told[key] = (*(round(row[name], 6) for name in keys), round(alpha, 3))
        assert row["lang"].lower() == key[:2]
    assert told == FLOORS
    assert found["labels"]["answers"] == {"something marked": 1074, "nothing marked": 25}


@pytest.fixture
def small(tmp_path):
    """One small file of each data set."""
    gt = tmp_path / "gt.csv"
    gt.write_text(CSV_ROWS, encoding="utf-8")
    return {
        "semeval2024": write_json(tmp_path / "semeval.json", [VOTED, {**VOTED, "labels": [N, N]}]),
        "mushroom2025": save(tmp_path / "mushroom.jsonl", MARKED),
        "felm": save(tmp_path / "felm.jsonl", SEGMENTED),
        "verifiability": EXAMPLES,
        "factual_consistency": gt,
        "dreamcatcher": save(tmp_path / "dreamcatcher.jsonl", LABELLED),
        "ragtruth": ragtruth.write(tmp_path / "ragtruth", [ROWS["ragtruth"]], [ragtruth.source(0)]),
        "halueval": save(tmp_path / "halueval.jsonl", QUESTION),
        "queries": save(tmp_path / "queries.jsonl", {"query": "Should museums be free?"}),
    }


@pytest.mark.parametrize("name", DATA_SETS)
def test_json_has_the_same_keys_for_all_and_text_has_every_figure(name, small, done, described):
    found = described(name, small[name])
    keys = "verdict dataset files rows records dropped labels lengths agreement"
    assert " ".join([*found][:9]) == keys
    assert {"tables", "notes", "warnings", "warning_counts"} < found.keys()
    assert found["rows"] == found["records"] > 0
    assert described(name, small[name], "--no-ci").keys() == found.keys() - {"intervals"}
    out = done("datasets", "describe", name, small[name])
    assert out.splitlines()[0] == found["verdict"]
    assert "nan" not in out.lower().split()
    shown = out.replace(",", "").split()
    for rows in [*found["tables"].values(), found["lengths"], found["agreement"] or []]:
        assert all(row.keys() == rows[0].keys() for row in rows)
        for key, value in [pair for row in rows for pair in row.items()]:
            assert key.endswith("_ci") or all(word in out for word in key.split("_")), key
            if isinstance(value, (int, float)):
                assert (f"{value:.3f}" if isinstance(value, float) else str(value)) in shown, key
    assert all(len(line) <= 100 for line in out.splitlines() if line.startswith("---"))


def test_a_row_that_cannot_be_used_is_counted_and_told(tmp_path, shroom, refused):
    rows = [{**SEGMENTED, "index": str(number)} for number in range(30)]
    for row in rows[5:]:
        row["labels"] = [True]
    one, two = save(tmp_path / "one.jsonl", *rows[:10]), save(tmp_path / "two.jsonl", *rows[10:])
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.write(one, "a/one.jsonl")
        archive.write(two, "b/two.jsonl")
    for paths in ([one, two], [tmp_path / "both.zip"]):
        line = ("datasets", "describe", "felm", *paths, "--format", "json")
        code, out, err = shroom(*line, "--all")
        assert code == 0
        found = json.loads(out)
        keys, counted = ("rows", "records", "dropped"), [*found["files"], found]
        told = [[it[key] for key in keys] for it in counted]
        assert told == [[10, 5, 5], [20, 0, 20], [30, 5, 25]]
        assert found["warning_counts"]["row-value"] == 25
        assert err.count("[row-value]") == 26  # each of them, and how to fix it
    err = refused("datasets", "describe", "felm", two)
    assert "[row-value]" in err
    assert "expected a usable row, got none" in err


def test_alpha_of_semeval2024_is_that_of_shroom_agreement(described):
    path = ROOT / "shroom" / "sample" / "val.model-agnostic.json"
    found = described("semeval2024", path)
    (other,) = agreement(path, Intervals()).results
    for task, figures in {"all": other.whole, **other.by_task}.items():
        row, told = row_of(found["agreement"], task=task), figures.to_dict()
        assert {"krippendorff_alpha_ci", "fleiss_kappa", "unanimous_ci"} < row.keys() & told.keys()
        assert all(row[key] == told[key] for key in row.keys() & told.keys())


@pytest.mark.parametrize(("given", "named_as"), [*zip(DATA_SETS, [*DATA_SETS][1:])])
def test_a_file_of_another_data_set_is_told(given, named_as, small, refused):
    err = refused("datasets", "describe", named_as, small[given])
    assert f"is in the format of {given}, not of {named_as}" in err
    assert f"'shroom datasets describe {given} {shown_path(small[given])}'" in err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["fellm", "{small}"], 2, "no data set 'fellm'; did you mean 'felm'?"),
        (["fellm"], 2, "no data set 'fellm'; did you mean 'felm'?"),
        (["felm", "{tmp}/none.jsonl"], 2, "does not exist"),
        ([], 2, "Missing argument 'NAME'"),
        (["felm", "-", "-"], 2, "only one input can be stdin"),
        (["felm", "{small}", "-o", "{small}"], 1, "is an input"),
        (["felm", "{tmp}/empty"], 1, "[no-file]"),
    ],
)
def test_mistakes_are_told_in_sentences(arguments, code, sentence, tmp_path, small, refused):
    (tmp_path / "empty").mkdir()
    places = {"small": small["felm"], "tmp": tmp_path}
    before = small["felm"].read_bytes()
    words = (word.format(**places) for word in arguments)
    assert sentence in refused("datasets", "describe", *words, code=code)
    assert small["felm"].read_bytes() == before


def test_a_pipe_is_read_once_and_one_file_twice(small, tmp_path, described, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(small["felm"].read_bytes()), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)
    assert described("felm", "-")["tables"]["domain"][0]["segments"] == 2
    path = save(tmp_path / "q.jsonl", {"query": "Should museums be free?"}, {"query": None})
    found = described("queries", path, path)
    table = [(row["file"], row["queries"]) for row in found["tables"]["file"]]
    assert (table, found["rows"], found["dropped"]) == ([(str(path), 1)] * 2, 4, 2)
    # Absurd numbers stay out of the means.
    absurd = CSV_ROWS.replace(",1.0,", ",1e308,").replace(",0.5,", ",1.5e308,")
    small["factual_consistency"].write_text(absurd)
    found = described("factual_consistency", small["factual_consistency"])
    (row,) = found["tables"]["file"]
    assert (row["mean_correctness"], row["mean_correctness_as_given"]) == (None, None)


def test_unlabelled_files_have_no_shares(tmp_path, described, done):
    row = {key: MARKED[key] for key in ("lang", "model_input", "model_output_text")}
    found = described("mushroom2025", save(tmp_path / "train.jsonl", row))
    (row,) = found["tables"]["file"]
    assert (row["items"], row["labelled"], row["characters"]) == (1, 0, 0)
    assert (row["marked_share"], row["flag_everything_iou"]) == (None, None)
    assert found["agreement"] is None
    test = [{key: VOTED[key] for key in ("hyp", "src", "tgt", "task")}]
    found = described("semeval2024", write_json(tmp_path / "test.json", test))
    assert found["tables"]["file"][0]["hallucinated_share"] is None
    assert found["agreement"] is None
    assert "–" in done("datasets", "describe", "mushroom2025", tmp_path / "train.jsonl")


def test_intervals_of_many_items_are_normal():
    rows = [{**VOTED, "p(Hallucination)": number % 2} for number in range(5001)]
    found = describe("semeval2024", [rows], Intervals(50))
    low, high = found.contents.tables["file"].rows[0]["mean_p_ci"]
    assert low + high == pytest.approx(2 * 2500 / 5001)
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / 5001**0.5, rel=0.01)


def test_a_name_cannot_steer_the_terminal(tmp_path, shroom):
    path = save(tmp_path / "x.jsonl", {**SEGMENTED, "domain": "\x1b[31mwk"})
    code, out, err = shroom("datasets", "describe", "felm", path)
    assert code == 0
    assert "\x1b" not in out + err
    assert "\\u001b[31mwk" in out


@pytest.mark.parametrize("name", DATA_SETS)
@given(data=st.binary(max_size=60))
def test_any_bytes_whatever_end_in_a_sentence(name, data, tmp_path, shroom):
    ending = "csv" if name == "factual_consistency" else "jsonl"
    path = tmp_path / f"x.{ending}"
    path.write_bytes(data)
    code, out, err = shroom("datasets", "describe", name, path)
    assert (code, bool(out)) in ((0, True), (1, False))
    assert code == 0 or err
    assert "Traceback" not in err


MARKS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3)
TEXT = st.tuples(st.integers(0, 8), st.lists(MARKS, min_size=1, max_size=3))


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_votes_on_characters_are_those_of_each_one(texts):
    lengths = [length for length, _ in texts]
    most = max(len(marks) for _, marks in texts)
    sides = [
        Spans.of([marks[place] if place < len(marks) else [] for _, marks in texts], lengths)
        for place in range(most)
    ]
    found = CharacterVotes.of(sides, [len(marks) for _, marks in texts])
    votes = [
        [int(any(a <= character < b for a, b in spans)) for spans in marks]
        + [-1] * (most - len(marks))
        for length, marks in texts
        for character in range(length)
    ]
    assert found.size.sum() == len(votes)
    assume(votes)
    for figure in AGREEMENT.values():
        expected, (by_text, rows) = figure(np.array(votes, np.int8)), found.by_text(figure)
        expected, value = (np.nan if x is None else x for x in (expected, by_text(rows)))
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_intervals_draw_whole_texts():
    def votes_on(texts):
        # All disagreement is in every other text, so resamples differ in its amount.
        first = Spans.of([[(0, 4)], [(0, 9)]] * texts, [8, 9] * texts)
        second = Spans.of([[(0, 4)], []] * texts, [8, 9] * texts)
        return CharacterVotes.of([first, second], [2] * 2 * texts)

    def interval(votes, name):
        return estimates([votes.by_text(AGREEMENT[name])], Intervals(200))[1][name]

    for name in ("krippendorff_alpha", "pairwise_agreement"):
        low, high = interval(votes_on(6), name)
        assert high - low > 0.5  # of 12 texts; of 102 characters the second would be .19
    assert interval(votes_on(4), "pairwise_agreement") is None


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No data of any kind: an empty folder of real data, and an empty cache."""
    for name in ("SHROOM_DATA", "SHROOM_CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path / "SHROOM_DATA"


def test_without_a_path_it_is_the_folder_of_real_data_or_what_was_fetched(
    nowhere, tmp_path, monkeypatch, described
):
    path = save(tmp_path / "cache" / "felm" / "all.jsonl", SEGMENTED)
    fetched = "shroom.datasets.download.cached"
    monkeypatch.setattr(fetched, lambda name: tmp_path / "cache" / name)
    assert described("felm")["files"][0]["file"] == str(path)
    save(nowhere / "felm" / "all.jsonl", SEGMENTED)
    save(nowhere / "verifiability" / "queries" / "q.jsonl", {"query": "Should museums be free?"})
    assert described("felm")["files"][0]["file"] == str(nowhere / "felm" / "all.jsonl")
    assert described("queries")["rows"] == 1


def test_the_list_has_everything(nowhere, shroom):
    save(nowhere / "felm" / "all.jsonl", SEGMENTED)
    lines = [line.split()[:2] for line in shroom("list", "datasets")[1].splitlines()]
    assert lines == [[name, "here" if name == "felm" else "absent"] for name in DATA_SETS]
    for name in DATA_SETS:
        _, text, _ = shroom("list", "datasets", name)
        assert all(f"{view}: " in text for view in data_set(name).views)
        assert (f"shroom datasets fetch {name}" in text) is (name != "felm")


def test_tables_fit_into_100_columns_whatever_names_are_in_them(tmp_path, done):
    records = [{**MARKED, "lang": "EN"}, {**MARKED, "id": "val-en-2", "model_output_text": "Bo"}]
    folder = tmp_path / ("f" * 90)
    first = save(folder / f"a{'b' * 120}c.jsonl", *records)
    second = save(folder / f"a{'b' * 120}d.jsonl", {**records[0], "id": "val-en-3"})
    lines = done("datasets", "describe", "mushroom2025", first, second).splitlines()
    assert max(map(len, lines[1:])) <= 100
    for end in ("bc.jsonl", "bd.jsonl"):
        assert any(line.startswith("ab") and end in line for line in lines)
