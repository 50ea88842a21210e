"""Whatever is named where, inputs stay as they are, and what is no file is handled as such."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, SAMPLE, gold, predictions, write_json

from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError
from shroom.detectors.lexical import MODEL
from shroom.scoring.check import check

NAME = "val.model-aware.json"
FIXABLE = [{**row, "label": row["label"].upper()} for row in predictions(12)]
#: Commands that write nothing, in the folder that ``places`` fills, and a part of what they say.
LINES = (ROOT / "tests" / "scoring" / "refused.tsv").read_text("utf-8").splitlines()[1:]
REFUSED = [line.replace("SAMPLE", str(SAMPLE)).split("\t") for line in LINES]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Fill a folder with files, and work there, as if names that differ in case were the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        Path, "samefile", lambda a, b: str(a.resolve()).lower() == str(Path(b).resolve()).lower()
    )
    (tmp_path / "SUB").mkdir()
    os.link(write_json(tmp_path / "mine.json", predictions(12)), tmp_path / "MINE.json")
    (tmp_path / "link.json").symlink_to("mine.json")
    files = {
        f"sub/{NAME}": FIXABLE,
        f"big/{NAME}": predictions(501),
        "agnostic/val.model-agnostic.json": gold(501),
        **dict.fromkeys((f"gold/{NAME}", "trial-v1.json"), gold(12)),
        **dict.fromkeys((f"twice/a/{NAME}", f"twice/b/{NAME}"), gold(12)),
        **dict.fromkeys((f"splits/{NAME}", "splits/test.model-aware.json"), gold(12)),
    }
    for name, rows in files.items():
        write_json(tmp_path / name, rows)
    return tmp_path


@pytest.mark.parametrize(("command", "reason"), REFUSED)
def test_a_refused_command_leaves_every_file_as_it_is(places, refused, command, reason):
    before = {path: path.is_file() and path.read_bytes() for path in places.rglob("*")}
    assert reason in refused(*command.split())
    assert {path: path.is_file() and path.read_bytes() for path in places.rglob("*")} == before


def test_a_new_file_may_go_into_an_input_folder(tmp_path, shroom):
    folder = write_json(tmp_path / "val.model-aware.json", gold(12)).parent
    assert shroom("score", folder, folder, "-o", folder / "scores.txt")[0] == 0


@pytest.mark.linux
def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "scores")
    reader.join()
    assert (read, pipe.is_file()) == (["scores"], False)


@pytest.mark.linux
def test_a_full_device_is_told():
    with pytest.raises(ShroomError, match="/dev/full cannot be written: No space"):
        write_atomically("/dev/full", "x" * 100_000)


@pytest.mark.linux
def test_a_named_pipe_is_read_once(tmp_path):
    truth = write_json(tmp_path / "g.json", gold(12))
    for text in (json.dumps(predictions(12)), "\n".join(map(json.dumps, predictions(12)))):
        pipe = tmp_path / "pipe.json"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        checked = check(pipe, truth)
        writer.join()
        pipe.unlink()
        assert checked.problems.codes == set()


def test_no_stdin_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert check("-").problems.codes == {"file-unreadable"}


def test_an_unreadable_folder_is_told(tmp_path, monkeypatch):
    write_json(tmp_path / "val.model-agnostic.json", predictions(12))
    write_json(tmp_path / "closed" / "val.model-aware.json", predictions(12))
    real = os.scandir

    def scandir(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    checked = check(tmp_path)
    assert checked.problems.codes == {"file-unreadable"}
    assert "closed: expected a folder, got Permission denied" in next(checked.problems.lines())


@pytest.mark.parametrize("form", ["text", "json"])
def test_odd_words_in_the_gold(tmp_path, shroom, form):
    p = write_json(tmp_path / "p.json", predictions(12))
    g = write_json(tmp_path / "g.json", [{**row, "model": "\ud800\x1b[31m\nx"} for row in gold(12)])
    assert shroom("score", p, g, "--format", form, "-o", tmp_path / form)[0] == 0
    text = (tmp_path / form).read_text()
    assert ("\x1b" in text, "[31m" in text) == (False, True)


def test_a_tiny_score_is_a_number_for_yaml(tmp_path, shroom):
    rows = [{"label": "Hallucination", "p(Hallucination)": 0.7}] * 100_000
    truth = [{"label": "Not Hallucination", "p(Hallucination)": 0.0}] * 99_999
    truth = [*truth, {"label": "Hallucination", "p(Hallucination)": 1.0}]
    p, g = write_json(tmp_path / "p.json", rows), write_json(tmp_path / "g.json", truth)
    _, out, _ = shroom("score", p, g, "--format", "codalab")
    assert yaml.safe_load(out)["agnostic_acc"] == 1e-05


@pytest.mark.parametrize("change", [{"mean": [0, 0]}, {"scale": [0, 1, 1, 1]}, {"scale": "abcd"}])
def test_models_of_another_shape(tmp_path, shroom, change):
    model = write_json(tmp_path / "m.json", {**json.loads(MODEL.read_text()), **change})
    code, _, err = shroom("predict", "lexical", SAMPLE, "-o", tmp_path / "x", "--model", model)
    assert (code, "fit it again" in err or "not a model" in err) == (1, True)


def scored_by_the_program(out, *names, rows):
    for name in names:
        write_json(out.parent / "ref" / name, gold(12))
        write_json(out.parent / "res" / name, rows)
    program = ROOT / "scorer" / "scoring_program" / "score.py"
    command = [sys.executable, program, out.parent, out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    return done.stderr


@pytest.mark.parametrize("rows", [predictions(12), []])
def test_the_scoring_program_where_nothing_can_be_written(tmp_path, rows):
    (tmp_path / "taken").write_text("x")
    said = scored_by_the_program(tmp_path / "taken", NAME, rows=rows)
    assert "cannot be written" in said


def test_the_scoring_program_tells_of_mixed_splits(tmp_path):
    out, names = tmp_path / "out", (NAME, "test.model-aware.json")
    assert "[splits-mixed]" in scored_by_the_program(out, *names, rows=predictions(12))
    assert "splits-mixed" in (out / "detailed_results.html").read_text()


def test_official_leaves_other_members_of_a_zip_alone(tmp_path, shroom):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("val.model-aware.json", json.dumps(predictions(501)))
        archive.writestr("inner.zip", b"PK")
        archive.writestr("notes.txt", b"hello")
    assert shroom("check", path, "--official")[0] == 0


def test_a_file_that_is_named_may_have_any_name(places, shroom, in_json):
    assert shroom("check", "mine.json", "--fix", "out.json")[0] == 0
    assert shroom("predict", "lexical", "trial-v1.json", "-o", "new.json")[0] == 0
    assert in_json("score", "mine.json", "trial-v1.json")["results"][0]["split"] == ""
    assert check(f"big/{NAME}", "twice").problems.codes == {"count", "file-twice"}
