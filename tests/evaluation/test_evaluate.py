"""``shroom evaluate``: detectors against data sets, with what is kept and what is refused."""

import json
import os
import re
import shutil
import sqlite3

import conftest
import numpy as np
import pytest
from conftest import DATA, ROOT, SAMPLE, gold, write_json, write_lines
from html_outline import assert_good

from shroom.core.datapoint import Label
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry
from shroom.detectors.base import Detector
from shroom.detectors.lexical import Lexical
from shroom.detectors.registry import REGISTRY
from shroom.evaluation.matrix.datasets import named, subjects
from shroom.evaluation.matrix.detectors import FILE, contenders
from shroom.evaluation.matrix.matrix import evaluate
from shroom.evaluation.matrix.results import HEADS
from shroom.inference import store as inference
from shroom.inference.compute import compute
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring import datapoint_files
from shroom.scoring.metric_registry import METRICS, metric

VAL = SAMPLE / "val.model-agnostic.json"
AWARE = SAMPLE / "val.model-aware.json"
FEW = ("--resamples", "60")


@pytest.fixture
def learnt(done, tmp_path):
    """Return a file of items, and a model that is fitted on them."""
    data, model = write_json(tmp_path / "learnt.json", gold(30)), tmp_path / "model.json"
    done("fit", "lexical", data, "-o", model, "--folds", "0")
    return data, model


def felm_row(index, labels):
    segments = [f"Segment {index}.{place} says {place} feet." for place in range(len(labels))]
    passage = f"Segment {index}.0 says 0 feet. The hill is 12 feet high."
    own = {"domain": "wk", "segmented_response": segments, "ref_contents": [passage]}
    return conftest.felm_row(index, labels, prompt=f"How high is the hill? {index}", **own)


@pytest.fixture
def felm(tmp_path):
    generator = np.random.default_rng(4)
    rows = [
        felm_row(index, (generator.random(1 + index % 4) < 0.7).tolist()) for index in range(25)
    ]
    return write_lines(tmp_path / "felm.jsonl", rows)


def stored(folder):
    """Return how many results a folder keeps."""
    return inference.Store(folder / FILE).n


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def matrix(shroom, runs):
    """Evaluate, and return the json and what was said."""

    def call(*args):
        code, out, err = shroom("evaluate", *args, "--format", "json", "--runs", runs, *FEW)
        assert code == 0, err
        return json.loads(out), err

    return call


class Constant(Detector):
    """A detector that is sure of nothing."""

    name, threshold = "constant", 0.5

    def __init__(self, value: float = 0.5, cut: str = "") -> None:
        self.value, self.cut = value, cut

    def p(self, datapoints, run):
        if self.cut:
            run.note(f"{len(datapoints)} texts were cut")
        return np.full(len(datapoints), self.value)


@pytest.fixture
def constant(monkeypatch, tmp_path):
    """Make the detector ``constant`` known, and return a function that writes recipes of it."""
    monkeypatch.setitem(REGISTRY, "constant", Entry("test_evaluate:Constant", "made up"))

    def recipe(name="steady", **settings):
        path = tmp_path / f"{name}.toml"
        settings = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        path.write_text(f'detector = "constant"\n{settings}')
        return path

    return recipe


def judged(points):
    """Return what the detector lexical says of datapoints, and their labels."""
    label = np.array([point.label is Label.HALLUCINATION for point in points])
    return np.round(Lexical().p(points), 6), label


def test_a_cell_is_what_the_metrics_say_of_what_the_detector_says(matrix):
    found, _ = matrix("lexical", "--on", VAL)
    points = datapoint_files.read(VAL)
    p, label = judged(points)
    columns = (p > 0.5, p, label, np.array([point.p for point in points]))
    (row,) = found["rows"]
    (cell,) = row["cells"]
    scored = [(metric(name), metric(name).statistics(*columns)) for name in HEADS]
    scores, intervals = estimates(scored, Intervals(60))
    for name in HEADS:
        assert (cell[name], cell[f"{name}_ci"]) == (scores[name], list(intervals[name]))
    assert cell["ms_per_item"] > 0
    assert row["threshold"] == {"value": 0.5, "source": "the detector's own"}
    assert HEADS.keys() <= METRICS.keys()


