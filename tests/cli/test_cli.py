"""The command line: exit codes, streams, forms of output, and what it leaves alone."""

import json
import os
import shutil
import subprocess
import sys

import click
import pytest
from conftest import ROOT, SAMPLE, gold, predictions, write_json
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shroom.cli import run
from shroom.core.problems import ShroomError


@pytest.fixture
def files(tmp_path):
    return (
        write_json(tmp_path / "p.json", predictions(12)),
        write_json(tmp_path / "g.json", gold(12)),
    )


def python(*words, **more):
    more = {"capture_output": True, "text": True, **more}
    return subprocess.run([sys.executable, *map(str, words)], **more)


HEAVY = {
    *("IPython", "matplotlib", "pandas", "pooch", "requests", "rich", "sacrebleu", "scipy"),
    *("sklearn", "torch", "transformers"),
}
LIGHT_COMMANDS = {
    "score": ["-m", "shroom", "score", SAMPLE, SAMPLE, "--format", "json"],
    "check": ["-m", "shroom", "check", SAMPLE, "--gold", SAMPLE],
    "agreement": ["-m", "shroom", "gold", "agreement", SAMPLE, "--resamples", "20"],
    "compare": ["-m", "shroom", "compare", SAMPLE, SAMPLE, SAMPLE, "--resamples", "20"],
    "predict": ["-m", "shroom", "predict", "few.json", "-o", "p.json"],
    "--help": ["-m", "shroom", "--help"],
    "scoring program": [ROOT / "scorer" / "scoring_program" / "score.py", ".", "out"],
}
#: Runs a module or a script, and stores the names of what has been imported in the end.
SPY = """
import atexit, runpy, sys
atexit.register(lambda: open("modules", "w").write("\\n".join(sys.modules)))
is_module = sys.argv[1] == "-m"
del sys.argv[: 1 + is_module]
run = runpy.run_module if is_module else runpy.run_path
run(sys.argv[0], run_name="__main__", **({"alter_sys": True} if is_module else {}))
"""


@pytest.mark.parametrize("name", LIGHT_COMMANDS)
def test_nothing_heavy_is_imported(name, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "res")
    shutil.copytree(SAMPLE, tmp_path / "ref")
    write_json(tmp_path / "few.json", gold(3))
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = python("-c", SPY, *LIGHT_COMMANDS[name], cwd=tmp_path, env=path)
    assert done.returncode == 0, done.stderr
    loaded = (tmp_path / "modules").read_text().splitlines()
    assert ("numpy" in loaded) == (name != "--help")
    assert "numpy.ma" not in loaded
    assert not {module.partition(".")[0] for module in loaded} & HEAVY


def test_nothing_heavy_is_imported_before_it_computes():
    code = (
        "import sys, shroom.cli.ensemble, shroom.detectors.similarity\n"
        "from shroom.annotate.base import SCORERS\n"
        "for name in ('judge', 'nli', 'reward'): SCORERS.make(name, model='m')\n"
        "SCORERS.make('selfcheck')\n"
        "print(*sys.modules)"
    )
    loaded = {name.partition(".")[0] for name in python("-c", code).stdout.split()}
    assert "shroom" in loaded
    assert not loaded & (HEAVY | {"tokenizers", "safetensors"})


@pytest.mark.parametrize("entry", [["shroom", "score"], ["shroom.score"]], ids=" ".join)
def test_both_entries_work_as_modules(entry, files):
    done = python("-m", *entry, *files)
    why = "because the two files share neither ids nor texts"
    note = f"note: {files[0]} is aligned by order only, {why}\n"
    assert (done.returncode, done.stderr) == (0, note)
    assert "rho:spearman.avg" in done.stdout


def test_a_failed_run_overwrites_nothing(tmp_path, files, shroom):
    target = tmp_path / "scores.json"
    target.write_text("precious")
    bad = write_json(tmp_path / "bad.json", predictions(3))
    assert shroom("score", bad, files[1], "-o", target, "--format", "json")[0] == 1
    assert target.read_text() == "precious"
    assert shroom("score", *files, "-o", target, "--format", "json")[:2] == (0, "")
    assert json.loads(target.read_text())["results"]
    listed = {path.name for path in tmp_path.iterdir()}
    assert listed == {"bad.json", "g.json", "p.json", "scores.json"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("scor S S", "Did you mean 'score'?"),
        ("check S --gold S --data S", "use either --gold or --data"),
        ("compare - - S", "only one input can be stdin (-)"),
        ("compare S S S --trials 0", "--trials"),
        ("score S S -o a.json", "a.json would contain text, not json; use another ending,"),
        ("score S S --format json -o A.CSV", "A.CSV would contain json, not csv"),
        ("compare S S S -o a.md", "a.md would contain text, not markdown"),
        ("leaderboard S S --html a.pdf", "a.pdf would contain html, not pdf"),
    ],
)
def test_a_wrong_command_line_is_refused(call, said, refused):
    assert said in refused(*(SAMPLE if word == "S" else word for word in call.split()), code=2)


