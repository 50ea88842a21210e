"""Shared by the tests: where the real data are, how to run a command, made-up rows."""

import csv
import functools
import gc
import importlib
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# More threads than one a worker only wait for each other. Torch reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from shroom.cli import run
from shroom.core.printing import TABLE_WIDTH
from shroom.detectors.cross_encoder.detector import MODEL
from shroom.detectors.cross_encoder.model_folder import ModelFolder

# Time is never what a test is about, least of all on a busy machine. CI looks longer.
settings.register_profile(
    "shroom",
    max_examples=100 if os.environ.get("SHROOM_TEST_ALL") else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("shroom")

# A test computes what it shows.
os.environ["SHROOM_NO_CACHE"] = "1"

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "shroom" / "sample"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DATA = ROOT / (os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data")
os.environ["SHROOM_DATA"] = str(DATA)
#: The marks of tests that cannot run on this machine, and what they need.
MISSING = {
    mark: need
    for mark, need, present in (
        ("real", f"the real data in {DATA} (set SHROOM_DATA)", DATA.is_dir()),
        ("browser", "a browser (apt-get install chromium)", BROWSER),
        ("linux", "Linux", sys.platform == "linux"),
    )
    if not present
}
#: The files whose tests run a model in torch. CI runs them twice, with and without the newest
#: instructions of the processor.
MODELS = {
    "test_annotate_models",
    "test_annotate_similarity",
    "test_classifier",
    "test_nli",
    "test_onnx",
    "test_selfcheck",
    "test_similarity",
    "test_windows",
}
#: The files that take longest. They start first, so that all processes end together.
LONGEST = ("test_doc_pages", "test_golden", "test_help", "test_site", "test_no_code_from_files")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: needs the real data, in the folder SHROOM_DATA")
    config.addinivalue_line(
        "markers", "browser: opens pages in Chromium (apt-get install chromium)"
    )
    config.addinivalue_line("markers", "linux: needs links, pipes, signals, /proc or a Unix shell")
    config.addinivalue_line("markers", "models: computes with a model in torch")
    if MISSING and os.environ.get("SHROOM_TEST_ALL"):
        needs = " and ".join(MISSING.values())
        raise pytest.UsageError(f"SHROOM_TEST_ALL is set, and these are missing: {needs}")


def pytest_report_header() -> list[str]:
    return [f"left out: tests marked {mark!r}, which need {need}" for mark, need in MISSING.items()]


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in MODELS:
            item.add_marker("models")
    left_out = [item for item in items if MISSING.keys() & set(item.keywords)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no other files for the tests that run a model."""
    only_models = config.option.markexpr == "models" and collection_path.suffix == ".py"
    return (only_models and collection_path.stem not in {*MODELS, "test_golden"}) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for garbage neither while the tests are imported nor later in what they import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(params=["quick", "slow"])
def both_readers(request, monkeypatch):
    """Read rows as columns, and row by row as the scoring program does."""
    if request.param == "slow":
        monkeypatch.setattr("shroom.scoring.row_reader.quick", None)


@pytest.fixture
def shroom(capfd):
    """Run a command line in process; return the exit code, stdout and stderr."""

    def call(*args):
        command = importlib.import_module("shroom.cli").shroom
        code = run(command, [str(arg) for arg in args], "shroom")
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def done(shroom):
    """Run a command line that succeeds; return stdout."""

    def call(*args):
        code, out, err = shroom(*args)
        assert code == 0, err
        return out

    return call


@pytest.fixture
def noted(shroom):
    """Run a command line that succeeds; return stderr."""

    def call(*args):
        code, _, err = shroom(*args)
        assert code == 0, err
        return err

    return call


@pytest.fixture
def in_json(done):
    """Run a command line that succeeds with --format json; return what it prints, read strictly."""

    def call(*args):
        return json.loads(done(*args, "--format", "json"), parse_constant=pytest.fail)

    return call


@pytest.fixture
def refused(shroom):
    """Run a command line that is refused, with sentences on stderr alone; return them."""

    def call(*args, code=1):
        found, out, err = shroom(*args)
        assert (found, out, "Traceback" in err) == (code, "", False), err
        return err

    return call


@pytest.fixture
def table_width():
    """Set how wide the tables of a test may be."""
    token = TABLE_WIDTH.set(None)
    yield TABLE_WIDTH.set
    TABLE_WIDTH.reset(token)


@pytest.fixture
def notes():
    """A list for what a run notes."""
    return []


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Make tiny models by the name of their maker, each once; who changes one makes a copy."""

    @functools.cache
    def make(kind, *given, **more):
        maker = getattr(importlib.import_module("tiny_models"), kind)
        return str(maker(tmp_path_factory.mktemp(kind), *given, **more))

    return make


@pytest.fixture(scope="session", autouse=True)
def _opened_once():
    """Open the shipped cross-encoder once for all tests of a process: it takes a second."""
    opened, sessions = ModelFolder._opened, {}

    def once(self, precision):
        if (self.folder, precision) != (MODEL, "int8"):
            return opened(self, precision)
        if not sessions:
            sessions[precision] = opened(self, precision)
        return sessions[precision]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelFolder, "_opened", once)
        yield


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """A cache of the kit for tests that run the same models on the same items."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")  # while one runs, nothing else in its thread can use asyncio
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The sandbox of Chromium does not start for root, whom containers run as.
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


def serious_findings(page) -> list[tuple[str, str]]:
    """Return what axe finds serious or critical on a page, each with the part of the page."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (violation["id"], node["html"])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@pytest.fixture
def serve():
    """Start servers that answer as a function of the request says, and stop them in the end."""
    from chat_server import Server

    started = []

    def start(*given):
        started.append(Server(*given))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """Make what asks an endpoint: it keeps answers in a folder of the test, and never waits."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    usual = {"model": "m", "cache": str(tmp_path / "cache")}

    def make(kind, url="http://localhost:1/v1", **more):
        return kind(**{**usual, "endpoint": url, **more})

    return make


def write_json(path: Path, rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def nli_models() -> list[str]:
    """Return the names of the six NLI models whose outputs on SHROOM are recorded."""
    return sorted(path.name[: -len(".val.score.txt")] for path in DATA.glob("nli_outputs/*.txt"))


def nli_submission(model: str, folder: Path, split: str = "val") -> Path:
    """Write the recorded outputs of an NLI model as a submission, and return its folder.
    p = C/(C+E), 0.5 if both are 0, or C if E is not recorded; Hallucination above 0.5.
    """
    for track in ("agnostic", "aware"):
        recorded = DATA / "nli_outputs" / f"{model}.{split}.model-{track}.csv"
        with recorded.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        items = []
        for row in rows:
            c, e = float(row["p(Contr)"]), row.get("p(Entl)")
            p = c if e is None else c / (c + float(e)) if c + float(e) else 0.5
            label = "Hallucination" if p > 0.5 else "Not Hallucination"
            ids = {"id": int(row["id"])} if "id" in row else {}
            items.append({**ids, "label": label, "p(Hallucination)": p})
        write_json(folder / f"{split}.model-{track}.json", items)
    return folder


def write_lines(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def predictions(n: int = 12, *, first_id: int | None = None) -> list[dict]:
    """Return n valid predictions, with ids where a first one is given."""
    rows = []
    for i in range(n):
        p = round((i * 7 % n) / n, 3)
        row = {"label": "Hallucination" if p > 0.5 else "Not Hallucination", "p(Hallucination)": p}
        rows.append(row if first_id is None else {"id": first_id + i, **row})
    return rows


def gold(n: int = 12, *, first_id: int | None = None) -> list[dict]:
    """Return n labelled datapoints, with ids where a first one is given."""
    rows = []
    for i in range(n):
        p = (i * 5 % 6) / 5
        row = {
            "hyp": f"hypothesis {i}",
            "src": f"source {i}",
            "tgt": f"target {i}",
            "ref": ("src", "tgt", "either")[i % 3],
            "task": ("DM", "MT", "PG", "TS")[i % 4],
            "model": "",
            "labels": ["Hallucination"] * round(p * 5) + ["Not Hallucination"] * round(5 - p * 5),
            "label": "Hallucination" if p > 0.5 else "Not Hallucination",
            "p(Hallucination)": p,
        }
        rows.append(row if first_id is None else {"id": first_id + i, **row})
    return rows


def annotate_inputs(folder: Path, scorer: str) -> None:
    """Write what the verbs of annotate read: questions, labelled ones, seeds and a config."""
    rows = [
        {"question": f"Who wrote {n}?", "answer": "A man", "generation": ["A man", "Nobody knows"]}
        for n in range(20)
    ]
    kinds = ("all-right", "all-wrong")
    write_lines(folder / "questions.jsonl", rows[:2])
    labelled = [{**row, "category": kinds[n % 2]} for n, row in enumerate(rows)]
    write_lines(folder / "labelled.jsonl", labelled)
    seeds = [{"query": f"Should people read book {n}?"} for n in range(20)]
    write_lines(folder / "seeds.jsonl", seeds)
    config = {"data": "questions.jsonl", "scorers": [scorer], "output": "scored.jsonl"}
    write_json(folder / "annotate.yaml", config)


def felm_row(index: int, labels: Sequence[bool] = (True, False), **changed: object) -> dict:
    """Return a response in FELM's form, with a segment for each label."""
    segments = [f"Segment {number} of {index}." for number in range(len(labels))]
    return {
        "index": str(index),
        "domain": ("wk", "science", "writing_rec", "reasoning", "math")[index % 5],
        "source": "made up",
        "prompt": f"Question {index}?",
        "response": " ".join(segments),
        "segmented_response": segments,
        "labels": list(labels),
        "comment": ["" if label else "no" for label in labels],
        "type": [None if label else "knowledge_error" for label in labels],
        "ref": ["https://example.org"],
        "ref_contents": [f"Passage on {index}."],
    } | changed
