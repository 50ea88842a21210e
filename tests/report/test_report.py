"""The pages: what they show, and that nothing a file says can break or steer them."""

import re
import subprocess
import sys
from html import escape

import numpy as np
import pytest
from conftest import DATA, SAMPLE, gold, predictions, write_json
from html_outline import assert_good

from shroom.core.extras import install_hint
from shroom.evaluation.comparison import compare
from shroom.evaluation.leaderboard import leaderboard
from shroom.evaluation.report import report
from shroom.evaluation.system_report import spread
from shroom.metrics.intervals import Intervals
from shroom.report.report_page import page
from shroom.scoring.display.html import scores_page
from shroom.scoring.display.style import document
from shroom.scoring.metric_registry import metric
from shroom.scoring.scores import score

FEW = Intervals(50)
HOSTILE = [
    "<script>document.title = 'stolen'</script>",
    "</script></style></textarea><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7919 * 7907 }} {% raw %} ${7919*7907}",
    "NUL \x00, bell \x07, escape \x1b[31m",
    "left \u202e right \u2066 isolate",
    "שלום עולם، مرحبا بالعالم",
    "a\nb\n\nc",
    "<!-- --> ]]> &lt; &amp; &#0;",
    "\ud800 alone",
    "",
]


def files(tmp_path, rows, said, name="val.model-agnostic.json", system="a"):
    """Write gold and one system's predictions; return their folders."""
    write_json(tmp_path / "gold" / name, rows)
    write_json(tmp_path / system / name, said)
    return tmp_path / system, tmp_path / "gold"


def made(submissions, held, **more):
    found = report(submissions, held, intervals=FEW, trials=50, **more)
    return found, page(found, "shroom report")


@pytest.fixture
def sketched(monkeypatch):
    """Leave the drawing out, which is most of the work, and what test_plot.py is about."""
    import shroom.report.figure_files

    def sketch(panel, prefix):
        ids = f"{prefix}-title", f"{prefix}-desc"
        return (
            f'<svg class="plot" role="img" aria-labelledby="{ids[0]} {ids[1]}">'
            f'<title id="{ids[0]}"></title><desc id="{ids[1]}">{escape(panel.about)}</desc></svg>'
        )

    monkeypatch.setattr(shroom.report.figure_files, "inline", sketch)


@pytest.fixture
def two(tmp_path):
    """Two systems on both tracks."""
    for track, n in (("agnostic", 24), ("aware", 18)):
        rows = gold(n)
        write_json(tmp_path / "gold" / f"val.model-{track}.json", rows)
        for place, system in enumerate(("first", "second")):
            said = predictions(n)[place:] + predictions(n)[:place]
            write_json(tmp_path / system / f"val.model-{track}.json", said)
    return [tmp_path / "first", tmp_path / "second"], tmp_path / "gold"


def test_everything_is_in_the_page(two):
    found, text = made(*two)
    outline = assert_good(text)
    for words in (
        "val model-agnostic",
        "val model-aware",
        "Scores",
        "Slices",
        "By task",
        "By agreement",
        "Reliability",
        "Accuracy against threshold",
        "Confusion",
        "p against the annotators",
        "Comparison",
        "Hardest items",
        "How to reproduce",
        "20 hardest of 24 items",
        "floor: majority label",
        *(track.signature for track in found.tracks),
    ):
        assert words in outline.text
    # Per track: scores and differences by two metrics, ranks, and four figures of each system.
    assert len(outline.all("svg")) == 2 * (2 + 2 + 1 + 4 * 2)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


@pytest.mark.usefixtures("sketched")
def test_the_figures_are_those_of_score_and_compare(two):
    submissions, held = two
    found, text = made(submissions, held)
    for place, submission in enumerate(submissions):
        alone = score(submission, held, intervals=FEW)
        assert [track.systems[place].score for track in found.tracks] == alone.results
        for result in alone.results:
            assert f"{result.accuracy:.3f}" in text
    pairs = compare(submissions, held, intervals=FEW, trials=50).comparisons
    assert [pair for track in found.tracks for pair in track.comparisons] == pairs


@pytest.mark.usefixtures("sketched")
def test_one_system_has_nothing_to_be_compared_with(two):
    found, text = made(two[0][:1], two[1])
    outline = assert_good(text)
    assert "Comparison" not in outline.text
    assert found.tracks[0].comparisons == []
    assert found.tracks[0].systems[0].rank is None