def test_check_says_where_it_guesses_the_track_by_models(tmp_path, shroom):
    path = write_json(tmp_path / "p.json", [{**row, "model": "m"} for row in predictions(3)])
    verdict = "model-aware (3 items; track guessed, because each item names a model)"
    assert shroom("check", path)[:2] == (0, f"valid: {verdict}; 0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    "command", ["datasets describe felm {0}", "datasets describe felm", "check {0}"]
)
def test_a_data_folder_that_is_none_and_an_empty_one_get_the_right_advice(
    tmp_path, shroom, monkeypatch, command
):
    monkeypatch.setenv("SHROOM_DATA", "/nowhere")
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "empty").mkdir()
    code, _, err = shroom(*command.format(tmp_path / "empty").split())
    assert (code, "model-agnostic" in err) == (1, False)
    named = "SHROOM_DATA is /nowhere, which is not a folder"
    assert (named in err) == ("{0}" not in command)


def test_a_broken_pipe_is_silent(files):
    read, write = os.pipe()
    os.close(read)
    done = python("-m", "shroom.score", *files, capture_output=False, stdout=write, stderr=-1)
    os.close(write)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.linux
def test_a_closed_stdout_is_an_error():
    line = ["/bin/sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "shroom", "-h"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("shroom: stdout is closed")


@pytest.mark.linux
def test_ctrl_c_leaves_the_target_alone(tmp_path, files):
    target = tmp_path / "out.json"
    target.write_text("precious")
    code = (
        "import os, signal, sys, importlib\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job may ignore it
        "module = importlib.import_module('shroom.cli.score')\n"
        "from shroom.scoring.results import Score\n"
        "Score.render = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from shroom.cli import main\n"
        "main(module.command, 'shroom score')\n"
    )
    done = python("-c", code, *files, "-o", target, "--format", "json")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "shroom: interrupted; no result was written"
    assert target.read_text() == "precious"


@settings(max_examples=150)
@given(
    st.binary(max_size=200),
    st.sampled_from(["json", "jsonl", "json.gz", "zip", "txt"]),
    st.sampled_from(["score", "check"]),
)
@example(b"[" * 100_000, "json", "score")
@example(b"PK\x03\x04", "json", "check")
@example(b"PK\x05\x06" + b"\0" * 18, "zip", "check")
@example(b"\x1f\x8b\x08\x00", "json", "score")
@example(b"\xff\xfe[\0]\0", "json", "check")
@example(b"[" + b"9" * 5000 + b"]", "json", "check")
@example(b"\x00", "jsonl", "score")
def test_any_bytes_whatever_end_in_a_sentence(tmp_path, shroom, data, ending, verb):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(data)
    truth = write_json(tmp_path / "g.json", gold(3))
    code, _, err = shroom(verb, path, *([truth] if verb == "score" else []))
    assert code in (0, 1, 2)
    assert "Traceback" not in err
    assert code == 0 or err
    code, _, err = shroom("score", truth, path)
    assert code in (1, 2)
    assert "Traceback" not in err


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(
    "verb",
    [
        ["score", SAMPLE, SAMPLE, "--resamples", "20"],
        ["gold", "check", SAMPLE, "--resamples", "20"],
        ["gold", "agreement", SAMPLE / "val.model-aware.json", "--resamples", "20"],
        ["list", "metrics"],
    ],
    ids=lambda verb: " ".join(map(str, verb[:2])),
)
def test_tables_fit_the_terminal(verb, width, tmp_path, shroom, table_width):
    plain = shroom(*verb)[1]
    table_width(width)
    out = shroom(*verb)[1]
    if verb[0] != "list":
        shroom(*verb, "-o", tmp_path / "out.txt")
        assert (tmp_path / "out.txt").read_text() == plain  # a file has no width
    rules = [line for line in out.splitlines() if set(line.strip()) == {"-"}]
    assert max(map(len, rules or out.splitlines())) <= width
    assert out != plain


def test_an_error_of_several_lines_is_printed_in_several_lines(capsys):
    @click.command()
    def failing():
        raise ShroomError("a.json: wrong\nb.json: \x1b[1mworse")

    assert run(failing, [], "shroom") == 1
    assert capsys.readouterr().err == "shroom: a.json: wrong\nb.json: \\u001b[1mworse\n"
