"""The command line: exit codes, streams, forms of output, and what it leaves alone."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, SAMPLE, gold, predictions, write_json
from hypothesis import example, given, settings
from hypothesis import strategies as st


@pytest.fixture
def files(tmp_path):
    return (
        write_json(tmp_path / "p.json", predictions(12)),
        write_json(tmp_path / "g.json", gold(12)),
    )


HEAVY = {
    *("IPython", "matplotlib", "pandas", "pooch", "requests", "rich", "sacrebleu", "scipy"),
    *("sklearn", "torch", "transformers"),
}
SHROOM = ["-m", "shroom"]
LIGHT_COMMANDS = {
    "score": [*SHROOM, "score", SAMPLE, SAMPLE, "--format", "json"],
    "check": [*SHROOM, "check", SAMPLE, "--gold", SAMPLE],
    "agreement": [*SHROOM, "gold", "agreement", SAMPLE, "--resamples", "20"],
    "compare": [*SHROOM, "compare", SAMPLE, SAMPLE, SAMPLE, "--resamples", "20"],
    "predict": [*SHROOM, "predict", "few.json", "-o", "p.json"],
    "--help": [*SHROOM, "--help"],
    "scoring program": [ROOT / "scorer" / "scoring_program" / "score.py", ".", "out"],
}
#: Runs a module or a script, and stores the names of what has been imported in the end.
SPY = """
import atexit, runpy, sys
atexit.register(lambda: open("modules", "w").write("\\n".join(sys.modules)))
if sys.argv[1] == "-m":
    sys.argv[:2] = []
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    sys.argv[:1] = []
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", LIGHT_COMMANDS)
def test_nothing_heavy_is_imported(name, tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "res")
    shutil.copytree(SAMPLE, tmp_path / "ref")
    write_json(tmp_path / "few.json", gold(3))
    command = [sys.executable, "-c", SPY, *LIGHT_COMMANDS[name]]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True)
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & (HEAVY | {"tokenizers", "safetensors"})


def test_both_entries_work_as_modules(files):
    for entry in (["shroom", "score"], ["shroom.score"]):
        done = subprocess.run(
            [sys.executable, "-m", *entry, *map(str, files)], capture_output=True, text=True
        )
        note = f"note: {files[0]} is aligned by order only: neither ids nor texts show it\n"
        assert (done.returncode, done.stderr) == (0, note)
        assert "rho:spearman.avg" in done.stdout


def test_text_shows_floors_slices_and_intervals(files, shroom):
    code, out, _ = shroom("score", *files)
    assert code == 0
    for shown in (
        "majority label",
        "constant p",
        "gold label as p",
        "task DM",
        "ref src",
        "agreement",
    ):
        assert shown in out
    assert "[" in out
    _, bare, _ = shroom("score", *files, "--no-ci", "--by", "task")
    assert "[" not in bare
    assert "ref src" not in bare


def test_json_is_what_the_design_says(files, shroom):
    code, out, err = shroom("score", *files, "--format", "json")
    assert (code, err) == (0, "")
    result = json.loads(out, parse_constant=pytest.fail)
    assert set(result) == {"signature", "results", "intervals", "warnings"}
    (track,) = result["results"]
    assert {"track", "n", "accuracy", "rho", "accuracy_ci", "rho_ci", "slices"} <= set(track)
    assert set(track["slices"]) == {"task", "ref", "agreement"}
    assert all(
        low <= track[name] <= high
        for name in ("accuracy", "rho")
        for low, high in [track[f"{name}_ci"]]
    )
    assert sum(part["n"] for part in track["slices"]["task"].values()) == track["n"] == 12
    assert result["signature"].startswith("shroom|v:")
    assert "|edition:semeval2024|track:model-agnostic|n:12|gold:" in result["signature"]
    assert result["signature"].endswith("|align:order|rho:spearman.avg")


def test_two_runs_print_the_same_bytes(files, shroom):
    for form in ("text", "json", "codalab"):
        assert shroom("score", *files, "--format", form) == shroom(
            "score", *files, "--format", form
        )
    assert shroom("score", *files, "--seed", 1) != shroom("score", *files)