def test_units_are_responses_and_views_differ(matrix, felm):
    found, _ = matrix("lexical", "--on", f"felm={felm}", "--on", f"felm:prompt={felm}")
    n = sum(1 + index % 4 for index in range(25))
    shown = [(each["name"], each["units"], each["n"]) for each in found["datasets"]]
    assert shown == [("felm", 25, n), ("felm:prompt", 25, n)]
    one, other = found["rows"][0]["cells"]
    assert one["auroc"] != other["auroc"]


def test_several_paths_of_one_data_set_are_one(matrix, tmp_path):
    found, _ = matrix("lexical", "--on", VAL, "--on", f"semeval2024={AWARE}")
    (both,) = found["datasets"]
    assert both["n"] == 120
    found, _ = matrix("lexical", "--on", SAMPLE)
    assert found["datasets"][0]["content"] == both["content"]


def test_a_later_version_replaces_an_earlier_one(matrix, tmp_path, refused):
    for version in ("v1", "v2"):
        write_json(tmp_path / "data" / f"val.model-aware.{version}.json", gold(12))
    found, err = matrix("lexical", "--on", tmp_path / "data")
    assert found["datasets"][0]["n"] == 12
    assert "older versions are ignored: val.model-aware.v1.json" in err
    archive = shutil.make_archive(str(tmp_path / "data"), "zip", tmp_path / "data")
    assert "several versions" in refused("evaluate", "lexical", "--on", archive)


def test_half_is_not_hallucination_and_what_has_no_premise_is_left_out(matrix, tmp_path, done):
    half = {"p(Hallucination)": 0.5, "label": "Not Hallucination"}
    rows = [*gold(6), *({**row, **half} for row in gold(4)), gold(1)[0] | {"src": "", "tgt": " "}]
    data = write_json(tmp_path / "d.json", rows)
    (found,) = matrix("lexical", "--on", data)[0]["datasets"]
    assert (found["n"], found["without_premise"]) == (10, 1)
    assert found["hallucinations"] == sum(row["label"] == "Hallucination" for row in gold(6))
    out = " ".join(done("evaluate", "lexical", "--on", data).split())
    assert "left out: 1 item without a premise" in out


@pytest.mark.parametrize("labels", [[True] * 9, [False] * 9, [True], [False]])
def test_one_class_and_one_item_are_undefined_and_not_nan(in_json, done, tmp_path, labels):
    data = write_lines(tmp_path / "one.jsonl", [felm_row(0, labels)])
    given = ("evaluate", "lexical", "--on", f"felm={data}", "--runs", tmp_path / "runs")
    page = tmp_path / "page.html"
    out = done(*given, "--html", page)
    assert ("nan" in out.lower(), "undefined" in out) == (False, True)
    assert_good(page.read_text())
    (cell,) = in_json(*given)["rows"][0]["cells"]
    assert cell["accuracy"] is not None
    assert cell["balanced_accuracy"] is cell["auroc"] is cell["rho"] is None


def test_what_was_seen_in_training_is_marked_everywhere(done, in_json, tmp_path, runs, learnt):
    (one, model), page = learnt, tmp_path / "page.html"
    rows = [{**row, "hyp": f"other {row['hyp']}"} for row in gold(30)]
    other = write_json(tmp_path / "other.json", rows)
    given = ("evaluate", f"lexical={model}", "lexical", "--runs", runs, *FEW)
    both = (*given, "--on", f"semeval2024={other}", "--on", f"semeval2024={one}")
    for where in (both, (*given, "--on", one)):
        out = " ".join(done(*where, "--html", page).split())
        assert "* in-sample: the detector was fitted on 30 of these" in out
        assert "lexical=model.json*" in out
        assert "not ranked because of in-sample scores: lexical=model.json" in out
        assert "lexical*" not in out
        assert "<bdi>lexical=model.json*</bdi>" in page.read_text()
        assert "* in-sample" in page.read_text()
        rows = in_json(*where)["rows"]
        assert [row["cells"][0]["in_sample"] for row in rows] == [30, 0]
    out = done(*given, "--on", other, "--html", page)
    assert "in-sample" not in out + page.read_text()


