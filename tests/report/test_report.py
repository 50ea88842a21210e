"""The pages: what they show, and that nothing a file says can break or steer them."""

import json
import re
from html import escape

import numpy as np
import pytest
from conftest import DATA, ROOT, SAMPLE, gold, predictions, write_json
from html_outline import assert_good
from made_up import AGNOSTIC, AWARE, contest

from shroom.core.extras import install_hint
from shroom.evaluation.leaderboard import leaderboard
from shroom.evaluation.report import report
from shroom.metrics.classification import counts
from shroom.metrics.intervals import Intervals
from shroom.report.figure_files import inline
from shroom.report.report_page import page
from shroom.report.report_plots import KINDS, panels
from shroom.scoring.display.html import document
from shroom.scoring.metric_registry import metric

FEW = Intervals(50)
VISIBLE = [
    "<script>document.title = 'stolen'</script>",
    "{{ 7919 * 7907 }} {% raw %} ${7919*7907}",
    "שלום עולם، مرحبا بالعالم",
    "<!-- --> ]]> &lt; &amp; &#0;",
]
HOSTILE = [
    *VISIBLE,
    "</script></style></textarea><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "NUL \x00, bell \x07, escape \x1b[31m",
    "left \u202e right \u2066 isolate",
    "a\nb\n\nc",
    "\ud800 alone",
    "",
    "long " * 10_000,
]


def files(tmp_path, rows, said, name="val.model-agnostic.json", system="a"):
    """Write gold and one system's predictions; return their folders."""
    write_json(tmp_path / "gold" / name, rows)
    write_json(tmp_path / system / name, said)
    return tmp_path / system, tmp_path / "gold"


def made(submissions, held, **more):
    found = report(submissions, held, **{"intervals": FEW, "trials": 50, **more})
    return found, assert_good(page(found, "shroom report"))


@pytest.fixture(autouse=True)
def _sketched(monkeypatch):
    """Leave the drawing out, which is most of the work, and what test_plot.py is about."""
    import shroom.report.results

    def sketch(panel, prefix):
        ids = f"{prefix}-title", f"{prefix}-desc"
        return (
            f'<svg class="plot" role="img" aria-labelledby="{ids[0]} {ids[1]}">'
            f'<title id="{ids[0]}"></title><desc id="{ids[1]}">{escape(panel.about)}</desc></svg>'
        )

    monkeypatch.setattr(shroom.report.results, "inline", sketch)


@pytest.fixture
def two(tmp_path):
    """Two systems on both tracks."""
    systems, held = contest(tmp_path, {"first": 0.9, "second": 0.4}, 24, (AGNOSTIC, AWARE))
    return [systems / "first", systems / "second"], held


def test_without_intervals_and_slices_and_with_more_metrics(two):
    metrics = [metric("brier"), metric("auroc")]
    found, outline = made(*two, intervals=Intervals(0), by=(), metrics=metrics)
    assert found.metrics == ["accuracy", "rho", "brier", "auroc"]
    assert ">brier<" in outline.page
    assert "interval<" not in outline.page
    assert "no interval" not in outline.text
    assert "no key to slice by" in outline.text


def test_a_report_uses_the_words_of_its_edition_and_has_no_empty_column(tmp_path):
    own = ROOT / "tests" / "golden" / "inputs" / "worded"
    rows = json.loads((own / "gold" / "dev.json").read_text("utf-8"))
    held = write_json(tmp_path / "dev.json", [{**row, "task": ""} for row in rows])
    edition = (own / "gold" / "edition.toml").read_text("utf-8").partition("[tasks]")[0]
    (tmp_path / "own.toml").write_text(
        f'{edition}[annotation]\nlabels = ["refuted", "supported"]\n'
    )
    _, outline = made([own / "system"], held, edition=tmp_path / "own.toml")
    assert "annotators chose refuted" in outline.text
    assert "Hallucination" not in outline.page.replace("p(Hallucination)", "")
    assert ">task<" not in outline.page


def test_a_name_without_a_split_is_of_the_split_of_the_same_gold(tmp_path):
    held, rows = write_json(tmp_path / "gold.json", gold(12)), predictions(12)
    systems = {name: write_json(tmp_path / name, rows) for name in ("b.json", AWARE)}
    (track,) = report(systems, held, intervals=FEW, trials=50).tracks
    assert (track.name, {it.name for it in track.systems}) == ("val model-aware", {*systems})


def test_only_the_hardest_items_are_in_the_page(tmp_path):
    n = 10_200
    p = np.random.default_rng(0).random(n).tolist()
    rows, said = rows_of([i % 6 / 5 for i in range(n)]), said_of(p)
    submission, held = files(tmp_path, rows, said)
    found, outline = made([submission], held, intervals=Intervals(5))
    assert "Hardest items shown: 20 of 10200" in outline.text
    assert outline.page.count("<details><summary>") == 20
    assert len(outline.page) < 200_000
    distances = [abs(row["p(Hallucination)"] - each) for row, each in zip(rows, p)]
    wrong = [row["label"] != each["label"] for row, each in zip(rows, said)]
    hardest = max(range(n), key=lambda row: (wrong[row], round(distances[row], 9), -row))
    assert found.tracks[0].items[0]["point"].hyp == f"hypothesis {hardest}"


def test_texts_are_shown_and_do_nothing(tmp_path):
    rows = gold(len(HOSTILE))
    for row, text in zip(rows, HOSTILE):
        row.update(hyp=text, src=text, tgt=f"{text}.", model=text[:99])
    _, outline = made([files(tmp_path, rows, predictions(len(rows)))[0]], tmp_path / "gold")
    text = outline.page
    assert "<img" not in text
    assert str(7919 * 7907) not in outline.text
    assert all(words in outline.text for words in VISIBLE)
    assert "long long …" in text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800]", text)
    text.encode()


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "$x^2$ {{ 7*7 }}", "名前 שם", "#1d5f9a"]
)
def test_a_name_is_shown_and_does_nothing(tmp_path, name):
    submission, held = files(tmp_path, gold(12), predictions(12), system=name)
    other, _ = files(tmp_path, gold(12), predictions(12)[::-1], system="other")
    found, outline = made([submission, other], held)
    assert {*found.systems} == {name, "other"}
    board = leaderboard({name: submission}, held, intervals=FEW, trials=50)
    for shown in (outline, assert_good(board.render("html"))):
        assert name in shown.text
        assert "<img" not in shown.page