def test_constant_p(tmp_path, files, shroom):
    rows = [{"label": "Hallucination", "p(Hallucination)": 1} for _ in range(12)]
    constant = write_json(tmp_path / "c.json", rows)
    code, out, err = shroom("score", constant, files[1], "--format", "json")
    (track,) = json.loads(out)["results"]
    assert (code, track["rho"], track["rho_ci"]) == (0, None, None)
    assert "p-constant" in err
    undefined = "–: undefined, where p or the gold is the same on all items"
    assert undefined in shroom("score", constant, files[1])[1].splitlines()
    assert undefined not in shroom("score", *files, "--by", "")[1]
    _, out, _ = shroom("score", constant, files[1], "--format", "codalab")
    assert yaml.safe_load(out) == {
        "agnostic_acc": track["accuracy"],
        "agnostic_rho": 0.0,
        "aware_acc": 0.0,
        "aware_rho": 0.0,
    }


def test_two_splits_have_no_platform_form(tmp_path, shroom):
    for split in ("val", "test"):
        write_json(tmp_path / "s" / f"{split}.model-aware.json", predictions(12))
        write_json(tmp_path / "g" / f"{split}.model-aware.json", gold(12))
    code, out, _ = shroom("score", tmp_path / "s", tmp_path / "g", "--format", "json")
    assert [r["split"] for r in json.loads(out)["results"]] == ["val", "test"]
    code, out, err = shroom("score", tmp_path / "s", tmp_path / "g", "--format", "codalab")
    assert (code, out) == (1, "")
    assert "one split" in err