@pytest.mark.real
def test_the_shipped_models_answer_out_of_fold_for_what_they_have_learnt():
    paths = DATA / "semeval2024" / "val.model-aware.v2.json", DATA / "felm"
    seen, not_seen = (subject.datapoints for subject in subjects([*map(str, paths)]))
    for contender in contenders(["lexical", "cross-encoder"]):
        assert contender.detector.out_of_fold_items(seen).all()
        assert contender.in_sample(seen) == 0
        assert not contender.detector.training_items.contain(not_seen).any()


def scored_at(limit, measure, p, label):
    return metric(measure)(metric(measure).statistics(p > limit, p, label, label))


def test_a_threshold_is_the_best_of_another_split(matrix):
    found, measure = matrix("lexical", "--on", VAL, "--tune-on", AWARE)[0], "balanced_accuracy"
    points = datapoint_files.read(AWARE)
    scored = {point.hyp for point in datapoint_files.read(VAL)}
    points = [point for point in points if point.hyp not in scored]
    p, label = judged(points)
    threshold = found["rows"][0]["threshold"]
    assert scored_at(threshold["value"], measure, p, label) == max(
        scored_at(limit, measure, p, label) for limit in [0, *p.tolist()]
    )
    assert threshold["source"].startswith("tuned for balanced accuracy on semeval2024")
    assert found["tuned_on"]["n"] == len(points)
    own, _ = matrix("lexical", "--on", VAL)
    assert own["rows"][0]["cells"][0]["auroc"] == found["rows"][0]["cells"][0]["auroc"]


@pytest.mark.parametrize("disguise", ["itself", "copy", "zip", "folder", "other view"])
def test_thresholds_are_never_tuned_on_what_is_scored(refused, tmp_path, felm, runs, disguise):
    place = tmp_path / "elsewhere"
    place.mkdir()
    shutil.copy(felm, place / "copy.jsonl")
    zipped = shutil.make_archive(str(tmp_path / "z"), "zip", place)
    named = {"itself": felm, "copy": place / "copy.jsonl", "zip": zipped, "folder": place}
    tuned = f"felm={named[disguise]}" if disguise in named else f"felm:prompt={felm}"
    given = ("evaluate", "lexical", "--on", f"felm={felm}", "--tune-on", tuned)
    assert "items are also scored; choose another" in refused(*given, "--runs", runs)


def test_items_that_are_also_scored_are_left_out_of_the_tuning(done, refused, tmp_path, runs):
    rows = [{**row, "hyp": f"new {row['hyp']}"} for row in gold(20)]
    given = {"data": gold(20), "more": [*gold(20), *rows], "shuffled": gold(20)[::-1]}
    data, more, shuffled = (write_json(tmp_path / f"{it}.json", given[it]) for it in given)
    given = ("evaluate", "lexical", "--on", data, "--runs", runs, *FEW, "--tune-on")
    left_out = "left out of tuning: 20 items, because scored items are not used for tuning"
    assert left_out in done(*given, more)
    assert "20 of 20 items are also scored" in refused(*given, shuffled)


def test_tuning_on_what_a_detector_has_learnt_is_said(done, runs, learnt):
    data, model = learnt
    given = ("evaluate", f"lexical={model}", "--on", VAL, "--tune-on", data, "--runs", runs)
    assert "including items that the detector was fitted on" in " ".join(done(*given, *FEW).split())