@pytest.mark.usefixtures("sketched")
def test_without_intervals_and_slices_and_with_more_metrics(two):
    metrics = [metric("brier"), metric("auroc")]
    found = report(*two, intervals=Intervals(0), trials=20, by=(), metrics=metrics)
    outline = assert_good(page(found, "shroom report"))
    assert found.metrics == ["accuracy", "rho", "brier", "auroc"]
    assert ">brier<" in outline.page
    assert "interval<" not in outline.page
    assert "no interval" not in outline.text
    assert "nothing to slice by" in outline.text


@pytest.mark.usefixtures("sketched")
def test_only_the_hardest_items_are_in_the_page(tmp_path):
    n = 10_200
    rows = rows_of([i % 6 / 5 for i in range(n)])
    p = np.random.default_rng(0).random(n).tolist()
    said = said_of(p)
    submission, held = files(tmp_path, rows, said)
    found = report([submission], held, intervals=Intervals(5))
    text = page(found, "shroom report")
    outline = assert_good(text)
    assert "The 20 hardest of 10200 items" in outline.text
    assert text.count("<details><summary>") == 20
    assert len(text) < 200_000
    first = found.tracks[0].items[0]
    distances = [abs(row["p(Hallucination)"] - each) for row, each in zip(rows, p)]
    wrong = [row["label"] != each["label"] for row, each in zip(rows, said)]
    hardest = max(range(n), key=lambda row: (wrong[row], round(distances[row], 9), -row))
    assert first.row == hardest
    assert first.point.hyp == f"hypothesis {hardest}"


@pytest.mark.usefixtures("sketched")
def test_the_hardest_items_of_several_systems(two):
    found, _ = made(*two)
    for track in found.tracks:
        shares = [item.difficulty for item in track.items]
        assert shares == sorted(shares, reverse=True)
        for item in track.items:
            assert item.point.p == item.p


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize("hyp", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_is_shown_and_does_nothing(tmp_path, hyp):
    rows = gold(6)
    rows[0].update(hyp=hyp, src=hyp, tgt=f"{hyp}.", model=hyp)
    submission, held = files(tmp_path, rows, predictions(6))
    _, text = made([submission], held)
    outline = assert_good(text)
    assert "<img" not in text
    assert str(7919 * 7907) not in outline.text
    visible = {
        "<script>document.title = 'stolen'</script>",
        "{{ 7919 * 7907 }} {% raw %} ${7919*7907}",
        "שלום עולם، مرحبا بالعالم",
        "<!-- --> ]]> &lt; &amp; &#0;",
    }
    if hyp in visible:
        assert hyp in outline.text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800]", text)
    text.encode()


@pytest.mark.usefixtures("sketched")
def test_a_hypothesis_of_50_000_letters(tmp_path):
    rows = gold(6)
    rows[0]["hyp"] = "long " * 10_000
    submission, held = files(tmp_path, rows, predictions(6))
    _, text = made([submission], held)
    assert_good(text)
    assert text.count("long " * 10_000) == 1
    assert "long long …" in text


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "$x^2$ {{ 7*7 }}", "名前 שם", "#1d5f9a"]
)
def test_a_name_is_shown_and_does_nothing(tmp_path, name):
    submission, held = files(tmp_path, gold(12), predictions(12), system=name)
    other, _ = files(tmp_path, gold(12), predictions(12)[::-1], system="other")
    found, text = made([submission, other], held)
    outline = assert_good(text)
    assert found.systems == [name, "other"]
    assert name in outline.text
    assert "<img" not in text
    board = leaderboard(_only(tmp_path, name), held, intervals=FEW, trials=50).render("html")
    assert name in assert_good(board).text


def _only(tmp_path, *systems):
    """Return a folder with these systems alone."""
    folder = tmp_path / "submissions"
    folder.mkdir(exist_ok=True)
    for system in systems:
        (tmp_path / system).rename(folder / system)
    return folder


def rows_of(shares):
    rows = gold(len(shares))
    for row, share in zip(rows, shares):
        row["p(Hallucination)"] = share
        row["label"] = "Hallucination" if share > 0.5 else "Not Hallucination"
        row["labels"] = []
    return rows


def said_of(p):
    return [
        {"label": "Hallucination" if each > 0.5 else "Not Hallucination", "p(Hallucination)": each}
        for each in p
    ]


