"""Submissions as files: which are accepted, and with which words the others are refused.

The files are in ``formats``. ``expected.tsv`` has a row for each: the gold to compare it with, the
codes of its problems, a part of one message, and whether ``--fix`` makes it valid; the file of the
rows that it writes, if they are those of another file, in ``spoiled`` to the last digit.
"""

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from conftest import gold, predictions, write_json

from shroom.core.problem_codes import CODES, WARNING
from shroom.core.problems import InvalidInput, Problems
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check
from shroom.scoring.fix import fix_submission as mend
from shroom.scoring.fix import write
from shroom.scoring.input_files import documents
from shroom.scoring.scores import score

FORMATS = Path(__file__).resolve().parent / "formats"
LINE = re.compile(r"(warning: )?.+: expected .+, got .+ \[[a-z0-9-]+\]")
REST = re.compile(r"(warning: )?.+: \d+ more problems? \[[a-z0-9-]+\]")
HINT = re.compile(r"  to fix \[[a-z0-9-]+\]: .+")
#: What no small file here can cause: sizes and paths (tested below), the gold, other commands.
ELSEWHERE = {
    *("absurd-ratio", "file-unreadable", "not-a-file", "too-large", "too-many", "zip-members"),
    *("gold-first", "gold-skipped", "gold-unlabelled", "id-value", "label-votes", "p-votes"),
    *("ref-value", "task-value", "text-string"),
    *("premise-missing", "swapped"),
    *("row-doubled", "row-object", "row-ranking", "row-track", "row-value", "row-width"),
    *("id-odd", "length-odd", "list-odd", "number-odd", "object-odd", "query-odd", "ref-odd"),
    *("text-odd", "vote-odd", "word-odd"),
    *("answer-empty", "id-repeated", "judgement-missing", "segment-empty"),
    *("span-bytes", "span-empty", "span-odd", "span-overlap", "span-past-end", "span-text"),
    *("span-utf16", "span-value", "word-value"),
    *("official", "rho-undefined", "splits-mixed", "track-missing"),
}
#: What --fix removes from every submission that it makes valid.
FIXED = {"id-string", "key-doubled", "key-unknown", "order", "order-texts", "p-number"}


class Case(NamedTuple):
    """A row of the table."""

    path: str
    gold_path: str
    code_list: str
    fragment: str
    fix: str

    @property
    def source(self) -> Path:
        return FORMATS / self.path

    @property
    def gold(self) -> Path | None:
        return None if self.gold_path == "-" else FORMATS / self.gold_path

    @property
    def codes(self) -> set[str]:
        return set() if self.code_list == "-" else set(self.code_list.split(","))

    @property
    def valid(self) -> bool:
        return self.path.startswith("valid/")


def table() -> list[Case]:
    with (FORMATS / "expected.tsv").open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        next(rows)
        return [Case(*row) for row in rows]


CASES = {case.path: case for case in table()}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.path)


def files_of(source: Path) -> dict[Path, bytes]:
    paths = source.rglob("*") if source.is_dir() else [source]
    return {path: path.read_bytes() for path in paths if path.is_file()}


def text(checked) -> str:
    return "\n".join(map(str, checked.problems))


def outcome(case: Case):
    """Return the scores, or the codes of the errors for which there are none."""
    try:
        return case.gold and score(case.source, case.gold, intervals=Intervals(resamples=0))
    except InvalidInput as error:
        return error.problems.codes


# The table


def test_the_table_is_complete():
    listed = {path for case in CASES.values() for path in files_of(case.source)}
    assert listed == {it for folder in ("valid", "invalid") for it in files_of(FORMATS / folder)}
    assert len(table()) == len(CASES)
    assert set.union(*(case.codes for case in CASES.values())) == set(CODES) - ELSEWHERE
    for case in CASES.values():
        assert all(len(content) < 5000 for content in files_of(case.source).values()), case.path
        assert case.valid == all(CODES[code].severity == WARNING for code in case.codes), case.path
        assert case.fix != "no" or not case.valid, case.path


# Each file


@every_case
def test_a_file_is_scored_or_refused_with_exactly_these_problems(case):
    checked = check(case.source, case.gold)
    assert checked.problems.codes == case.codes, text(checked)
    assert checked.ok == case.valid
    assert case.fragment == "-" or case.fragment in text(checked)
    for line in check(case.source, case.gold, limit=2).problems.lines():
        assert line.isprintable(), line
        if not HINT.fullmatch(line):
            assert LINE.fullmatch(line) or REST.fullmatch(line), line
            assert str(FORMATS) in line, line
    if not case.gold:
        return
    found = outcome(case)
    if case.valid:
        assert found.results
        assert all(0 <= track.accuracy <= 1 for track in found.results)
        assert {problem.code for problem in found.warnings} <= case.codes | {"rho-undefined"}
    else:
        assert found == case.codes


@every_case
def test_the_slow_reader_gives_the_same_problems_and_scores(case, monkeypatch):
    fast, fast_outcome = list(check(case.source, case.gold).problems.lines()), outcome(case)
    monkeypatch.setattr("shroom.scoring.row_reader.quick", None)
    assert list(check(case.source, case.gold).problems.lines()) == fast
    assert outcome(case) == fast_outcome


