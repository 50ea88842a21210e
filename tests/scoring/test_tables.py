"""Tables: one table in every form, and what a result gets from its tables."""

from dataclasses import replace

from html_outline import Outline

from shroom.metrics.intervals import Marked
from shroom.scoring.display.html import html
from shroom.scoring.result import Result
from shroom.scoring.tables import ROSE, Beside, Estimate, Table, markdown, text

ROWS = [
    ("a|b\x1b*", Estimate(1, (1, 2), form="d"), Estimate(0.75, (0.5, 1.0), star=9), ""),
    ("<i>", Estimate(2, (1, 2), form="d"), Estimate(None), ""),
    None,
    Beside(("(floor: x)", "", Estimate(0.5, Marked((0.25, 0.5), "too few")), "")),
]
TABLE = Table(
    "the title",
    ("", ("rank", "ranks"), "rho", "left out"),
    ROWS,
    ["a note", "- an item", "  another", "shroom|v:1"],
    "95% interval",
    about=["  about it"],
    sort="rank",
    groups="rank",
)


class Found(Result):
    """A result that writes the least."""

    def tables(self):
        return [TABLE, Table(notes=["the end"])]

    def to_dict(self):
        return {"n": 2}


def test_text():
    assert text(Found().tables()) == (
        "the title\n"
        "  about it\n"
        "            rank  ranks    rho     95% interval\n"
        "------------------------------------------------\n"
        "a|b\\u001b*     1    1–2  0.750*  [0.500, 1.000]\n"
        "<i>            2    1–2      –\n"
        "------------------------------------------------\n"
        "(floor: x)               0.500   [0.250, 0.500]‡\n"
        "a note\n- an item\n  another\nshroom|v:1\n\nthe end\n"
    )


def test_only_text_shortens_words():
    table = Table(heads=("", "n"), rows=[("begin-middle-end*", 1)], letters=9)
    assert text([table]) == "           n\n------------\nbegi…end*  1\n"
    assert all("begin-middle-end" in form([table]) for form in (markdown, html))


def test_markdown():
    lines = markdown([TABLE]).splitlines()
    assert lines[:6] == [
        "## the title",
        "",
        "about it",
        "",
        "|  | rank | ranks | rho | 95% interval |",
        "|:---|---:|---:|---:|---:|",
    ]
    assert "| a\\|b\\\\u001b\\* | 1 | 1–2 | 0.750\\* | [0.500, 1.000] |" in lines
    assert lines[-6:] == ["a note", "", "- an item", "- another", "", "`shroom|v:1`"]
    rows = [line for line in markdown([replace(TABLE, below=True)]).splitlines() if "|" in line]
    assert {line.count("|") - line.count("\\|") for line in rows[:-1]} == {4}


def test_html():
    page = html([TABLE])
    outline = Outline(page)
    assert "<i>" not in page
    assert "\x1b" not in page
    assert [given.get("aria-sort") for given in outline.all("th")][:5] == [
        None,
        "ascending",
        None,
        None,
        None,
    ]
    assert [given["class"] for given in outline.all("tbody")] == ["plain", "beside"]
    assert page.count('class="opens"') == 2
    assert '<abbr title="doubtful: too few">‡</abbr>' in page
    assert '<td class="n" data-value="0.75">0.750*</td>' in page
    assert '<td class="n" data-value="">–</td>' in page
    assert "<ul><li>an item</li><li>another</li></ul>" in page


def test_odd_cells():
    assert text([Table("t", ("a",), [("",)])]) == "t\n"
    nan = Estimate(0.5, (float("nan"), 1.0))
    cells = Table(heads=("", "x", "weight"), rows=[("a", nan, "−0.250"), ("b", 0.5, "1 or more")])
    page = html([cells, Table(notes=["old: shroom|v:1"])])
    assert "nan" not in page
    assert 'data-value="-0.250">−0.250' in page
    assert '<td class="n words" data-value="1">1 or more' in page
    assert "old: <code>shroom|v:1</code>" in page


def test_a_result_has_every_form():
    found = Found()
    assert found.render("text") == text(found.tables())
    assert found.render("json") == '{"n": 2}\n'
    first, *_, last = found.records()
    assert (first["rho"], first["rho_low"]) == (0.75, 0.5)
    assert last["rho_note"] == "too few"
    frame = found.to_frame()
    assert frame["rho"].tolist()[::2] == [0.75, 0.5]
    assert found.render("csv").startswith(",rank,rank_low,rank_high,rank_note,rho,")
    assert "the end" in found.render("html")
    assert found.panels() == {}


def test_a_head_of_several_columns(table_width):
    rise = Estimate(2, (-1, 3), form=ROSE)
    table = Table(
        "", ("", "rank\nold", "change", "rho\nold"), [("long name", 3, rise, 0.5)], ci="range"
    )
    assert text([table]).splitlines()[:2] == [
        "           rank                      rho",
        "            old  change     range    old",
    ]
    assert "| rank old | change | range | rho old |" in markdown([table])
    heads = [it.get("colspan") for it in Outline(html([table])).all("th") if "colspan" in it]
    assert heads == ["3", "1"]
    table_width(26)
    assert "(rank)" in text([table])