def test_a_failed_run_overwrites_nothing(tmp_path, files, shroom):
    target = tmp_path / "scores.json"
    target.write_text("precious")
    bad = write_json(tmp_path / "bad.json", predictions(3))
    code, _, _ = shroom("score", bad, files[1], "-o", target)
    assert code == 1
    assert target.read_text() == "precious"
    code, out, _ = shroom("score", *files, "-o", target, "--format", "json")
    assert (code, out) == (0, "")
    assert json.loads(target.read_text())["results"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bad.json",
        "g.json",
        "p.json",
        "scores.json",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["score"],
        ["score", "nowhere.json", "nowhere.json"],
        ["score", "-", "-"],
        ["score", str(SAMPLE), str(SAMPLE), "--by", "tasks"],
        ["score", str(SAMPLE), str(SAMPLE), "--format", "xml"],
        ["check", str(SAMPLE), "--gold", str(SAMPLE), "--data", str(SAMPLE)],
        ["check", "--nonsense"],
        ["check", str(SAMPLE), "--edition", "semeval24"],
        ["score", str(SAMPLE), str(SAMPLE), "--edition", "semeval24"],
        ["score", str(SAMPLE), str(SAMPLE), "--metrics", "aurocc"],
        ["predict", "lexical", str(SAMPLE)],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_ends_with_2(arguments, shroom):
    code, out, err = shroom(*arguments)
    assert (code, out) == (2, "")
    assert "Error" in err or "did you mean" in err


def test_a_mistyped_verb_gets_a_suggestion(shroom):
    code, out, err = shroom("scroe")
    assert (code, out) == (2, "")
    assert "Did you mean 'score'?" in err


def test_check_prints_its_verdict_on_stdout_and_problems_on_stderr(tmp_path, files, shroom):
    code, out, err = shroom("check", files[0], "--gold", files[1])
    assert (code, err) == (0, "")
    assert out.startswith("valid: model-agnostic (12 items, aligned by order only; ")
    bad = write_json(tmp_path / "bad.json", [{"label": "hallucination", "p(Hallucination)": 2}])
    code, out, err = shroom("check", bad)
    assert code == 1
    assert out == "not valid: 2 errors, 0 warnings\n"
    assert (
        f"{bad}: item 0: label: expected "
        '"Hallucination" or "Not Hallucination", got "hallucination" [label-value]'
    ) in err.splitlines()
    code, out, _ = shroom("check", bad, "--format", "json")
    report = json.loads(out)
    assert (code, report["ok"], report["counts"]) == (1, False, {"label-value": 1, "p-range": 1})
    assert all(problem["mend"] for problem in report["problems"])


@pytest.mark.parametrize(
    ("name", "model", "verdict"),
    [
        ("p.csv", "", "model-agnostic (3 items; taken for this track, as no item names a model)"),
        ("p.json", "m", "model-aware (3 items; taken for this track, as each item names a model)"),
        ("val.model-aware.json", "", "val model-aware (3 items)"),
    ],
)
def test_check_says_where_it_guesses_the_track(tmp_path, shroom, name, model, verdict):
    rows = [{**row, **({"model": model} if model else {})} for row in predictions(3)]
    path = write_json(tmp_path / name, rows)
    if name.endswith(".csv"):
        cells = [f"{row['label']},{row['p(Hallucination)']}" for row in rows]
        path.write_text("\n".join(["label,p(Hallucination)", *cells]))
    code, out, _ = shroom("check", path)
    assert (code, out) == (0, f"valid: {verdict}; 0 errors, 0 warnings\n")


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
    assert code == 1
    assert "model-agnostic" not in err
    named = "SHROOM_DATA names /nowhere, which is not a folder"
    assert (named in err) == ("{0}" not in command)


def test_a_broken_pipe_is_silent(files):
    command = [sys.executable, "-m", "shroom.score", *map(str, files)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def with_closed_stdout(*words):
    line = ["/bin/sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "shroom", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True)


@pytest.mark.linux
@pytest.mark.parametrize("words", [["score", SAMPLE, SAMPLE], ["-h"]], ids=["score", "-h"])
def test_a_closed_stdout_is_an_error(words):
    done = with_closed_stdout(*words)
    message = "shroom: stdout is closed, so this result is lost; send it to a file instead\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.linux
def test_a_closed_stdout_is_no_error_where_a_file_takes_the_result(files, tmp_path):
    form = "--format", "json"
    done = with_closed_stdout("score", *files, "--no-ci", *form, "-o", tmp_path / "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.json").read_text()


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
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files), "-o", str(target)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "shroom: interrupted; no result was written"
    assert target.read_text() == "precious"


ENDINGS = ["json", "jsonl", "json.gz", "zip", "txt"]


@settings(max_examples=150)
@given(st.binary(max_size=200), st.sampled_from(ENDINGS), st.sampled_from(["score", "check"]))
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
    arguments = ["check", path] if verb == "check" else ["score", path, truth]
    code, _, err = shroom(*arguments)
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
def test_tables_fit_the_terminal(verb, width, tmp_path, shroom, monkeypatch):
    from shroom.core.printing import TABLE_WIDTH

    _, plain, _ = shroom(*verb)
    token = TABLE_WIDTH.set(width)
    try:
        _, out, _ = shroom(*verb)
        if verb[0] != "list":
            shroom(*verb, "-o", tmp_path / "out.txt")
            assert (tmp_path / "out.txt").read_text() == plain  # a file has no width
    finally:
        TABLE_WIDTH.reset(token)
    rules = [line for line in out.splitlines() if set(line.strip()) == {"-"}]
    assert max(map(len, rules or out.splitlines())) <= width
    assert out != plain


def test_three_errors_of_a_code_and_the_count_are_printed(tmp_path, shroom):
    rows = [{"label": "maybe", "p(Hallucination)": 2}] * 7
    bad = write_json(tmp_path / "bad.json", rows)
    truth = write_json(tmp_path / "g.json", gold(7))
    fixing = ["check", bad, "--fix", tmp_path / "o.json"]
    for verb in (["check", bad], fixing, ["score", bad, truth]):
        _, _, err = shroom(*verb)
        for code in ("label-value", "p-range"):
            assert err.count(f"[{code}]\n") == 4
            assert f"bad.json: and 4 more [{code}]\n" in err
    assert shroom("check", bad, "--all")[2].count("[p-range]\n") == 7
    assert len(json.loads(shroom("check", bad, "--format", "json")[1])["problems"]) == 14