def test_a_second_run_that_makes_the_same_is_refused_and_changes_nothing(
    shroom, runs, tmp_path, monkeypatch
):
    again = ("evaluate", "lexical", "--on", VAL, "--runs", runs, *FEW)
    seen = []

    def p(self, datapoints, run):
        if not seen:
            (store,) = run.stores
            store.put("a scope", {"a key": b"0.5"})
            before = store.path.read_bytes()
            seen.append((*shroom(*again, "-o", tmp_path / "second"), before))
            assert store.path.read_bytes() == before
        return np.full(len(datapoints), 0.5)

    monkeypatch.setattr(Lexical, "p", p)
    assert shroom(*again)[0] == 0
    ((code, text, err, _),) = seen
    assert (code, text) == (1, "")
    assert re.search(r"another run is writing to \S+\.partial; ", err)
    assert err.endswith("; wait until it ends, or specify another output\n")
    assert not (tmp_path / "second").exists()
    assert not list(runs.glob("*.partial"))
    assert shroom(*again)[0] == 0


@pytest.mark.parametrize("lives", [7, 71])  # within the first data set, and the second one
def test_an_interrupted_run_is_continued_and_gives_the_same(
    shroom, constant, runs, felm, lives, monkeypatch, tmp_path
):
    asked = []

    def p(self, datapoints, run):
        def work(batch):
            asked.extend(batch)
            if len(asked) > lives:
                raise KeyboardInterrupt
            return np.array([(sum(map(ord, hyp)) % 97) / 97 for hyp in batch])

        texts = [point.hyp for point in datapoints]
        return compute(texts, work, lengths=[700] * len(texts), scope=lambda: "slow", run=run)[:, 0]

    def call(folder):
        asked.clear()
        words = ("evaluate", constant(), "--on", VAL, "--on", f"felm={felm}", "--no-ci")
        code, out, err = shroom(*words, "--runs", folder, "--format", "json")
        return code, re.sub(r'"ms_per_item": [^,]*', "", out), err, len(asked)

    monkeypatch.setattr(Constant, "p", p)
    code, out, err, first = call(runs)
    assert (code, out) == (130, "")
    assert f"finished results are stored in {runs}" in err
    lives = 10**6
    _, out, _, rest = call(runs)
    _, whole, _, every = call(tmp_path / "whole")
    assert out == whole
    # Only the batch that was interrupted is computed again.
    assert first + rest <= every + 2
    assert not list(runs.glob("*.partial"))
    _, again, _, more = call(runs)
    assert (again, more) == (out, 0)


def test_p_are_kept_for_each_detector_and_text(done, constant, runs, felm):
    for n, detector, data in [
        (1, constant(), VAL), (1, constant(), f"semeval2024={VAL}"), (1, constant("renamed"), VAL),
        (2, constant("other", value=0.1), VAL), (3, constant(), f"felm={felm}"),
        (4, constant(), f"felm:prompt={felm}"),
    ]:  # fmt: skip
        done("evaluate", detector, "--on", data, "--runs", runs, "--no-ci")
        assert stored(runs) == n


def test_a_file_in_a_setting_is_known_by_its_content(constant, tmp_path):
    model, prints = tmp_path / "model.txt", []
    for text in ("one", "two", "one"):
        model.write_text(text)
        prints.append(contenders([str(constant(cut=str(model)))])[0].fingerprint)
    assert prints[0] == prints[2] != prints[1]


def test_a_stored_result_is_used_again(shroom, constant, runs, monkeypatch):
    given = ("evaluate", constant(cut="yes"), "--on", VAL, "--runs", runs, "--no-ci")
    before = shroom(*given)[1]
    assert "steady on semeval2024: 60 texts were cut" in before
    monkeypatch.setattr(Constant, "p", lambda _self, points, _run: np.full(len(points), 0.9))
    _, out, err = shroom(*given)
    assert out == before
    assert "used 1 stored result from" in err


def test_a_damaged_result_is_computed_again(shroom, constant, runs, felm):
    given = ("evaluate", constant(), "--on", VAL, "--on", f"felm={felm}", "--runs", runs, "--no-ci")
    before = shroom(*given)[1]
    with sqlite3.connect(runs / FILE) as database:
        (damaged,) = database.execute("SELECT min(key) FROM entries").fetchone()
        database.execute("UPDATE entries SET found = zeroblob(9) WHERE key = ?", (damaged,))
    database.close()
    code, out, err = shroom(*given)
    assert (code, out) == (0, before)
    assert "used 1 stored result from" in err


