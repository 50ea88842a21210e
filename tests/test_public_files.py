"""The files for the repository's host: metadata, the action that scores, the hook that checks."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, SAMPLE

CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
#: Stands for GitHub's command line: records what it is asked, and lists the ids of comments.
GH = """#!/bin/sh
printf '%s\\n' "$@" >> "$RUNNER_TEMP/asked"
case "$*" in *--jq*) cat "$RUNNER_TEMP/comments" ;; esac
"""


def test_what_is_published_about_the_kit_agrees_and_has_no_version_of_its_own():
    code = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    package = CONFIG["metadata"]
    keywords = package["keywords"].split(", ")
    assert code["identifier"] == package["name"]
    assert code["description"] == citation["abstract"].rstrip(".") == package["description"]
    assert code["keywords"] == citation["keywords"] == keywords
    assert code["license"].rpartition("/")[2] == citation["license"] == package["license"]
    assert code["runtimePlatform"] == f"Python {CONFIG['options']['python_requires']}"
    assert "version" not in code.keys() | citation.keys()


class Job:
    """A job on a runner that has come to the action, whose kit is installed."""

    def __init__(self, folder):
        self.folder, self.checkout = folder, ROOT
        self.asked, self.comments = folder / "asked", folder / "comments"
        self.summary, self.outputs = folder / "summary", {}
        (folder / "shroom").mkdir()
        (folder / "shroom" / "packages").symlink_to(ROOT)
        (folder / "gh").write_text(GH, encoding="utf-8")
        (folder / "gh").chmod(0o755)
        self.comments.touch()

    def run(self, repository="owner/name", **inputs):
        """Run the steps as the runner does; return the exit code of the last that was run."""
        values = {
            f"inputs.{name}": inputs.get(name, entry.get("default"))
            for name, entry in ACTION["inputs"].items()
        }
        values |= {
            "github.repository": "owner/name",
            "github.event.pull_request.head.repo.full_name": repository,
            "github.event.pull_request.number": "7",
            "steps.python.outputs.python-path": sys.executable,
        }
        code = 0
        for step in ACTION["runs"]["steps"]:
            if "run" not in step or step["name"] == "Install the kit":
                continue
            terms = step.get("if", "success()").strip("${} ").split(" && ")
            if all(true(term, values) for term in terms):
                code = self._step(step, values) or code
        self.outputs = {
            name: values.get(entry["value"].strip("${} "))
            for name, entry in ACTION["outputs"].items()
        }
        return code

    def _step(self, step, values):
        output = self.folder / "output"
        output.write_text("")
        environment = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: str(values[match[1]]), text)
            for name, text in step["env"].items()
        }
        environment |= {"RUNNER_TEMP": self.folder, "GITHUB_STEP_SUMMARY": self.summary}
        environment |= {"GITHUB_OUTPUT": output, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, env=environment, cwd=self.checkout, capture_output=True)
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def true(term, values):
    """Return whether a part of an ``if`` is true; those here have no others."""
    name, equals, value = term.partition(" == ")
    if equals:
        return values[name] == values.get(value, value.strip("'"))
    return {"!cancelled()": True, "success()": True}.get(name) or bool(values.get(name))


@pytest.mark.linux
def test_the_action_shows_the_scores_and_comments_them(job):
    mine = shutil.copytree(SAMPLE, job.folder / "mine")
    (mine / "notes.txt").touch()
    assert job.run(submission=mine, gold=SAMPLE, options="--no-ci --by task") == 0
    text = job.summary.read_text()
    assert text.startswith("### SHROOM scores\n\n|  | n | accuracy | rho |\n|:---|")
    assert "\n| val model-aware | 60 |" in text
    assert "| task DM |" in text
    assert "\n    warning: " in text
    assert "interval" not in text
    scores = json.loads(Path(job.outputs["scores"]).read_text(encoding="utf-8"))
    assert [track["accuracy"] for track in scores["results"]] == [1, 1]
    body = f"body=@{job.folder / 'shroom' / 'table.md'}"
    asked = job.asked.read_text().splitlines()
    assert asked[-3:] == ["repos/owner/name/issues/7/comments", "--field", body]
    job.comments.write_text("41\n42\n")  # with the next push, the comment is replaced
    assert job.run(submission=SAMPLE, gold=SAMPLE, options="--no-ci") == 0
    assert "PATCH\nrepos/owner/name/issues/comments/41\n" in job.asked.read_text()


@pytest.mark.linux
@pytest.mark.parametrize("module", ["click", "numpy", "typing", "shroom"])
def test_no_module_of_the_checkout_forges_the_scores(job, module, tmp_path):
    job.checkout = tmp_path / "checkout"
    job.checkout.mkdir()
    (job.checkout / f"{module}.py").write_text("import os\nprint('1.000', flush=True)\nos._exit(0)")
    assert job.run(submission=SAMPLE, gold=SAMPLE, options="--no-ci") == 0
    assert "| val model-aware | 60 | 1.000 | 1.000 |" in job.summary.read_text()


@pytest.mark.linux
def test_the_action_shows_the_problems_of_a_wrong_submission_as_they_are(job):
    wrong = job.folder / "val.model-aware.json"
    wrong.write_text(json.dumps([{"label": "```\n@all", "p(Hallucination)": 2}]))
    assert job.run(submission=wrong, gold=SAMPLE / "val.model-aware.json") == 1
    lines = list(filter(None, job.summary.read_text().splitlines()[1:]))
    assert all(line.startswith("    ") for line in lines)
    assert any("[label-value]" in line for line in lines)
    assert job.outputs["scores"] is None
    assert job.asked.exists()


@pytest.mark.linux
def test_the_action_comments_only_where_it_is_to(job):
    assert job.run("fork/name", submission=SAMPLE, gold=SAMPLE, options="--no-ci") == 0
    assert job.run("", submission=SAMPLE, gold=SAMPLE, options="--no-ci") == 0
    assert job.run(comment="false", submission=SAMPLE, gold=SAMPLE, options="--no-ci") == 0
    assert not job.asked.exists()


@pytest.mark.linux
def test_names_in_the_actions_inputs_are_not_commands(job):
    place = job.folder / "a b; touch oops $(touch oops)"
    shutil.copytree(SAMPLE, place)
    assert job.run(submission=place, gold=place, options="--no-ci") == 0
    assert not (ROOT / "oops").exists()
    assert job.run(submission="-o", gold=SAMPLE, options="--no-ci") == 2


def test_the_hook_checks_every_submission_that_is_committed(shroom, tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    names = ("test.model-agnostic.csv", "val.model-aware.v2.json.gz", "notes.json", "other.csv")
    assert [bool(re.search(hook["files"], f"mine/{name}")) for name in names] == [1, 1, 0, 0]
    good, bad = SAMPLE / "val.model-aware.json", tmp_path / "val.model-agnostic.json"
    bad.write_text("[]")
    entry = shlex.split(hook["entry"])[1:]
    assert shroom(*entry, good, good)[0] == 0
    code, out, _ = shroom(*entry, bad, good, bad)
    assert code == 1
    assert [line.partition(": ")[2][:5] for line in out.splitlines()] == ["not v", "valid", "not v"]