@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(
    ("systems", "shares", "p", "why"),
    [
        (1, [0.8, 0.6, 1.0], [0.1, 0.9, 0.3], ""),
        (2, [0.2, 0.8], [0.9, 0.9], "p is constant"),
        (1, [0.2], [0.9], "one item alone"),
        (2, [0.2, 0.2, 0.2], [0.1, 0.5, 0.9], "the annotators' proportion is constant"),
        (1, [0.5, 0.5], [0.5, 0.5], "p is constant"),
        (2, [0.2, 0.8], [1 + 1e-10, -1e-10], ""),
    ],
)
def test_what_is_undefined_says_why(tmp_path, systems, shares, p, why):
    paths = [
        files(tmp_path, rows_of(shares), said_of(p), system=f"system {i}") for i in range(systems)
    ]
    found, text = made([path for path, _ in paths], paths[0][1], metrics=[metric("auroc")])
    outline = assert_good(text)
    rho = found.tracks[0].systems[0].whole["rho"]
    assert rho.why.startswith(why) if why else rho.value is not None
    if why:
        assert f"undefined: {why}" in outline.text


@pytest.mark.usefixtures("sketched")
def test_gold_without_texts(tmp_path):
    rows = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in gold(8)]
    submission, held = files(tmp_path, rows, predictions(8))
    _, text = made([submission], held)
    outline = assert_good(text)
    assert "The gold has no texts to show." in outline.text
    assert "By agreement" in outline.text


@pytest.mark.usefixtures("sketched")
def test_gold_by_id_in_another_order(tmp_path):
    name = "test.model-aware.json"
    said = predictions(9, first_id=50)
    submission, held = files(tmp_path, gold(9, first_id=50), said[::-1], name=name)
    found, text = made([submission], held)
    assert_good(text)
    for item in found.tracks[0].items:
        assert item.point.id == item.id == 50 + item.row
        assert item.systems["a"].p == said[item.row]["p(Hallucination)"]


@pytest.mark.usefixtures("sketched")
def test_one_track_alone(two, shroom, tmp_path):
    out = tmp_path / "report.html"
    code, _, err = shroom("report", *two[0], two[1], "-o", out, "--track", "model-aware", "--no-ci")
    assert (code, err) == (0, "")
    text = assert_good(out.read_text()).text
    assert "model-aware" in text
    assert "model-agnostic" not in text


@pytest.mark.usefixtures("sketched")
def test_slices_by_other_keys(two, shroom, tmp_path):
    out = tmp_path / "report.html"
    options = ("--by", "task,model", "--no-ci")
    code, _, err = shroom("report", *two[0], two[1], "-o", out, *options)
    assert code == 0
    assert "so there are no slices by model (the first of 2)" in err  # each track's gold
    text = assert_good(out.read_text()).text
    assert "By task" in text
    assert "By ref" not in text
    assert "no slices by model" in text
    assert "--by task,model" in text


@pytest.mark.usefixtures("sketched")
def test_the_command_line_says_how_to_reproduce(two, shroom, tmp_path):
    out = tmp_path / "a report.html"
    options = ("--resamples", "40", "--seed", "3", "--metrics", "brier,ece", "--no-ci")
    code, _, _ = shroom("report", *two[0], two[1], "-o", out, *options)
    assert code == 0
    names = " ".join(path.name for path in (*two[0], two[1]))
    wanted = (
        f"shroom report {names} --output 'a report.html' --metrics brier,ece --no-ci "
        "--resamples 40 --seed 3"
    )
    assert wanted in assert_good(out.read_text()).text


@pytest.mark.usefixtures("sketched")
def test_to_stdout(two, shroom):
    code, text, _ = shroom("report", two[0][0], two[1], "-o", "-", "--resamples", "20")
    assert code == 0
    assert_good(text)


@pytest.mark.parametrize("verb", [("report",), ("report", "--figure", "scores")])
def test_mistakes_are_sentences(two, shroom, tmp_path, verb):
    (first, second), held = two
    out = tmp_path / ("out.html" if verb == ("report",) else "out.svg")
    broken = write_json(tmp_path / "broken" / "val.model-aware.json", [{"label": "x"}] * 18)
    unlabelled = write_json(
        tmp_path / "bare" / "val.model-aware.json", [{"hyp": "", "task": "DM"}] * 18
    )
    for inputs, wanted, code in (
        ((first, tmp_path / "missing"), "does not exist", 2),
        ((broken, held), "[label-value]", 1),
        ((first, second, unlabelled.parent), "unlabelled", 1),
        ((first,), "Missing argument", 2),
        ((first, tmp_path), "", 1),
    ):
        result = shroom(*verb, *inputs, "-o", out)
        assert result[0] == code
        assert wanted in result[2]
        assert "Traceback" not in result[2]
        assert not out.exists()
    gold_file = held / "val.model-aware.json"
    target = gold_file if verb == ("report",) else first / "val.model-aware.json"
    before = target.read_bytes()
    assert shroom(*verb, first / "val.model-aware.json", gold_file, "-o", target)[0] in (1, 2)
    assert target.read_bytes() == before
    assert shroom(*verb, "-", "-", "-o", out)[0] == 2