def said_of(p):
    labels = ["Hallucination" if each > 0.5 else "Not Hallucination" for each in p]
    return [{"label": label, "p(Hallucination)": each} for label, each in zip(labels, p)]


def rows_of(shares):
    rows = zip(gold(len(shares)), said_of(shares))
    return [{**row, **annotation, "labels": []} for row, annotation in rows]


@pytest.mark.parametrize(
    ("systems", "shares", "p", "is_defined"),
    [
        (1, [0.8, 0.6, 1.0], [0.1, 0.9, 0.3], True),
        (2, [0.2, 0.8], [0.9, 0.9], False),
        (1, [0.2], [0.9], False),
        (2, [0.2, 0.2, 0.2], [0.1, 0.5, 0.9], False),
        (1, [0.5, 0.5], [0.5, 0.5], False),
        (2, [0.8], [1.0], False),
        (2, [0.0, 1.0], [0.0, 1.0], True),
        (2, [0.2, 0.8], [1 + 1e-10, -1e-10], True),
    ],
)
def test_odd_data_are_drawn_or_explained(tmp_path, systems, shares, p, is_defined):
    paths = [
        files(tmp_path, rows_of(shares), said_of(p), system=f"system {i}") for i in range(systems)
    ]
    found, outline = made([path for path, _ in paths], paths[0][1], metrics=[metric("auroc")])
    rho = found.tracks[0].systems[0].whole["rho"]
    assert (rho.value is not None) == is_defined
    assert is_defined or "–: undefined because p or the gold is the same" in outline.text
    for panel in (panel for kind in KINDS for panel in panels(kind, found)):
        assert not re.search(r"\bnan\b", panel.about + (inline(panel, "p") if panel.draw else ""))
        assert panel.draw or "undefined" in panel.about or "only one system" in panel.about


def test_gold_without_texts_and_gold_by_id(tmp_path):
    rows = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in gold(8)]
    _, outline = made([files(tmp_path, rows, predictions(8))[0]], tmp_path / "gold")
    assert "The gold has no texts to show." in outline.text
    said = predictions(9, first_id=50)
    name = "test.model-aware.json"
    inputs = files(tmp_path / "ids", gold(9, first_id=50), said[::-1], name=name)
    found, _ = made([inputs[0]], inputs[1])
    for item in found.tracks[0].items:
        assert item["point"].id == item["id"] == 50 + item["row"]
        assert item["systems"]["a"]["p"] == said[item["row"]]["p(Hallucination)"]


@pytest.mark.parametrize("options", [("-o", "r.html"), ("--figure", "scores", "-o", "r.svg")])
def test_without_the_extra(options, monkeypatch, refused):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    assert install_hint("report") in refused("report", SAMPLE, SAMPLE, *options)


def test_a_document_runs_its_own_script_alone():
    text = document("a < b", "<main></main>", script="let a = 1;")
    # printf 'let a = 1;' | openssl dgst -sha256 -binary | base64
    assert "script-src 'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='" in text
    assert "<title>a &lt; b</title>" in text
    assert "script" not in document("a", "b")


@pytest.mark.parametrize("systems", [("first", "second"), ("second", "first")])
def test_the_verdict_names_the_first_system_and_its_difference_from_the_next(two, systems):
    found, outline = made([two[0][0].parent / name for name in systems], two[1])
    assert found.verdict in outline.text
    sentences = found.verdict.split("On val model-a")
    assert [it.split(",")[0] for it in sentences] == ["", "gnostic", "ware"]
    for track, sentence in zip(found.tracks, sentences[1:]):
        best, other = track.systems
        assert best.score.accuracy >= other.score.accuracy
        pair = track.comparisons[0]
        better = "and" if pair.significant else "but not"
        if not pair.difference:
            assert f"{best.name} and {other.name} have the same accuracy (" in sentence
            continue
        assert f", {best.name} is first by accuracy (" in sentence
        assert f"{better} significantly better than {other.name} (difference ." in sentence
    listed = ", ".join(found.systems)
    assert repr(found) == f"Report({listed} on val model-agnostic, val model-aware)"


@pytest.mark.real
def test_a_real_report():
    names = ("gpt-3.5-turbo-v13-20-sample-2024-01-28", "gpt-4-1106-preview-v8-2024-01-20")
    submissions = [DATA / "submissions" / name for name in names]
    found, _ = made(submissions, DATA / "semeval2024")
    assert [track.n for track in found.tracks] == [499, 501]
    for system in (system for track in found.tracks for system in track.systems):
        label, _, gold_label, _ = system.aligned.columns
        tp, _, _, tn = counts(label, gold_label).sum(axis=0)
        right = (tp + tn) / system.score.n
        assert right == pytest.approx(system.score.accuracy, abs=1e-12)
