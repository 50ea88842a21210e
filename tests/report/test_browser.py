"""The pages in a real browser: Debian's Chromium, without a network."""

import itertools
import re

import pytest
from conftest import gold, predictions, serious_findings, write_json

from shroom.evaluation.leaderboard import leaderboard
from shroom.evaluation.report import report
from shroom.evaluation.rescore import rescore
from shroom.metrics.intervals import Intervals
from shroom.report.report_page import page as report_page
from shroom.scoring.display.html import scores_page
from shroom.scoring.scores import score

pytestmark = pytest.mark.browser

FEW = Intervals(100)
HOSTILE = (
    "<script>document.title = 'stolen'</script><img src=x onerror=\"document.title='stolen'\">"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Gold and four systems, one of them invalid; a hypothesis that is a script."""
    root, n = tmp_path_factory.mktemp("browser"), 48
    rows = gold(n)
    for row in rows:
        row["hyp"] = f"{HOSTILE} {row['hyp']}"
    for track in ("agnostic", "aware"):
        write_json(root / "gold" / f"val.model-{track}.json", rows)
        for place, system in enumerate(("alpha", "beta <b>", "gamma-" + "long-" * 20)):
            said = predictions(n)[3 * place :] + predictions(n)[: 3 * place]
            write_json(root / "all" / system / f"val.model-{track}.json", said)
    write_json(root / "all" / "broken" / "val.model-aware.json", [{"label": HOSTILE}] * n)
    return root


class Visit:
    """A page that is opened, and everything that it does besides being shown."""

    def __init__(self, browser, path, text, **how):
        path.write_text(text, encoding="utf-8")
        self.path, self.errors, self.requests = path, [], []
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **how)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a busy machine is no failure
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.route("**/*", self._asked)
        self.page.goto(path.as_uri())

    def _asked(self, route):
        self.requests.append(route.request.url)
        if route.request.url == self.path.as_uri():
            route.continue_()
        else:
            route.abort()

    def quiet(self):
        """Whether it asked for nothing but itself, with no error, and ran no stranger's script."""
        assert self.requests == [self.path.as_uri()]
        assert self.errors == []
        assert self.page.title().startswith("SHROOM")
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.page.viewport_size["width"]
        return True

    def heads(self):
        return self.page.locator("table.sortable").first.locator("thead th")

    def column(self, name):
        """The cells of a column of the systems that are shown, from above."""
        number = self.heads().all_inner_texts().index(name) + 1
        body = self.page.locator("table.sortable").first.locator("tbody").first
        return body.locator(f"tr:visible > :nth-child({number})").all_inner_texts()


@pytest.fixture
def visit(browser, tmp_path):
    visits = []

    def open_(text, **how):
        visits.append(Visit(browser, tmp_path / "page.html", text, **how))
        return visits[-1]

    yield open_
    for each in visits:
        each.context.close()


@pytest.fixture(scope="module")
def board(folder):
    where = folder / "all", folder / "gold"
    return leaderboard(*where, intervals=FEW, trials=200).render("html")


@pytest.fixture(scope="module")
def rescored(folder):
    """The systems by two golds, of which the new one has other labels on three items."""
    rows = [{**row, "hyp": f"{HOSTILE} {row['hyp']}"} for row in gold(48)]
    for row in rows[:3]:
        row.update({"label": "Hallucination", "p(Hallucination)": 1.0})
    for track in ("agnostic", "aware"):
        write_json(folder / "new" / f"val.model-{track}.json", rows)
    found = rescore(folder / "gold", folder / "new", [folder / "all"], intervals=FEW)
    return found.render("html")


@pytest.fixture(scope="module")
def small_report(folder):
    systems = sorted(path for path in (folder / "all").iterdir() if path.name != "broken")
    found = report(systems, folder / "gold", intervals=FEW, trials=200)
    return report_page(found, "shroom report …")


@pytest.fixture(scope="module")
def small_form(folder):
    return scores_page(score(folder / "all" / "alpha", folder / "gold", intervals=FEW))


def numbers(cells):
    return [float(re.match(r"[\d.]+", cell).group()) for cell in cells]


def test_a_leaderboard_is_sorted_and_filtered(visit, board):
    opened = visit(board)
    page = opened.page
    beside = page.locator("tbody.beside >> nth=0").inner_text()
    ranked = opened.column("system"), opened.column("rank")
    assert ranked[1] == sorted(ranked[1])
    accuracy, rank = (
        opened.heads().nth(opened.heads().all_inner_texts().index(name))
        for name in ("accuracy", "rank")
    )
    for order, direction in (("descending", True), ("ascending", False)):
        accuracy.get_by_role("button").click()
        assert accuracy.get_attribute("aria-sort") == order
        shown = numbers(opened.column("accuracy"))
        assert shown == sorted(shown, reverse=direction)
        assert page.locator("table.sortable").first.locator("th[aria-sort]").count() == 1
    assert page.locator("tbody.beside >> nth=0").inner_text() == beside
    rank.get_by_role("button").press("Enter")
    assert (opened.column("system"), opened.column("rank")) == ranked
    page.get_by_label("Search").first.fill("ALPHA")
    assert len(opened.column("system")) == 1
    assert page.locator("output").first.inner_text() == "1 of 3 systems shown"
    page.get_by_label("Search").first.fill("")
    page.get_by_label("Group").first.select_option("1")
    assert len(opened.column("system")) == 3
    assert "broken" in page.inner_text("main")
    assert opened.quiet()


def test_a_leaderboard_sorts_ten_after_nine(visit, tmp_path):
    held = write_json(tmp_path / "gold.json", gold(30))
    for place in range(11):
        said = predictions(30)[place:] + predictions(30)[:place]
        write_json(tmp_path / "all" / f"system{place}.json", said)
    board = leaderboard(tmp_path / "all", held, intervals=FEW, trials=100)
    opened = visit(board.render("html"))
    rank = opened.heads().all_inner_texts().index("rank")
    for _ in range(2):
        opened.heads().nth(rank).get_by_role("button").click()
    shown = [int(cell) for cell in opened.column("rank")]
    assert shown == sorted(shown)
    opened.heads().nth(0).get_by_role("button").click()
    assert opened.column("system")[-1] == "system10"


def test_items_are_found_and_opened_and_printing_opens_the_slices(visit, small_report):
    opened = visit(small_report)
    items = opened.page.locator("table.items").first.locator("tbody tr:visible")
    every = items.count()
    opened.page.get_by_label("Search").first.fill("HYPOTHESIS 7")  # also in a closed row
    assert 0 < items.count() < every
    opened.page.get_by_label("Search").first.fill("")
    assert items.count() == every
    details = opened.page.locator("table.items details").first
    assert details.get_attribute("open") is None
    details.locator("summary").press("Enter")
    assert details.locator("dd").first.is_visible()
    assert details.locator("dd").first.inner_text().startswith(f"{HOSTILE} hypothesis ")
    assert "p = " in details.inner_text()
    assert opened.quiet()
    closed = opened.page.locator("details.slices:not([open])")
    assert closed.count() > 0
    assert opened.page.pdf().startswith(b"%PDF")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.fixture(scope="module")
def undefined(folder):
    """A report of systems without a rho."""
    n = 6
    held = write_json(folder / "flat.json", gold(n))
    flat = [{"label": "Not Hallucination", "p(Hallucination)": 0.25}] * n
    paths = [write_json(folder / f"flat {place}" / "p.json", flat) for place in range(2)]
    found = report(paths, held, intervals=Intervals(20), trials=20)
    return report_page(found, "shroom report …")


@pytest.mark.parametrize("which", ["board", "rescored", "small_report", "small_form", "undefined"])
def test_a_page_fits_and_is_accessible_in_both_looks(visit, request, which):
    text = request.getfixturevalue(which)
    opened = visit(text)
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width, scheme in itertools.product((360, 390, 1280), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert opened.quiet()
        ground, ink = page.evaluate(
            "(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))"
        )
        assert (brightness(ground) > brightness(ink)) == (scheme == "light")
        for figure in page.locator("svg.plot").all()[:3]:
            box = figure.bounding_box()
            assert box["x"] + box["width"] <= width
        if (width, scheme) in ((1280, "light"), (390, "dark")):
            assert serious_findings(page) == []
    whole = visit(text, java_script_enabled=False)
    assert whole.page.locator("form.filter").count() == 0
    assert whole.page.locator("table button").count() == 0
    assert whole.page.locator("main table").first.is_visible()
    assert whole.requests == [whole.path.as_uri()]
