"""What Codabench refuses: each fault with its sentence, and bundles that are damaged or hostile."""

import datetime as dt
import io
import json
import re
import stat
import zipfile

import pytest
import yaml
from conftest import ROOT
from spanish_task import written

from shroom.bundle import check
from shroom.core.atomic_writing import zipped

FILES = {
    "logo.png": b"\x89PNG\r\n\x1a\n",
    "pages/terms.md": b"Be fair.",
    "pages/blank.md": b" \n",
    "pages/overview.html": b"<h1>Overview</h1>",
    "program.zip": zipped({"metadata.yaml": "command: python3 $program/score.py $input $output\n"}),
    "silent/metadata": b"description: none\n",
    "gold.zip": zipped({"gold.json": "[]"}),
    "public/README.md": b"Public.",
    "kit.zip": zipped({"README.md": "Start."}),
    "solution.zip": zipped({"solution.json": "[]"}),
}
COMPETITION = (ROOT / "tests" / "bundle" / "competition.yaml").read_text()
TASK = {"index": 2, "name": "Third", "scoring_program": "program.zip"}
COLUMN = {"index": 3, "key": "rho", "title": "Rho"}
BOARD = {"title": "Other", "key": "other", "columns": [{**COLUMN, "index": 0}]}
NO_VALUE = object()
#: A place (after the bar: within its value), its new value, and what is expected instead.
FAULTS = [
    ("title", NO_VALUE, "a text of at most 256 characters, got none"),
    ("title", "t" * 257, f'a text of at most 256 characters, got "{"t" * 59}…" of 257 characters'),
    ("title", " ", 'a text of at most 256 characters, got " "'),
    ("description", {"not": "a value"}, "a text, got {"),
    ("image", 5, "the name of a file, got 5"),
    ("image", "pages/terms.md", 'a PNG, JPEG, GIF or WebP file, got "pages/terms.md"'),
    ("terms", NO_VALUE, "the name of a file, got none"),
    ("terms", "pages/blank.md", 'a file with content, got "pages/blank.md", which is empty'),
    ("terms", "logo.png", 'a text in UTF-8, got "logo.png"'),
    ("auto_run_submissions", "maybe", 'true or false, got "maybe"'),
    ("contact_email", "nobody", 'an email address, got "nobody"'),
    ("fact_sheet", 5, "keys and values, got 5"),
    ("fact_sheet.method", {"key": "method"}, "exactly key, type,"),
    ("fact_sheet.method.key", "other", '"method", got "other"'),
    ("fact_sheet.method.type", "radio", "checkbox, text or"),
    ("pages.0", "overview.html", "keys and values, got"),
    ("pages.0.file", "none.html", "a file of the bundle, got"),
    ("tasks.0.scoring_program", "gold.zip", 'metadata.yaml or metadata at its top, got ["gold.js'),
    ("tasks.0.scoring_program", "silent", "a command in metadata, got none"),
    ("tasks.0.scoring_program", "none.zip", 'a file of the bundle, got "none.zip"'),
    ("tasks.0.input_data", "none", 'a file of the bundle, got "none"'),
    ("tasks.2|.index", {**TASK, "index": 1}, "one of its own, got 1 again"),
    ("tasks.2|.index", {**TASK, "index": []}, "a number of its own, got []"),
    ("tasks.2|.key", {"index": 2, "key": "mine"}, "a key of the platform, a"),
    ("tasks.2|.scoring_program", {"index": 2, "name": "Third"}, "the name of a"),
    ("solutions.0.tasks|.0", [7], "the index of a task, got 7"),
    ("solutions.1|.path", {"index": 1, "tasks": [0]}, "the name of a file,"),
    ("phases", [], "a list of at least one phase, got []"),
    ("phases.0.public_data", "nowhere", 'a file of the bundle, got "nowhere"'),
    ("phases.0.tasks|.0", ["0"], 'the index of a task, got "0"'),
    ("phases.0.tasks", NO_VALUE, "a list of indexes of tasks, got none"),
    ("phases.0.max_submissions", -1, "a whole number from 0, got -1"),
    ("phases.1.start", "soon", "a date such as 2027-01-15 or a time"),
    ("phases.1.start", "2027-02-30", "a date such as 2027-01-15 or a"),
    ("phases.0.end", None, "a date, because another phase follows, got none"),
    ("phases.1.start", dt.date(2027, 1, 14), "a time after 2027-01-14 23:59:59, when the"),
    ("phases.0.auto_migrate_to_this_phase", True, "false, because no phase comes before it, got"),
    ("leaderboards.0.primary_index", 9, "the index of a column, got 9"),
    ("leaderboards.0.columns", [], "a list with at least one column that is not hidden, got []"),
    ("leaderboards.0.columns", [COLUMN | {"hidden": True}], "a list with at least one column th"),
    ("leaderboards.0.columns.0.sorting", "up", 'desc or asc, got "up"'),
    ("leaderboards.0.columns.0.precision", "x", 'a whole number, got "x"'),
    ("leaderboards.0.columns.1.key", "acc", 'one of its own, got "acc" again'),
    ("leaderboards.0.columns.3|.index", COLUMN | {"index": 0}, "one of its own, got 0 again"),
    ("leaderboards.0.columns.3|.index", {"key": "r", "title": "R"}, "a whole number from 0, got n"),
    ("leaderboards.0.columns.2.computation", "mean", 'avg, sum, min or max, got "mean"'),
    ("leaderboards.0.columns.2.computation", NO_VALUE, "one for computation_indexes, got none"),
    ("leaderboards.0.columns.2.computation_indexes", [0, 2], "a list of indexes of other columns"),
    ("leaderboards.0.columns.2.computation_indexes", NO_VALUE, "a list of indexes beside comp"),
]
#: The same for what the platform takes, but does otherwise than its organiser means.
ODD = [
    ("phases.0.max_submission", 5, "a key that is read; did you mean 'max_submissions'?"),
    ("phases.1.tasks", [], "the index of a task, got none: it scores nothing"),
    ("phases.1.end", dt.date(2027, 1, 14), "a time after the start, 2027-01-15 00:00:00, got 2027"),
    ("phases.1.start", dt.datetime(2027, 1, 16, 12), "a time in quotation marks, got 2027-01"),
    ("leaderboards.1", BOARD, "no other leaderboard, got one, which no phase uses"),
    ("leaderboards.0.columns.2.hidden", True, "false for a column that breaks ties, got true"),
]