@every_case
def test_fix_repairs_what_has_one_reading_and_nothing_else(case, tmp_path):
    before = files_of(case.source)
    fixed = mend(case.source, case.gold)
    assert fixed.checked.ok == (case.fix != "no"), text(fixed.checked)
    if case.fix not in ("yes", "no"):
        (written,) = fixed.files.values()
        assert json.loads(written) == json.loads((FORMATS / case.fix).read_bytes())
    if case.fix != "no":
        in_archive = documents(case.source, Problems())[0].member
        name = case.source.name.partition(".json")[0] + ".json"
        out = tmp_path / ("fixed.zip" if in_archive else name)
        write(fixed, out, case.source)
        again = check(out, case.gold)
        assert again.ok, text(again)
        assert again.problems.codes.isdisjoint(FIXED)
    assert files_of(case.source) == before


# What no small file can show


@pytest.mark.parametrize(
    ("path", "limit", "most", "code"),
    [
        *((f"valid/{path}", "MAX_BYTES", 100, "too-large")
          for path in ("plain.json.gz", "deflated.zip", "gzip-inside.zip")),
        *((f"invalid/{path}", "RATIO_FROM", 1_000_000, "absurd-ratio")
          for path in ("absurd.json.gz", "absurd.zip", "absurd-gzip-inside.zip")),
        *((f"valid/{path}", "MAX_MEMBERS", 1, "zip-members")
          for path in ("two-tracks", "deflated.zip")),
    ],
)  # fmt: skip
def test_what_is_beyond_a_limit_is_refused(path, limit, most, code, monkeypatch):
    monkeypatch.setattr(f"shroom.core.archives.{limit}", most)
    assert check(FORMATS / path).problems.codes == {code}


@pytest.mark.parametrize("case", [case for case in CASES.values() if "/frame-" in case.path])
def test_data_frames_that_are_larger_than_any_item_get_the_same_verdict(case, monkeypatch):
    monkeypatch.setattr("shroom.core.json_reading.MAX_ITEM", 400)
    assert check(case.source, case.gold).problems.codes == case.codes
    assert mend(case.source, case.gold).checked.ok == (case.fix != "no")


def test_nesting_never_crashes(tmp_path, shroom):
    source, gold = tmp_path / "nested.json", FORMATS / "gold/val.model-agnostic.json"
    # Python's limit is near 1,000; a file that can just be read is too deep to be written.
    for depth in (10, 100, 400, *range(900, 1000), 5000, 50_000):
        nested = "[" * depth + "]" * depth
        row = f'{{"label": {nested}, "p(Hallucination)": 0.5, "hyp": {nested}}}'
        source.write_text(f"[{row}]", encoding="utf-8")
        checked = check(source, gold)
        assert not checked.ok, depth
        assert checked.problems.codes <= {"count", "label-value", "not-json"}, depth
        code, _, err = shroom("check", source, "--fix", tmp_path / "out.json")
        assert (code, "Traceback" in err) == (1, False), depth


@pytest.mark.parametrize("end", [-1, -2, -9, -30, -45])
@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "p.csv"])
def test_a_file_that_is_cut_off_is_told(end, name, tmp_path):
    rows, path = predictions(5, first_id=1), tmp_path / name
    text = "\n".join(map(json.dumps, rows)) if name == "p.jsonl" else json.dumps(rows)
    cut, broken = text[:end], text[: len(text) // 2] + "?" + text[len(text) // 2 :]
    if name == "p.csv":
        text = pd.DataFrame(rows).to_csv(index=False)
        cut, broken = text[: text.rindex(",")], text.replace("\n", ",x\n", 3)
    for content, is_cut in ((cut, True), (broken, False)):
        path.write_text(content)
        found = [p.found for p in check(path).problems if p.code in ("not-json", "not-csv")]
        assert [text.endswith("it may be cut off)") for text in found].count(True) == is_cut


def test_spans_of_a_data_frame_with_ids_as_its_index_are_fixed(tmp_path):
    rows, path = [{"id": f"tst-en-{i}", "hard_labels": [[3, 7]]} for i in range(3)], tmp_path / "p"
    path.write_text(pd.DataFrame(rows).set_index("id").to_json(orient="index"))
    assert not check(path, edition="mushroom2025").ok
    fixed = mend(path, edition="mushroom2025")
    assert [json.loads(line) for line in "".join(fixed.files.values()).splitlines()] == rows


SLIPS = {
    "json": ("val.model-aware (1).json", "val.model-aware.json.txt", "val.model-aware copy 2.json"),
    "jsonl": ("val.model-aware(12).jsonl",),
    "csv": ("val.model-aware (1).csv",),
}


@pytest.mark.parametrize(
    ("name", "ending"),
    [("val.model-aware.json.json", "json")]
    + [(name, ending) for ending, names in SLIPS.items() for name in names],
)
def test_slips_in_names_are_recognised_and_gold_is_used_if_there_is_no_other(
    name, ending, tmp_path
):
    good = f"val.model-aware.{ending}"
    for place, rows in (("sub", predictions(12)), ("gold", gold(12))):
        frame = pd.DataFrame(rows).drop(columns="labels", errors="ignore")
        text = frame.to_csv(index=False) if ending == "csv" else json.dumps(rows)
        text = "\n".join(map(json.dumps, rows)) if ending == "jsonl" else text
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text)
    (problem,) = check(tmp_path / "sub").problems
    assert problem.found == f'"{name}" (did you mean {good}?)'
    assert check(tmp_path / "sub" / name).ok  # a file that is named directly may have any name
    mine = {"val.model-aware": predictions(12)}
    write_json(tmp_path / "gold" / "val.model-agnostic.json", gold(12))
    checked = check(mine, tmp_path / "gold")
    assert (checked.ok, checked.tracks[0].gold.file.endswith(name)) == (True, True)
    original = tmp_path / "gold" / good
    original.write_text(text)
    assert check(mine, tmp_path / "gold").tracks[0].gold.file == str(original)
