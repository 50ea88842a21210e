"""The documentation as ``make docs`` builds it, as files and in a browser."""

import functools
import html
import http.server
import re
import runpy
import subprocess
import sys
import threading
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from conftest import ROOT, serious_findings

from shroom.scoring.metric_registry import METRICS, describe, others

WITH_WIDE_TABLES = ["benchmarks", "datasets", "felm"]
PAGES = ["", "install/", "metrics/", "notebooks/compare-systems/", "reference/functions/"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def address(site):
    """The address of a server that has the site and nothing else."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_every_link_leads_to_a_page_and_an_anchor(site):
    texts = {
        "/" + path.relative_to(site).as_posix(): path.read_text(encoding="utf-8")
        for path in site.rglob("*.html")
    }
    anchors = {name: set(re.findall(r'\sid="([^"]*)"', text)) for name, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in map(html.unescape, re.findall(r'\s(?:href|src)="([^"]*)"', text)):
            url = urlsplit(urljoin(page, link))
            if url.scheme or url.netloc:
                continue
            name = unquote(url.path) + ("index.html" if url.path.endswith("/") else "")
            anchor = unquote(url.fragment)
            exists = (site / name[1:]).is_file()
            is_page = not name.endswith(".png")  # the anchor of a picture chooses light or dark
            if not exists or (is_page and anchor and anchor not in anchors[name] | {"__top"}):
                broken.append((page, link))
    assert broken == []


def test_the_page_of_metrics_has_the_facts_of_each(site):
    page = html.unescape((site / "metrics" / "index.html").read_text(encoding="utf-8"))
    for metric in map(describe, [*METRICS, *others()]):
        assert metric.formula in page
        assert metric.facts()["in Python"] in page


@pytest.mark.browser
def test_the_search_works_and_no_other_host_is_asked(browser, address):
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine is no failure
        requests, errors = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for name in PAGES:
            page.goto(address + name)
        search = page.get_by_role("textbox", name="Search")
        search.fill("Krippendorff")
        search.press("End")  # the search reads the text when a key is released
        first = page.locator(".md-search-result__link").first.get_attribute("href")
        assert first.startswith(f"{address}metrics/")
        assert [url for url in requests if not url.startswith((address, "data:"))] == []
        assert errors == []


@pytest.mark.browser
def test_the_copy_button_copies_commands_without_prompts_and_output(browser, address):
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(address + "tutorials/first-score/")
        page.locator(".highlight:has(.go) [data-md-type=copy]").first.click()
        page.get_by_text("Copied to clipboard").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == "shroom predict cross-encoder shroom/sample -o mine/ --precision float32"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "look"), [(1280, "light"), (390, "dark")])
def test_pages_are_accessible_and_fit(browser, address, width, look):
    viewport = {"width": width, "height": 900}
    palette = {"light": "default", "dark": "slate"}[look]
    with browser.new_context(viewport=viewport, color_scheme=look) as context:
        page = context.new_page()
        page.set_default_timeout(120_000)
        for name in PAGES:
            page.goto(address + name)
            page.wait_for_selector(f"body[data-md-color-scheme={palette}]")
            assert serious_findings(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for name in WITH_WIDE_TABLES if width == 1280 else ():
            page.goto(f"{address}{name}/")
            cut = "wraps => wraps.map(wrap => wrap.scrollWidth - wrap.clientWidth)"
            page.wait_for_selector(".md-typeset__scrollwrap")
            assert max(page.eval_on_selector_all(".md-typeset__scrollwrap", cut)) <= 0, name


def test_the_terminal_shows_what_the_commands_print():
    pictures = runpy.run_path(str(ROOT / ".ci" / "pictures.py"))
    drawn = (ROOT / "docs" / "terminal.svg").read_text(encoding="utf-8")
    assert pictures["terminal"]() == drawn, "run: python .ci/pictures.py"