@pytest.mark.parametrize("p", [[0.5], [float("nan")] * 60, [2.0] * 60])
def test_p_that_is_out_of_range_is_refused_and_not_stored(refused, constant, runs, monkeypatch, p):
    class Odd(Constant):
        p = lambda *_: np.array(p)  # noqa: E731

    monkeypatch.setitem(globals(), "Constant", Odd)
    err = refused("evaluate", constant(), "--on", VAL, "--runs", runs)
    assert "steady on semeval2024: the detector constant must return an array of" in err
    assert stored(runs) == 0
    assert not list(runs.glob("*.partial"))


def test_results_lie_in_the_cache(done, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done("evaluate", "lexical", "--on", VAL, "--no-ci")
    assert len(list((tmp_path / "cache" / "shroom" / "evaluate").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["similarity", "--on", "VAL"], "similarity has no model; write similarity=MODEL"),
        (["similarity=", "--on", "VAL"], "similarity= has no model; write similarity=MODEL"),
        (["lexical", "lexical", "--on", "VAL"], "two detectors have the name lexical"),
        (["no.toml", "--on", "VAL"], "no.toml: No such file"),
        (["lexical", "--on", "flem=VAL"], "no data set 'flem'; did you mean 'felm'?"),
        (["lexical", "--on", "flem"], "neither a file nor a data set; did you mean 'felm'?"),
        (["lexical", "--on", "felm:promt=VAL"], "felm has no view 'promt'; did you mean 'prompt'?"),
        (["lexical", "--on", "queries=VAL"], "queries has no datapoints"),
        (["lexical", "--on", "felm=no/such.jsonl"], "no/such.jsonl: expected a file"),
        (["lexical", "--on", "felm=VAL"], "is in the format of semeval2024, not of felm"),
        (["lexical", "--on", "VAL", "--on", "VAL"], "has the same content as"),
        (["lexical", "--on", "VAL", "--on", "FOLDER"], "has the same content as"),
        (["lexical", "--on", "ODD"], "in an unknown format; specify the data set: NAME="),
        (["lexical", "--on", "UNLABELLED"], "no item of semeval2024 has a label"),
        (["lexical", "--on", "VAL", "-o", "VAL", "--format", "json"], "is an input"),
        (["lexical", "--on", "-"], "neither a file nor a data set"),
        (["lexical", "--on", "felm=-"], "is a pipe"),
        (["lexical", "--on", "\x1b[31m"], r"\u001b[31m: is neither"),
        (["lexical", "--on", "VAL", "--runs", "MODEL/runs"], "cannot be created: Not a directory"),
        (["lexical", "--on", "VAL", "-o", "FOLDER"], "is a folder"),
        (["lexical=MODEL", "--on", "VAL", "-o", "MODEL", "--format", "json"], "is an input"),
        (["RECIPE", "--on", "VAL", "-o", "RECIPE"], "is an input"),
        (["lexical"], "Missing option '--on'"),
        (["--on", "VAL"], "Missing argument"),
        (["lexical", "--on", "VAL", "--html", "o", "-o", "o"], "must be written to a separate"),
        pytest.param(["lexical", "--on", "felm=PIPE"], "is a pipe", marks=pytest.mark.linux),
        pytest.param(["lexical", "--on", "PIPE"], "is a pipe", marks=pytest.mark.linux),
    ],
)
def test_mistakes(refused, tmp_path, words, said):
    folder = tmp_path / "folder"
    rows = [{k: v for k, v in row.items() if k in ("hyp", "src", "tgt", "task")} for row in gold(4)]
    places = {
        "VAL": str(write_json(folder / "val.model-aware.json", gold(12))),
        "FOLDER": str(folder),
        "UNLABELLED": str(write_json(tmp_path / "unlabelled.json", rows)),
        "ODD": str(write_json(tmp_path / "odd.json", [{"a": 1}])),
        "MODEL": str(tmp_path / "model.json"),
        "RECIPE": str(tmp_path / "recipe.toml"),
        "PIPE": str(tmp_path / "pipe"),
    }
    shutil.copy(ROOT / "shroom" / "models" / "lexical" / "model.json", places["MODEL"])
    (tmp_path / "recipe.toml").write_text('detector = "lexical"\n')
    if "PIPE" in "".join(words):
        os.mkfifo(places["PIPE"])
    files = [*folder.iterdir(), tmp_path / "model.json", tmp_path / "recipe.toml"]
    before = {path: path.read_bytes() for path in files}
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    unknown = re.search("no (detector|data set|view) '|neither|Missing|a separate", said)
    err = refused("evaluate", *words, code=2 if unknown else 1)
    assert said in err
    assert "\x1b" not in err
    assert {path: path.read_bytes() for path in before} == before
    assert len([*folder.iterdir()]) == 1