def changed(values):
    """The competition with other values at places; beyond the end of a list, a new entry."""
    described = yaml.safe_load(COMPETITION)
    for place, value in values.items():
        *above, last = (int(part) if part.isdigit() else part for part in place.split("."))
        table = described
        for part in above:
            table = table[part]
        if value is NO_VALUE:
            del table[last]
        elif isinstance(table, list) and last == len(table):
            table.append(value)
        else:
            table[last] = value
    return yaml.safe_dump(described)


def zip_of(text, **files):
    return zipped({**FILES, **files, "competition.yaml": text})


def folder_of(text, folder):
    return written({**FILES, "competition.yaml": text.encode()}, folder)


@pytest.mark.parametrize(
    "text",
    [
        COMPETITION,
        changed({"title": "t" * 256}),
        changed({"tasks.0.reference_data": "1f0a1d240a6f4b269c437d9a2f6c8e10"}),  # a platform's key
        COMPETITION.replace("tasks: [0]}", "tasks: &t [0]}").replace("tasks: [0],", "tasks: *t,"),
    ],
    ids=["each key", "longest title", "data of the platform", "repeated lists"],
)
def test_a_valid_bundle_is_taken(text, tmp_path):
    assert check(zip_of(text)) == ([], [])
    assert check(folder_of(text, tmp_path)) == ([], [])


@pytest.mark.parametrize(
    ("place", "value", "expected", "is_refused"),
    [*((*fault, True) for fault in FAULTS), *((*odd, False) for odd in ODD)],
)
def test_a_fault_is_one_sentence_with_its_place(place, value, expected, is_refused):
    findings = check(zip_of(changed({place.partition("|")[0]: value})))
    line, *others = findings.refused if is_refused else findings.warnings
    assert (others, bool(findings.warnings)) == ([], not is_refused)
    shown = re.sub(r"\.(\d+)", r"[\1]", place.replace("|", ""))
    assert line.startswith(f"the bundle/competition.yaml: {shown}: expected {expected}")


def parts(schema):
    """The parts of a schema whose errors are reported; those of anyOf are reported as one."""
    for key, part in schema.items():
        if key in ("properties", "$defs"):
            for own in part.values():
                yield from parts(own) if isinstance(own, dict) else ()
        elif key in ("items", "then", "propertyNames") or (key == "additionalProperties" and part):
            yield from parts(part)
    if schema.keys() - {"$ref", "$defs", "if", "then", "required", "properties"}:
        yield schema


