"""Figures: every kind in every form, the same bytes twice, a sentence where there is nothing."""

import re
import xml.etree.ElementTree as ET

import pytest
from conftest import gold, predictions, write_json

from shroom.core.problems import ShroomError
from shroom.evaluation.report import report
from shroom.metrics.intervals import Intervals
from shroom.report import figure_files, report_plots
from shroom.report.report_plots import KINDS
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import shortened

FEW = Intervals(50)
STARTS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
ODD = "$x_1$ <b>&amp;<i> 名前 {{ #1d5f9a"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    tmp_path, n = tmp_path_factory.mktemp("plot"), 24
    for track in ("agnostic", "aware"):
        write_json(tmp_path / "gold" / f"val.model-{track}.json", gold(n))
        for place, system in enumerate((ODD, "second", "third")):
            said = predictions(n)[place:] + predictions(n)[:place]
            write_json(tmp_path / system / f"val.model-{track}.json", said)
    return [tmp_path / name for name in (ODD, "second", "third")], tmp_path / "gold"


@pytest.fixture(scope="module")
def found(inputs):
    return report(*inputs, intervals=FEW, trials=50)


@pytest.mark.parametrize(
    ("kind", "form"), [*((kind, "svg") for kind in KINDS), ("scores", "pdf"), ("scatter", "png")]
)
def test_every_kind_as_a_file(found, kind, form):
    panels = report_plots.panels(kind, found)
    assert {panel.track for panel in panels} == {"val model-agnostic", "val model-aware"}
    data = figure_files.file(panels[:1], form, width=8, dpi=40)
    assert data.startswith(STARTS[form])
    assert data == figure_files.file(panels[:1], form, width=8, dpi=40)
    assert not re.search(rb"20\d\d-\d\d-\d\dT|CreationDate|<dc:date>", data)
    if form == "svg":
        assert not re.search(rb"\bnan\b", data)
        root = ET.fromstring(data)  # noqa: S314 - made here
        width = float(root.attrib["width"].removesuffix("pt"))
        assert width == pytest.approx(8 / 2.54 * 72, abs=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_page(found, kind):
    for place, panel in enumerate(report_plots.panels(kind, found)[:2]):
        text = figure_files.inline(panel, f"p{place}")
        root = ET.fromstring(text)  # noqa: S314 - made here
        assert root.attrib["role"] == "img"
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        assert all(each.startswith(f"p{place}-") for each in ids)
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert {a or b for a, b in used} <= set(ids)
        tags = "".join(re.findall("<[^>]*>", text))
        assert not set(re.findall("#[0-9a-f]{6}", tags)) & set(LIGHT.values())
        assert "var(--" in tags
        assert "DejaVu" not in tags
        assert len(text) < 60_000


def test_a_name_is_written_as_it_is(found):
    text = figure_files.inline(report_plots.panels("scores", found)[0], "p")
    drawn = ["".join(each.itertext()) for each in ET.fromstring(text).iter("text")]  # noqa: S314
    assert ODD in drawn


def test_a_panel_says_in_words_what_it_shows(found):
    systems = found.tracks[0].systems
    scores, *_ = report_plots.panels("scores", found)
    for system in systems:
        assert f"{system.name}: {system.score.accuracy:.3f}" in scores.about
    confusion = report_plots.panels("confusion", found)[0].about
    counts = systems[0].binary.confusion
    assert f"flags {counts.both} and misses {counts.only_gold}" in confusion
    threshold = report_plots.panels("threshold", found)[0].about
    assert f"{systems[0].binary.thresholds.at(0.5):.3f} at 0.5" in threshold
    ranks = report_plots.panels("ranks", found)[0].about
    assert f"{systems[0].name}: {systems[0].rank}" in ranks


def test_a_system_alone_has_no_comparison(inputs):
    alone = report(inputs[0][:1], inputs[1], intervals=FEW)
    for kind in ("comparison", "ranks"):
        panels = report_plots.panels(kind, alone)
        assert all(panel.draw is None for panel in panels)
        with pytest.raises(ShroomError, match=r"nothing to draw: .*one system"):
            figure_files.file(panels, "svg")


@pytest.mark.parametrize(
    ("shares", "p"),
    [
        ([0.2, 0.8], [0.5, 0.5]),
        ([0.2, 0.2], [0.1, 0.9]),
        ([0.8], [1.0]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([0.5] * 5, [0.5] * 5),
    ],
)
def test_odd_data_are_drawn_or_explained(tmp_path, shares, p):
    rows = gold(len(p))
    said = predictions(len(p))
    for row, each, share, own in zip(rows, said, shares, p):
        row.update({"p(Hallucination)": share, "labels": []})
        row["label"] = "Hallucination" if share > 0.5 else "Not Hallucination"
        each.update({"p(Hallucination)": own})
        each["label"] = "Hallucination" if own > 0.5 else "Not Hallucination"
    held = write_json(tmp_path / "gold" / "val.model-aware.json", rows)
    paths = [write_json(tmp_path / s / "val.model-aware.json", said) for s in ("a", "b")]
    found = report(paths, held, intervals=FEW, trials=20)
    for panel in (panel for kind in KINDS for panel in report_plots.panels(kind, found)):
        assert not re.search(r"\bnan\b", panel.about)
        if panel.draw is None:
            assert "undefined" in panel.about
        else:
            assert not re.search(r"\bnan\b", figure_files.inline(panel, "p"))


@pytest.mark.parametrize("form", ["svg", "PDF", "png"])
def test_the_verb(inputs, shroom, tmp_path, form):
    out = tmp_path / f"figure.{form}"
    given = ("--resamples", 50, "--track", "model-aware", "--width", 10, "--dpi", 40)
    code, said, err = shroom(
        "report", *inputs[0], inputs[1], "--figure", "confusion", "-o", out, *given
    )
    assert (code, said, err) == (0, "", "")
    assert out.read_bytes().startswith(STARTS[form.lower()])


@pytest.mark.parametrize("name", ["figure", "figure.jpg", "-"])
def test_only_forms_that_there_are(inputs, shroom, tmp_path, name):
    out = name if name == "-" else tmp_path / name
    code, _, err = shroom("report", *inputs[0], inputs[1], "--figure", "scores", "-o", out)
    assert code == 2
    assert ".svg, .pdf or .png" in err


def test_a_panel_that_is_undefined_is_named(tmp_path, shroom):
    held = write_json(tmp_path / "gold.json", gold(6))
    flat = [{"label": "Not Hallucination", "p(Hallucination)": 0.25}] * 6
    said = write_json(tmp_path / "flat.json", flat)
    out = tmp_path / "figure.svg"
    code, _, err = shroom("report", said, held, "--figure", "scores", "-o", out, "--resamples", 20)
    assert code == 0
    assert "rho, model-agnostic: left out: rho: flat: undefined: p is constant" in err


@pytest.fixture
def threshold_axes(tmp_path):
    """The threshold plot of a system whose best threshold, 0.498, is very near to 0.5."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    truth = gold(24)
    said = [0.499 if row["p(Hallucination)"] > 0.5 else 0.497 for row in truth]
    rows = [{"label": "Not Hallucination", "p(Hallucination)": p} for p in said]
    paths = [write_json(tmp_path / "a.json", rows), write_json(tmp_path / "gold.json", truth)]
    found = report(paths[:1], paths[1], intervals=Intervals(0))
    axes = Figure().subplots()
    report_plots.panels("threshold", found)[0].draw(axes)
    return axes, found.tracks[0].systems[0].binary.thresholds


def test_the_legend_names_the_best_threshold_with_the_digits_that_it_takes(threshold_axes):
    axes, curve = threshold_axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    (best,) = (text for text in texts if text.startswith("best, "))
    place, score = best.removeprefix("best, ").split(": ")
    assert curve.at(float(place)) == 1.0
    assert score == "1.000"
    assert f"0.5: {curve.at(0.5):.3f}" in texts


def test_no_words_lie_on_the_curve(threshold_axes):
    axes, _ = threshold_axes
    assert not axes.texts
    assert any("majority label" in text.get_text() for text in axes.get_legend().get_texts())


@pytest.mark.parametrize("kind", ["reliability", "threshold", "scatter"])
def test_markers_at_the_edge_are_drawn_whole(found, kind):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    report_plots.panels(kind, found)[0].draw(axes)
    marked = [line for line in axes.lines if line.get_marker() != "None"]
    assert marked
    assert not any(line.get_clip_on() for line in marked)


def test_a_long_name_keeps_its_ends():
    assert shortened("a" * 50 + "b" * 50, 21) == "a" * 10 + "…" + "b" * 10
    assert shortened("\x1b[31m") == "\\u001b[31m"