def test_a_name_alone_is_what_was_fetched_or_lies_in_the_folder_of_data(
    tmp_path, felm, monkeypatch, shroom
):
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShroomError, match=r"SHROOM_DATA is .*, which is not a folder"):
        named("felm")
    (tmp_path / "data").mkdir()
    with pytest.raises(ShroomError, match="set SHROOM_DATA to the folder that contains felm"):
        named("felm")
    shutil.copytree(felm.parent, tmp_path / "data" / "felm", ignore=shutil.ignore_patterns("data"))
    found = named("felm:prompt")
    assert (found.path, found.key) == ("data/felm", "felm:prompt")


def test_a_path_with_an_equals_sign_is_a_path(tmp_path, felm):
    odd = shutil.copy(felm, tmp_path / "felm=really.jsonl")
    assert named(str(odd)).path == named(f"felm={odd}").path == str(odd)


@pytest.mark.parametrize(
    ("noise", "resamples", "verdict"),
    [
        ({"a": 0.3}, 200, "a is better than chance (AUROC "),
        ({"a": 0.3, "b": 5}, 200, "a is best (AUROC "),
        ({"a": 0.3, "b": 0.31}, 200, "but not shown to be better than "),
        ({"a": 50, "b": 50}, 200, "is first, but not shown to be better than chance ("),
        ({"a": 50}, 200, "a is not shown to be better than chance ("),
        ({"a": 0.3, "b": 5}, 0, "a is first (AUROC "),
        ({"a": 0.3, "flat": None}, 200, "better than flat (difference "),
    ],
)
def test_the_verdict_claims_no_more_than_the_intervals_show(noise, resamples, verdict):
    scored = subjects({"mine": str(VAL)})
    generator, label = np.random.default_rng(3), scored[0].label
    detectors = {}
    for name, sigma in noise.items():
        said = 0 if sigma is None else label - 0.5 + sigma * generator.normal(size=len(label))
        detectors[name] = Constant(1 / (1 + np.exp(-said)))
    found = evaluate(detectors, scored, intervals=Intervals(resamples))
    assert found.verdict.startswith("On mine, ")
    assert verdict in found.verdict
    assert found.render("text").startswith(found.verdict.split(" (")[0])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    (lead,) = found.leads
    if len(lead.ranked) > 1 and resamples:
        p = {row.detector: row.cells[0].scores["auroc"] for row in found.rows}
        difference = p[lead.ranked[0][0]] - p[lead.ranked[1][0]]
        assert lead.difference.value == pytest.approx(difference)
        low, high = lead.difference.ci
        assert low <= difference <= high


@pytest.mark.parametrize("more", [FEW, ("--no-ci",)])
def test_text_and_page_are_whole(done, tmp_path, felm, constant, runs, more):
    names = [constant(f"a-detector-with-quite-a-long-name-{n}", value=0.1 * n) for n in range(4)]
    views = ["--on", f"felm={felm}", "--on", f"felm:prompt={felm}", "--on", str(VAL)]
    given = ("lexical", *names, constant(cut="<script>"), *views, "--runs", runs, *more)
    out = done("evaluate", *given, "--html", tmp_path / "page.html")
    for name in ("lexical", "felm:prompt", "semeval2024", "floor: majority label"):
        assert name in out
    text = assert_good((tmp_path / "page.html").read_text()).text
    assert "floor: majority label: a system that always predicts" in text
    assert "25 units" in text
