"""Whatever is named where, inputs stay as they are, and what is no file is handled as such."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, SAMPLE, gold, predictions, write_json

from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError
from shroom.scoring.check import check


def rows_to_fix():
    rows = predictions(12)
    rows[0]["label"] = rows[0]["label"].upper()
    return rows


@pytest.fixture
def folder(tmp_path):
    write_json(tmp_path / "sub" / "val.model-aware.json", rows_to_fix())
    return tmp_path / "sub"


@pytest.mark.parametrize("out", [".", "./val.model-aware.json", "new.zip", "deeper/out", "SUB"])
def test_fix_never_writes_into_the_submission(folder, shroom, monkeypatch, out):
    if out != "SUB":
        monkeypatch.chdir(folder)
    else:  # as on macOS and Windows, where SUB and sub are one folder
        (folder.parent / "SUB").mkdir()
        monkeypatch.setattr(Path, "samefile", lambda a, b: str(a).lower() == str(b).lower())
        out = folder.parent / "SUB" / "new.json"
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    code, _, err = shroom("check", folder, "--fix", out)
    assert (code, "never touched" in err) == (1, True)
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before


@pytest.mark.parametrize("option", ["--gold", "--data"])
def test_fix_never_writes_over_the_gold(folder, tmp_path, shroom, option):
    truth = write_json(tmp_path / "gold" / "val.model-aware.json", gold(12))
    before = truth.read_bytes()
    for out in (truth, truth.parent):
        assert shroom("check", folder, option, truth, "--fix", out)[0] == 1
        assert truth.read_bytes() == before


WRITERS = {
    "report": ("report", "SUB", "GOLD", "-o", "OUT", "--no-ci"),
    "items": ("report", "SUB", "GOLD", "--format", "csv", "-o", "OUT"),
    "score": ("score", "SUB", "GOLD", "-o", "OUT"),
    "compare": ("compare", "SUB", "SUB", "GOLD", "-o", "OUT", "--no-ci", "--trials", "9"),
    "agreement": ("gold", "agreement", "GOLD", "-o", "OUT", "--no-ci"),
    "calibrate": ("calibrate", "SUB", "GOLD", "-o", "OUT", "--method", "none"),
    "fit": ("fit", "lexical", "GOLD", "-o", "OUT", "--folds", "0"),
    "score of spans": ("score", "SUB", "GOLD", "-o", "OUT", "--edition", "mushroom2025"),
}
#: Those without an input SUB.
OF_GOLD = ("agreement", "fit")


@pytest.mark.parametrize("verb", WRITERS)
@pytest.mark.parametrize("named_by", ["folder", "file"])
def test_no_output_goes_over_an_input_or_into_the_file_of_an_input_folder(
    tmp_path, shroom, verb, named_by
):
    file = "val.model-aware.json"
    places = {
        "SUB": write_json(tmp_path / "sub" / file, predictions(12)),
        "GOLD": write_json(tmp_path / "gold" / file, gold(12)),
    }
    before = {name: path.read_bytes() for name, path in places.items()}
    for target in ("GOLD",) if verb in OF_GOLD else ("SUB", "GOLD"):
        inputs = {k: p if named_by == "file" else p.parent for k, p in places.items()}
        words = {**inputs, "OUT": places[target]}
        code, _, err = shroom(*(words.get(word, word) for word in WRITERS[verb]))
        assert code == 1
        assert "is an input" in err
        assert {name: path.read_bytes() for name, path in places.items()} == before


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
    with pytest.raises(ShroomError, match="/dev/full: cannot be written: No space"):
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


def test_gold_of_which_there_are_two_is_refused(tmp_path, shroom):
    for place in ("a", "b"):
        write_json(tmp_path / "gold" / place / "val.model-aware.json", gold(12))
    sub = write_json(tmp_path / "sub" / "val.model-aware.json", predictions(12))
    assert check(sub, tmp_path / "gold").problems.codes == {"file-twice"}
    for verb in (["bundle", "--gold"], ["predict", "lexical"]):
        code, _, err = shroom(*verb, tmp_path / "gold", "-o", tmp_path / "out")
        assert (code, "file-twice" in err) == (1, True)


def test_odd_words_in_the_gold(tmp_path, shroom):
    truth = gold(12)
    for row in truth:
        row["model"] = "\ud800\x1b[31m\nx"
    p = write_json(tmp_path / "p.json", predictions(12))
    g = write_json(tmp_path / "g.json", truth)
    for form in ("text", "json"):
        assert shroom("score", p, g, "--format", form, "-o", tmp_path / form)[0] == 0
        text = (tmp_path / form).read_text()
        assert "\x1b" not in text
    assert json.loads(text)["results"][0]["slices"]["model"]


def test_a_tiny_score_is_a_number_for_yaml(tmp_path, shroom):
    import yaml

    rows = [{"label": "Hallucination", "p(Hallucination)": 0.7}] * 100_000
    truth = [{"label": "Not Hallucination", "p(Hallucination)": 0.0}] * 99_999
    truth = [*truth, {"label": "Hallucination", "p(Hallucination)": 1.0}]
    p, g = write_json(tmp_path / "p.json", rows), write_json(tmp_path / "g.json", truth)
    _, out, _ = shroom("score", p, g, "--format", "codalab")
    assert yaml.safe_load(out)["agnostic_acc"] == 1e-05


def test_fix_restores_the_order_by_texts_though_there_are_ids_of_ones_own(tmp_path, shroom):
    truth = gold(12)
    rows = [{"id": i, **p, "hyp": g["hyp"]} for i, (p, g) in enumerate(zip(predictions(12), truth))]
    p = write_json(tmp_path / "p.json", rows[::-1])
    g = write_json(tmp_path / "g.json", truth)
    assert "order-texts" in check(p, g).problems.codes
    assert shroom("check", p, "--gold", g, "--fix", tmp_path / "out.json")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text()) == rows


@pytest.mark.parametrize("change", [{"mean": [0, 0]}, {"scale": [0, 1, 1, 1]}, {"scale": "abcd"}])
def test_models_of_another_shape(tmp_path, shroom, change):
    from shroom.detectors.lexical import MODEL

    model = write_json(tmp_path / "m.json", {**json.loads(MODEL.read_text()), **change})
    code, _, err = shroom("predict", "lexical", SAMPLE, "-o", tmp_path / "x", "--model", model)
    assert (code, "fit it again" in err or "not a model" in err) == (1, True)


def scored_by_the_program(out, *names, rows=None):
    """Run the scoring program on files of these names beside ``out``; return the process."""
    for name in names:
        write_json(out.parent / "ref" / name, gold(12))
        write_json(out.parent / "res" / name, predictions(12) if rows is None else rows)
    program = ROOT / "scorer" / "scoring_program" / "score.py"
    command = [sys.executable, program, out.parent, out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    return done.stderr


def test_the_scoring_program_where_nothing_can_be_written(tmp_path):
    (tmp_path / "taken").write_text("x")
    for rows in (predictions(12), []):
        err = scored_by_the_program(tmp_path / "taken", "val.model-aware.json", rows=rows)
        assert "cannot be written" in err


def test_the_scoring_program_tells_of_mixed_splits(tmp_path):
    names = "val.model-aware.json", "test.model-aware.json"
    assert "[splits-mixed]" in scored_by_the_program(tmp_path / "out", *names)
    assert "splits-mixed" in (tmp_path / "out" / "detailed_results.html").read_text()


def test_official_leaves_other_members_of_a_zip_alone(tmp_path, shroom):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("val.model-aware.json", json.dumps(predictions(501)))
        archive.writestr("inner.zip", b"PK")
        archive.writestr("notes.txt", b"hello")
    assert shroom("check", path, "--official")[0] == 0


@pytest.mark.parametrize("out", ["out.zip", "out", "out/"])
def test_no_track_is_guessed_for_a_name(tmp_path, shroom, out):
    rows = write_json(tmp_path / "mine.json", predictions(12))
    data = write_json(tmp_path / "trial-v1.json", gold(12))
    for verb in (["check", rows, "--fix"], ["predict", "lexical", data, "-o"]):
        code, _, err = shroom(*verb, f"{tmp_path}/{out}")
        assert (code, "split and track" in err) == (1, True)
    assert shroom("check", rows, "--fix", tmp_path / "out.json")[0] == 0
    assert shroom("predict", "lexical", data, "-o", tmp_path / "new.json")[0] == 0
    _, out, _ = shroom("score", rows, data, "--format", "json")
    assert json.loads(out)["results"][0]["split"] == ""


def test_several_files_do_not_go_into_one(tmp_path, shroom):
    for verb in (["check", SAMPLE, "--fix"], ["predict", "lexical", SAMPLE, "-o"]):
        for out in (tmp_path / "x.json", "-"):
            code, _, err = shroom(*verb, out)
            assert (code, "is a single file, but there are 2 to write" in err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_fix_counts_what_it_does_not_show_and_tells_what_it_leaves_out(tmp_path, shroom):
    broken = tmp_path / "b.jsonl"
    broken.write_text("{\n" * 50)
    code, out, err = shroom("check", broken, "--fix", tmp_path / "out.json")
    assert (code, out) == (1, "not valid: 50 errors, 0 warnings\n")
    assert "and 47 more [not-json]" in err
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("val.model-aware.json", json.dumps(rows_to_fix()))
        archive.writestr("notes.txt", b"hello")
    assert "notes.txt" in shroom("check", path, "--fix", tmp_path / "y.zip")[2]


def test_a_start_that_leaves_no_time(tmp_path, shroom):
    for split in ("val", "test"):
        write_json(tmp_path / "gold" / f"{split}.model-aware.json", gold(12))
    arguments = ("--gold", tmp_path / "gold", "-o", tmp_path / "out", "--start", "9999-12-31")
    code, _, err = shroom("bundle", *arguments)
    assert (code, "name an earlier day" in err) == (1, True)


def test_official_holds_no_track_against_the_gold_of_another(tmp_path, shroom):
    truth = write_json(tmp_path / "gold" / "val.model-agnostic.json", gold(501))
    sub = write_json(tmp_path / "sub" / "val.model-aware.json", predictions(501))
    for held_against in (truth, truth.parent):
        code, _, err = shroom("score", sub, held_against, "--official")
        assert (code, "no-gold" in err) == (1, True)
