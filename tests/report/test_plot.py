"""Figures: every kind in every form, the same bytes twice, a sentence where there is nothing."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from conftest import gold, write_json
from made_up import AGNOSTIC, AWARE, contest
from matplotlib.figure import Figure

from shroom.core.problems import ShroomError
from shroom.evaluation.report import report
from shroom.metrics.accuracy_by_threshold import accuracy_by_threshold
from shroom.metrics.intervals import Intervals
from shroom.report import figure_files, report_plots
from shroom.report.report_plots import KINDS
from shroom.scoring.display.html import LIGHT

FEW = Intervals(50)
STARTS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
ODD = "$x_1$ <b>&amp;<i> 名前 {{ #1d5f9a"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    noises = {ODD: 0.8, "second": 0.5, "third": 0.9}
    folder = tmp_path_factory.mktemp("plot")
    systems, held = contest(folder, noises, 24, (AGNOSTIC, AWARE))
    return [systems / name for name in noises], held


@pytest.fixture(scope="module")
def found(inputs):
    return report(*inputs, intervals=FEW, trials=50)


def drawn(kind, report):
    """Return the axes of the first panel of a kind."""
    axes = Figure().subplots()
    report_plots.panels(kind, report)[0].draw(axes)
    return axes


@pytest.mark.parametrize(
    ("kind", "form"), [*((kind, "svg") for kind in KINDS), ("scores", "pdf"), ("scatter", "png")]
)
def test_every_kind_as_a_file(found, kind, form):
    panels = report_plots.panels(kind, found)
    assert {panel.track for panel in panels} == {"val model-agnostic", "val model-aware"}
    data = figure_files.file(panels[:1], form)
    assert data.startswith(STARTS[form])
    assert data == figure_files.file(panels[:1], form)
    assert not re.search(rb"20\d\d-\d\d-\d\dT|CreationDate|<dc:date>", data)
    if form == "svg":
        assert not re.search(rb"\bnan\b", data)
        width = float(ET.fromstring(data).attrib["width"].removesuffix("pt"))  # noqa: S314
        assert width == pytest.approx(16 / 2.54 * 72, abs=0.1)


@pytest.mark.parametrize(("p", "colour"), [(0.062, "paper"), (0.04, "accent")])
def test_a_dot_is_filled_if_the_difference_is_significant(found, p, colour):
    pair = replace(found.tracks[0].comparisons[0], difference=0.18, ci=(0.017, 0.35), p_adjusted=p)
    axes = Figure().subplots()
    report_plots.differences("val", [pair])[0].draw(axes)
    assert axes.lines[-1].get_markerfacecolor() == LIGHT[colour]


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_page(found, kind):
    panel = report_plots.panels(kind, found)[0]
    text = figure_files.inline(panel, "p0")
    root = ET.fromstring(text)  # noqa: S314 - made here
    assert root.attrib["role"] == "img"
    if kind == "scores":  # a name is written as it is
        assert ODD in ["".join(each.itertext()) for each in root.iter("text")]
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert all(each.startswith("p0-") for each in ids)
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    assert {a or b for a, b in used} <= set(ids)
    tags = "".join(re.findall("<[^>]*>", text))
    assert not set(re.findall("#[0-9a-f]{6}", tags)) & set(LIGHT.values())
    assert "var(--" in tags
    assert "DejaVu" not in tags
    assert len(text) < 60_000


def test_a_system_alone_has_no_comparison(inputs):
    alone = report(inputs[0][:1], inputs[1], intervals=FEW)
    with pytest.raises(ShroomError, match=r"nothing can be drawn: .*one system"):
        figure_files.file(report_plots.panels("comparison", alone), "svg")


def test_a_panel_that_is_undefined_is_named(tmp_path, noted):
    held = write_json(tmp_path / "gold.json", gold(6))
    flat = [{"label": "Not Hallucination", "p(Hallucination)": 0.25}] * 6
    given = (write_json(tmp_path / "flat.json", flat), held, "--resamples", 20)
    err = noted("report", *given, "--figure", "scores", "-o", tmp_path / "figure.svg")
    assert "rho, model-agnostic: not drawn: rho: flat: undefined" in err


def test_the_threshold_is_named_with_the_digits_that_it_takes(tmp_path):
    """The best threshold, 0.498, is very near to 0.5; no words lie on the curve."""
    truth = gold(24)
    said = [0.499 if row["p(Hallucination)"] > 0.5 else 0.497 for row in truth]
    rows = [{"label": "Not Hallucination", "p(Hallucination)": p} for p in said]
    held = write_json(tmp_path / "gold.json", truth)
    found = report([write_json(tmp_path / "a.json", rows)], held, intervals=Intervals(0))
    axes = drawn("threshold", found)
    _, p, gold_label, _ = found.tracks[0].systems[0].aligned.columns
    curve = accuracy_by_threshold(p, gold_label)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    (best,) = (text for text in texts if text.startswith("best, "))
    place, score = best.removeprefix("best, ").split(": ")
    assert (curve.at(float(place)), score) == (1.0, "1.000")
    assert f"0.5: {curve.at(0.5):.3f}" in texts
    assert any("majority label" in text for text in texts)
    assert not axes.texts


@pytest.mark.parametrize("kind", ["reliability", "threshold", "scatter"])
def test_markers_at_the_edge_are_drawn_whole(found, kind):
    marked = [line for line in drawn(kind, found).lines if line.get_marker() != "None"]
    assert marked
    assert not any(line.get_clip_on() for line in marked)
