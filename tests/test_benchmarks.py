"""The benchmarks store what they find, and the page is made of nothing else."""

import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT

BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))

import page  # noqa: E402
import startup  # noqa: E402
from common import Beside, machine, machine_line  # noqa: E402

#: Those that store results; the rest is what they are made of, and the page.
SCRIPTS = [
    path.stem
    for path in sorted(BENCHMARKS.glob("*.py"))
    if path.stem != "common" and re.search(r"(?<![.\w])save\(", path.read_text(encoding="utf-8"))
]
TEMPLATE = "# Speed\n\n$summary\n\nOn:\n\n$machines\n\nCosts $fast no less.\n\n$fast\n\n$slow\n"


def result(**changes):
    about = {
        "date": "2026-01-02",
        "cpu": "A chip",
        "cores": 4,
        "memory_gib": 8.0,
        "load": 0.5,
        "system": "Linux",
        "versions": {"Python": "3.9.1", "numpy": "1.22"},
    }
    rows = [
        Beside("sorting", "by hand", 0.5, 1234.4, 2468.8),
        Beside("sorting", "by machine", 100, 96.4, 0.964, "MiB"),
    ]
    stored = {
        "machine": about,
        "command": "python benchmarks/fast.py",
        "beside": [vars(row) for row in rows],
        "report": ["sorted", "", "  in no time"],
        "figures": {},
    }
    return {**stored, **changes}


def run(script, *options):
    command = [sys.executable, BENCHMARKS / f"{script}.py", *map(str, options)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_page_is_made_of_the_results():
    assert page.page(TEMPLATE, {"fast": result()}) == (
        "# Speed\n\n"
        "| | the kit | without it | by | ratio | script |\n"
        "|---|---:|---:|---|---:|---|\n"
        "| sorting | 0.50 s | 1,200 s | by hand | **2,500** | [fast](#fastpy) |\n"
        "| sorting | 100 MiB | 96 MiB | by machine | **0.96** | [fast](#fastpy) |\n"
        "\nOn:\n\n"
        "- 2026-01-02, A chip, 4 cores, 8 GiB, Linux, Python 3.9.1, numpy 1.22: fast\n"
        "\nCosts $fast no less.\n\n"
        "`python benchmarks/fast.py`, 2026-01-02, load 0.50 before it:\n\n"
        "```text\nsorted\n\n  in no time\n```\n\n"
        "Not measured yet: `make bench ONLY=slow` does it.\n"
    )


def test_results_of_two_machines_have_separate_lines():
    other = result(machine={**result()["machine"], "cpu": "Another", "date": "2026-01-01"})
    lines = list(page.machines({"fast": result(), "slow": result(), "late": other}))
    assert [line.rpartition(": ")[2] for line in lines] == ["late", "fast, slow"]


def test_check_fails_where_the_page_is_not_up_to_date(tmp_path):
    place = tmp_path / "page.md"
    options = ("--results", tmp_path, "--page", place)
    assert run("page", *options, "--check").returncode == 1
    assert not place.exists()
    assert run("page", *options).returncode == 0
    assert run("page", *options, "--check").returncode == 0
    (tmp_path / "scoring.json").write_text(json.dumps(result()))
    done = run("page", *options, "--check")
    assert done.returncode == 1
    assert "page.md is not what the template and the results give" in done.stderr


def test_a_result_without_a_place_is_refused(tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps(result()))
    done = run("page", "--results", tmp_path, "--page", tmp_path / "page.md")
    assert (done.returncode, done.stderr) == (1, "page.md has no place for $odd\n")


def test_the_page_is_what_the_stored_results_give():
    done = run("page", "--check")
    assert done.returncode == 0, done.stderr


def test_every_script_has_its_place_in_the_bench_and_on_the_page():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    benches = re.findall(r"^(?:BENCHES|ENDURING) := (.*)$", makefile, flags=re.MULTILINE)
    assert sorted(" ".join(benches).split()) == SCRIPTS
    template = page.TEMPLATE.read_text(encoding="utf-8")
    assert sorted(page.scripts(template)) == SCRIPTS
    assert all(f"\n## {name}.py\n" in template for name in SCRIPTS)
    readme = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)\.py`", readme, flags=re.MULTILINE)) == SCRIPTS


def test_every_script_has_a_help_and_stores_json():
    # All at once: most of the time of each is importing.
    running = {
        name: subprocess.Popen(
            [sys.executable, BENCHMARKS / f"{name}.py", "--help"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in SCRIPTS
    }
    outputs = {name: process.communicate() for name, process in running.items()}
    assert {name: outputs[name] for name in SCRIPTS if running[name].returncode} == {}
    assert [name for name, (out, _) in outputs.items() if "--json" not in out] == []


def test_a_script_stores_what_it_prints(tmp_path):
    place = tmp_path / "new" / "resampling.json"
    few = ("--items", 50, "--resamples", 50, "--scipy-resamples", 20, "--repeats", 1)
    done = run("resampling", *few, "--json", place)
    stored = json.loads(place.read_text(encoding="utf-8"))
    assert done.stdout.splitlines()[0] == machine_line(stored["machine"])
    assert done.stdout.splitlines()[3:] == stored["report"]
    words = " ".join(map(str, few))
    assert stored["command"] == f"python benchmarks/resampling.py {words}"
    assert [row["peer"] for row in stored["beside"]] == [
        "scipy.stats",
        "scipy.stats",
        "scipy.stats, vectorised",
    ]
    assert stored["figures"]["items"] == 50
    assert json.loads(json.dumps(stored)) == stored


def test_versions_are_read_without_importing_the_packages():
    about = machine()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["date"])
    assert {"Python", "numpy", "scipy", "msgspec"} <= set(about["versions"])
    code = f"import sys; sys.path.append({str(BENCHMARKS)!r}); import common; common.machine()"
    code += "; print({'numpy', 'torch', 'transformers', 'onnxruntime'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_startup_measures_a_verb(monkeypatch):
    monkeypatch.setattr(startup, "PEERS", {startup.BARE: "pass"})
    bare, verb = startup.measure({"check --help": ("check", "--help")}, 1)
    assert (bare["name"], bare["ratio"]) == (startup.BARE, 1)
    assert verb["name"] == "check --help"
    assert min(verb["seconds"], verb["cpu"], verb["peak"]) > 0


@pytest.mark.parametrize("words", [("check", "--help"), ("datasets", "list")])
def test_startup_lists_the_heavy_imports(words):
    assert set(startup._imported(words)) <= set(startup.HEAVY) - {"torch"}