def test_each_part_of_the_schema_says_what_it_expects():
    path = ROOT / "shroom" / "bundle" / "competition.schema.json"
    assert [part for part in parts(json.loads(path.read_text())) if "description" not in part] == []


def test_all_faults_are_found_at_once():
    values = {"title": None, "image": "none.png", "tasks.0.name": NO_VALUE, "phases.0.name": []}
    values |= {"phases.0.end": None, "phases.1.tasks.0": 3, "leaderboards.0.columns.0.index": "x"}
    lines = check(zip_of(changed(values))).refused
    places = {re.sub(r"\.(\d+)", r"[\1]", place) for place in values}
    assert {line.split(": ")[1] for line in lines} == places
    assert len(lines) == len(places)


#: A list of ten lists of ten lists, and so on; and tables whose keys multiply by nine.
BOMB = "l0: &l0 [x, x]\n" + "".join(
    f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 21)
)
MERGED = "m0: &m0 {a: 1, b: 2}\n" + "".join(
    f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "expected keys and values, got null"),
        ("a: [1", "expected YAML, got other text"),
        ("a: 2027-13-45", "expected YAML, got a value that cannot"),
        ("!!python/object/apply:os.system [ls]", "expected YAML, got other text"),
        ("[" * 5000, "nest too deeply"),
        ("version: 2\ntitle: 0x1" + "0" * 9000, "Exceeds the limit"),
        ("version: 3", "version: expected 2, got 3"),
        ("title: Of CodaLab", "version: expected 2, got none; other versions are not"),
        ("version: 2\n" + "#" * (1 << 20), "at most 1048576 bytes"),
        (b"title: \xff", "expected UTF-8"),
        ("version: &v [*v]", "expected at most 20000 values, got more"),
        (BOMB + "version: 2\nphases: *l20", "expected at most 20000 values, got more"),
        (MERGED, "expected at most 20000 values, got more"),
    ],
    ids=range(13),
)
def test_what_cannot_be_read_is_one_line(text, part):
    (line,) = check(zip_of(text)).refused
    assert line.startswith("the bundle/competition.yaml: ")
    assert part in line


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "pages/../../x", "C:/x"])
def test_files_outside_the_bundle_are_refused_and_not_read(name, tmp_path):
    (line,) = check(zip_of(COMPETITION, **{name: b"x"})).refused
    assert line == f'the bundle: expected files inside the bundle, got "{name}"'
    (tmp_path / "x").write_text("secret")
    (line,) = check(folder_of(changed({"terms": name}), tmp_path / "bundle")).refused
    assert "terms: expected a file of the bundle, got" in line


def test_a_bundle_without_its_description_is_refused():
    inner = zipped({"task/competition.yaml": "version: 2"})
    sentence = "the bundle/competition.yaml: expected this file at the top of the bundle, got"
    hint = '"task/competition.yaml"; zip the files, not their folder'
    assert check(zipped({})).refused == [f"{sentence} none"]
    assert check(inner).refused == [f"{sentence} {hint}"]
    (line,) = check(b"no zip").refused
    assert "[zip-broken]" in line


def test_members_that_are_links_or_too_large_are_not_read():
    stream = io.BytesIO()
    link = zipfile.ZipInfo("pages/terms.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    odd = {link: "x", "logo.png": bytes(100 << 20), "competition.yaml": COMPETITION}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {**FILES, **odd}.items():
            if member != link.filename:
                archive.writestr(member, content)
    lines = check(stream.getvalue()).refused
    assert any("logo.png" in line and "[absurd-ratio]" in line for line in lines)
    assert any("terms.md" in line and "[not-a-file]" in line for line in lines)


def test_the_command_line(tmp_path, shroom):
    path = tmp_path / "bundle.zip"
    path.write_bytes(zip_of(changed({"phases.0.max_submision": 5})))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, "Codabench takes it" in out) == (0, True)
    assert err.startswith("warning: ")
    path.write_bytes(zip_of(changed({"image": "none.png", "title": None})))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, out, err.count("\n")) == (1, "", 2)
    assert shroom("bundle", "--check", tmp_path / "none.zip")[0] == 2
