"""Figures of items that a detector was fitted on: the goldens show the star in every form."""

import json
import runpy
import zipfile

import pytest
from conftest import ROOT, gold, predictions, write_json

from shroom.scoring.display.text import footnote
from shroom.scoring.editions import official
from shroom.scoring.scores import score

AGNOSTIC, AWARE = "val.model-agnostic.json", "val.model-aware.json"
RECORD = {"in_sample": {AGNOSTIC: 9}}


@pytest.fixture
def folder(tmp_path):
    """Return gold, and two systems beside each other, the first of which has a record."""
    for track in (AGNOSTIC, AWARE):
        write_json(tmp_path / "gold" / track, gold())
        for system in ("fitted", "other"):
            write_json(tmp_path / "systems" / system / track, predictions())
    write_json(tmp_path / "systems" / "fitted" / "run.json", RECORD)
    return tmp_path


def counts(submission, folder, scores=score):
    return [result.in_sample for result in scores(submission, folder / "gold").results]


def test_a_record_counts_by_split_and_track(folder):
    cases = ({AGNOSTIC: 9}, [9, 0]), ({"val.model-aware.v2.json": 5}, [0, 5])
    for record, expected in (*cases, ({AGNOSTIC: 10**30}, [12, 0])):
        own = write_json(folder / "systems/fitted/run.json", {"in_sample": record}).parent
        assert counts(own, folder) == expected


@pytest.mark.parametrize(
    ("name", "scores", "expected"),
    [(AGNOSTIC, score, 9), (AGNOSTIC, official.score, 9), (f"team7.{AGNOSTIC}", score, 0)],
)
def test_a_record_counts_for_a_file_beside_it_of_the_same_name(folder, name, scores, expected):
    own = write_json(folder / "systems" / "fitted" / name, predictions())
    assert counts(own, folder, scores) == [expected]


@pytest.mark.parametrize("inside", ["", "mine/"])
def test_a_record_counts_in_a_zip(folder, inside):
    made = folder / "mine.zip"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{inside}{AGNOSTIC}", json.dumps(predictions()))
        archive.writestr(f"{inside}run.json", json.dumps(RECORD))
    assert counts(made, folder) == [9]


MALFORMED = ["null", '"all"', f'["{AGNOSTIC}"]']
MALFORMED += [f'{{"{AGNOSTIC}": {count}}}' for count in ('"9"', "-1", "true", "NaN", "[[]]")]


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("not json", True),
        ("[" * 100_000, True),
        *((f'{{"in_sample": {counts}}}', True) for counts in MALFORMED),
        *((other, False) for other in ("[]", "3", "{}", '{"in_sample": {"data.json": 4}}')),
    ],
)
def test_a_malformed_record_is_reported_in_one_line_and_changes_no_score(folder, text, is_reported):
    own = folder / "systems" / "fitted"
    (own / "run.json").write_text(text)
    found, plain = (score(each, folder / "gold") for each in (own, own.parent / "other"))
    codes = [each.code for each in found.warnings if each.code != "label-p"]
    assert codes == (["run-record"] if is_reported else [])
    assert found.to_dict()["results"] == plain.to_dict()["results"]


def test_the_scoring_program_reads_no_record(folder, capsys):
    main = runpy.run_path(str(ROOT / "scorer" / "scoring_program" / "score.py"))["main"]
    given = folder / "input"
    given.mkdir()
    (folder / "gold").rename(given / "ref")
    (folder / "systems" / "fitted").rename(given / "res")

    def written():
        assert main([str(given), str(folder / "output")]) == 0
        files = {path.name: path.read_bytes() for path in (folder / "output").iterdir()}
        return files, capsys.readouterr()

    with_record = written()
    (given / "res" / "run.json").unlink()
    assert with_record == written()


def test_a_footnote_escapes_names():
    assert "(a\\u001b)" in footnote([("a\x1b", 9, 12), ("b", 3, 12)])[0]