def test_no_submission_of_the_track(tmp_path, shroom):
    submission, held = files(tmp_path, gold(6), predictions(6))
    out = tmp_path / "r.html"
    code, _, err = shroom("report", submission, held, "-o", out, "--track", "model-aware")
    assert code == 1
    assert "no submission is of the track model-aware" in err


@pytest.mark.parametrize("options", [("-o", "r.html"), ("--figure", "scores", "-o", "r.svg")])
def test_without_the_extra(options):
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: "
        "None if name in ('jinja2', 'matplotlib') else find(name, *more)\n"
        "from shroom.cli import main\n"
        "sys.exit(main())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, "report", SAMPLE, SAMPLE, *options],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert install_hint("report") in result.stderr
    assert "Traceback" not in result.stderr


def test_a_document_runs_its_own_script_alone():
    import base64
    import hashlib

    text = document("a < b", "<main></main>", script="let a = 1;")
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "<title>a &lt; b</title>" in text
    assert "script" not in document("a", "b")


def test_the_spread_counts_every_item_once():
    generator = np.random.default_rng(0)
    for shares in (np.array([0.0, 0.2, 1.0])[generator.integers(0, 3, 500)], generator.random(500)):
        p = np.append(generator.random(498), (0.0, 1.0))
        found = spread(p, shares)
        assert found.counts.sum() == 500
        assert len(found.shares) == len(found.mean_p) <= 20
        assert (found.counts.sum(axis=1) * found.mean_p).sum() == pytest.approx(p.sum())


# The leaderboard's page


def board_of(tmp_path, systems=4, n=40):
    write_json(tmp_path / "gold" / "val.model-aware.json", gold(n))
    for place in range(systems):
        said = predictions(n)[place:] + predictions(n)[:place]
        write_json(tmp_path / "all" / f"system {place}" / "val.model-aware.json", said)
    return tmp_path / "all", tmp_path / "gold"


def test_the_leaderboard_shows_every_row(tmp_path):
    folder, held = board_of(tmp_path)
    write_json(folder / "broken" / "val.model-aware.json", [{"label": "<b>x</b>"}] * 40)
    board = leaderboard(folder, held, intervals=FEW, trials=100)
    text = board.render("html")
    outline = assert_good(text)
    for row in board.rows:
        assert row.system in outline.text
        accuracy = row.scores.get("accuracy")
        if accuracy is not None:
            assert f"{accuracy:.3f}" in outline.text
        if row.rank_ci is not None:
            assert f"{row.rank_ci[0]}–{row.rank_ci[1]}" in outline.text
    assert "broken" in outline.text
    assert "[label-value]" in outline.text
    assert "<b>x" not in text
    assert board.signature in outline.text
    assert text == board.render("html")
    # What is sorted stands apart from what needs no model.
    assert text.count('<tbody class="beside">') == 1
    assert text.count('class="opens"') == len({row.group for row in board.rows if row.group})


def test_a_leaderboard_of_undefined_rho(tmp_path):
    folder, held = board_of(tmp_path, systems=1)
    write_json(folder / "flat" / "val.model-aware.json", said_of([0.25] * 40))
    outline = assert_good(leaderboard(folder, held, intervals=FEW, trials=50).render("html"))
    assert "undefined" in outline.text


# The small form


@pytest.mark.parametrize("how", [FEW, Intervals(0)], ids=["intervals", "none"])
def test_the_small_form(two, how):
    result = score(two[0][0], two[1], intervals=how)
    outline = assert_good(scores_page(result))
    for each in result.results:
        assert f"{each.accuracy:.3f}" in outline.text
        assert each.track in outline.text
    assert ("interval" in outline.text) == bool(how.resamples)
    assert result.signature in outline.text


@pytest.mark.usefixtures("sketched")
@pytest.mark.real
def test_a_real_report():
    submissions = [
        DATA / "submissions" / name
        for name in ("gpt-3.5-turbo-v13-20-sample-2024-01-28", "gpt-4-1106-preview-v8-2024-01-20")
    ]
    found, text = made(submissions, DATA / "semeval2024")
    assert_good(text)
    assert [track.n for track in found.tracks] == [499, 501]
    counts = [system.binary.confusion for track in found.tracks for system in track.systems]
    for each, score_ in zip(counts, (s for track in found.tracks for s in track.systems)):
        right = (each.both + each.neither) / score_.score.n
        assert right == pytest.approx(score_.score.accuracy, abs=1e-12)
