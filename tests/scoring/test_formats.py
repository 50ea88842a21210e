"""Files as people hand them in: what is read, and what is refused with which words.

The cases lie in ``tests/formats``, and ``expected.tsv`` tells of each what must come of it: the
gold to hold it against, the codes of its problems, a part of one message, and whether ``--fix``
gives something valid.
"""

from __future__ import annotations

import csv
import importlib
import re
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import shroom.cli
from shroom.core.problem_codes import CODES, WARNING
from shroom.core.problems import InvalidInput, Problems
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import Checked, check
from shroom.scoring.documents import documents
from shroom.scoring.fix import mend, write
from shroom.scoring.scores import score

FORMATS = Path(__file__).resolve().parent / "formats"
LINE = re.compile(r"(warning: )?.+: expected .+, got .+ \[[a-z0-9-]+\]")
REST = re.compile(r"(warning: )?.+: and \d+ more \[[a-z0-9-]+\]")
MEND = re.compile(r"  to mend \[[a-z0-9-]+\]: .+")
#: What no small file here can cause: sizes and paths (tested below), the gold, other commands.
ELSEWHERE = {
    *("absurd-ratio", "file-unreadable", "not-a-file", "too-large", "too-many", "zip-members"),
    *(
        "gold-skipped",
        "gold-unlabelled",
        "label-votes",
        "p-votes",
        "ref-value",
        "task-value",
        "text-string",
    ),
    *("premise-missing", "swapped"),
    *("row-doubled", "row-dropped", "row-odd", "span-value"),
    *("official", "rho-undefined", "splits-mixed", "track-missing"),
}
#: What --fix mends; of it, nothing may be left.
MENDED = {"id-string", "key-doubled", "key-unknown", "order", "p-number"}
COMMANDS = {
    verb: importlib.import_module(f"shroom.cli.{verb}").command for verb in ("check", "score")
}


class Case(NamedTuple):
    """A line of the table."""

    path: str
    gold: str
    codes: str
    fragment: str
    fix: str

    @property
    def source(self) -> Path:
        return FORMATS / self.path

    @property
    def held_against(self) -> Path | None:
        return None if self.gold == "-" else FORMATS / self.gold

    @property
    def expected(self) -> set[str]:
        return set() if self.codes == "-" else set(self.codes.split(","))

    @property
    def valid(self) -> bool:
        return self.path.startswith("valid/")


def table() -> list[Case]:
    with (FORMATS / "expected.tsv").open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        next(rows)
        return [Case(*row) for row in rows]


TABLE = table()
every_case = pytest.mark.parametrize("case", TABLE, ids=lambda case: case.path)
every_case_with_gold = pytest.mark.parametrize(
    "case", [case for case in TABLE if case.held_against], ids=lambda case: case.path
)


@pytest.fixture
def slow(monkeypatch):
    """Return how to switch the fast path off; ``shroom.scoring.check`` itself is the function."""
    return lambda: monkeypatch.setattr(sys.modules["shroom.scoring.check"], "fast", None)


def files_of(source: Path) -> dict[Path, bytes]:
    paths = source.rglob("*") if source.is_dir() else [source]
    return {path: path.read_bytes() for path in paths if path.is_file()}


def told(checked: Checked) -> str:
    return "\n".join(map(str, checked.problems))


def scores(source: Path, gold: Path) -> dict | set[str]:
    """Return the scores, or the codes for which there are none."""
    try:
        return score(source, gold, intervals=Intervals(resamples=0)).to_dict()
    except InvalidInput as error:
        return error.problems.codes


# The table itself


def test_every_file_is_in_the_table():
    there = {
        path.relative_to(FORMATS).as_posix()
        for folder in ("valid", "invalid")
        for path in files_of(FORMATS / folder)
    }
    named = {
        path.relative_to(FORMATS).as_posix() for case in TABLE for path in files_of(case.source)
    }
    assert named == there
    assert all(case.source.exists() for case in TABLE)
    assert len({case.path for case in TABLE}) == len(TABLE)


def test_every_case_is_small():
    sizes = {
        str(path): len(content) for case in TABLE for path, content in files_of(case.source).items()
    }
    assert {path: size for path, size in sizes.items() if size >= 5000} == {}


def test_every_code_is_in_the_table():
    assert set.union(*(case.expected for case in TABLE)) == set(CODES) - ELSEWHERE


@every_case
def test_severities_agree_with_the_folder(case):
    errors = {code for code in case.expected if CODES[code].severity != WARNING}
    assert bool(errors) != case.valid
    assert case.fix == "yes" or not case.valid


def test_made_files_are_what_the_script_makes():
    made = runpy.run_path(str(FORMATS / "make.py"))["made"]()
    assert {path: (FORMATS / path).read_bytes() for path in made} == made


# What comes of each case


@every_case
def test_check_gives_exactly_these_codes(case):
    checked = check(case.source, case.held_against)
    assert checked.problems.codes == case.expected, told(checked)
    assert checked.ok == case.valid
    assert case.fragment == "-" or case.fragment in told(checked)


@every_case
def test_slow_path_gives_exactly_these_codes(case, slow):
    slow()
    checked = check(case.source, case.held_against)
    assert checked.problems.codes == case.expected, told(checked)
    assert case.fragment == "-" or case.fragment in told(checked)


@every_case
def test_lines_tell_place_expected_and_found(case):
    checked = check(case.source, case.held_against, limit=2)
    for line in checked.problems.lines():
        assert LINE.fullmatch(line) or REST.fullmatch(line) or MEND.fullmatch(line), line
        assert line.isprintable(), line
        assert str(FORMATS) in line or MEND.fullmatch(line), line


@every_case_with_gold
def test_what_the_check_passes_can_be_scored(case):
    if case.valid:
        result = score(case.source, case.held_against, intervals=Intervals(resamples=0))
        assert result.results
        assert all(0 <= track.accuracy <= 1 for track in result.results)
        assert {problem.code for problem in result.warnings} <= case.expected | {"rho-undefined"}
    else:
        with pytest.raises(InvalidInput) as caught:
            score(case.source, case.held_against)
        assert caught.value.problems.codes == case.expected


@every_case_with_gold
def test_slow_path_gives_the_same_scores(case, slow):
    fast = scores(case.source, case.held_against)
    slow()
    assert scores(case.source, case.held_against) == fast


@every_case
@pytest.mark.parametrize("form", ["text", "json"])
def test_check_command(case, form, capsys):
    args = [str(case.source), "--format", form]
    args += ["--gold", str(case.held_against)] if case.held_against else []
    code = shroom.cli.run(COMMANDS["check"], args, "check")
    said = capsys.readouterr()
    assert code == (0 if case.valid else 1)
    assert "Traceback" not in said.out + said.err
    assert said.err.replace("\n", "").isprintable()
    assert all(f"[{code}]" in said.err for code in case.expected)


@every_case_with_gold
def test_score_command(case, capsys):
    args = [str(case.source), str(case.held_against), "--no-ci"]
    code = shroom.cli.run(COMMANDS["score"], args, "score")
    said = capsys.readouterr()
    assert code == (0 if case.valid else 1)
    assert "Traceback" not in said.out + said.err
    assert bool(said.out.strip()) == case.valid


@every_case
def test_fix_mends_what_is_mechanical_and_nothing_else(case, tmp_path):
    before = files_of(case.source)
    mended = mend(case.source, case.held_against)
    assert mended.checked.ok == (case.fix == "yes"), told(mended.checked)
    assert files_of(case.source) == before
    if case.fix == "yes":
        found = documents(case.source, Problems())
        name = case.source.name.partition(".json")[0] + ".json"
        out = tmp_path / ("mended.zip" if found[0].member else name)
        write(mended, out, case.source)
        again = check(out, case.held_against)
        assert again.ok, told(again)
        assert again.problems.codes.isdisjoint(MENDED)
        assert files_of(case.source) == before


@every_case
def test_fix_command(case, tmp_path, capsys):
    before = files_of(case.source)
    # without gold a name that tells nothing is good for a file alone
    out = tmp_path / ("out" if case.held_against else "out.json")
    args = [str(case.source), "--fix", str(out)]
    args += ["--gold", str(case.held_against)] if case.held_against else []
    code = shroom.cli.run(COMMANDS["check"], args, "check")
    said = capsys.readouterr()
    assert code == (0 if case.fix == "yes" else 1)
    assert "Traceback" not in said.out + said.err
    assert said.err.replace("\n", "").isprintable()
    assert files_of(case.source) == before


@pytest.mark.parametrize("out", ["out.json", "out.jsonl", "out.json.gz", "out.zip", "out"])
def test_fix_writes_what_can_be_read_again(out, tmp_path):
    source, gold = FORMATS / "valid/lines.jsonl", FORMATS / "gold/val.model-agnostic.json"
    write(mend(source, gold), tmp_path / out, source)
    checked = check(tmp_path / out, gold)
    assert checked.ok, told(checked)


def test_fix_never_writes_onto_the_original(tmp_path):
    source = tmp_path / "labels.json"
    source.write_bytes((FORMATS / "invalid/label-case.json").read_bytes())
    before = files_of(source)
    for out in (source, tmp_path / "." / "labels.json"):
        assert shroom.cli.run(COMMANDS["check"], [str(source), "--fix", str(out)], "check") == 1
    assert files_of(tmp_path) == before


# What no small file can show


@pytest.mark.parametrize("path", ["plain.json.gz", "deflated.zip", "gzip-inside.zip"])
def test_too_large(path, monkeypatch):
    monkeypatch.setattr("shroom.core.archives.MAX_BYTES", 100)
    checked = check(FORMATS / "valid" / path)
    assert checked.problems.codes == {"too-large"}


@pytest.mark.parametrize("path", ["absurd.json.gz", "absurd.zip", "absurd-gzip-inside.zip"])
def test_absurd_ratio(path, monkeypatch):
    monkeypatch.setattr("shroom.core.archives.RATIO_FROM", 1_000_000)
    assert check(FORMATS / "invalid" / path).problems.codes == {"absurd-ratio"}


@pytest.mark.parametrize("path", ["two-tracks", "deflated.zip"])
def test_too_many_members(path, monkeypatch):
    source = FORMATS / "valid" / path
    monkeypatch.setattr("shroom.core.archives.MAX_MEMBERS", 2)
    assert check(source).ok
    monkeypatch.setattr("shroom.core.archives.MAX_MEMBERS", 1)
    assert check(source).problems.codes == {"zip-members"}


def test_no_such_file(tmp_path):
    checked = check(tmp_path / "none.json")
    assert checked.problems.codes == {"file-unreadable"}
    assert "none.json: expected a file, got No such file" in told(checked)


@pytest.mark.parametrize("depth", [10, 100, 400, *range(900, 1000), 5000, 50_000])
def test_nesting_never_crashes(depth, tmp_path):
    nested = "[" * depth + "]" * depth
    row = '{"label": %s, "p(Hallucination)": 0.5, "hyp": %s}'
    source = tmp_path / "nested.json"
    source.write_text(f"[{row % (nested, nested)}]", encoding="utf-8")
    gold = FORMATS / "gold/val.model-agnostic.json"
    for checked in (check(source, gold), mend(source, gold).checked):
        assert not checked.ok
        assert checked.problems.codes <= {"count", "label-value", "not-json"}
