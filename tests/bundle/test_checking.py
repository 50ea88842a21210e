"""What Codabench refuses: each fault with its sentence, and bundles that are damaged or hostile."""

import copy
import datetime as dt
import io
import json
import stat
import zipfile

import pytest
import yaml
from conftest import ROOT

from shroom.bundle import check
from shroom.core.atomic_writing import zipped

PROGRAM = zipped({"metadata.yaml": "command: python3 $program/score.py $input $output\n"})
QUESTION = {
    "key": "method",
    "type": "text",
    "title": "Method",
    "selection": "",
    "is_required": "false",
    "is_on_leaderboard": "false",
}
FILES = {
    "logo.png": b"\x89PNG\r\n\x1a\n",
    "pages/terms.md": b"Be fair.",
    "pages/blank.md": b" \n",
    "pages/overview.html": b"<h1>Overview</h1>",
    "program.zip": PROGRAM,
    "gold.zip": zipped({"gold.json": "[]"}),
    "public/README.md": b"Public.",
    "kit.zip": zipped({"README.md": "Start."}),
    "solution.zip": zipped({"solution.json": "[]"}),
}
#: A competition that uses each key.
COMPETITION = {
    "version": 2,
    "title": "A task",
    "description": "",
    "image": "logo.png",
    "terms": "pages/terms.md",
    "registration_auto_approve": True,
    "docker_image": "codalab/codalab-legacy:py39",
    "contact_email": "task@example.org",
    "fact_sheet": {"method": QUESTION},
    "pages": [{"title": "Overview", "file": "./pages/overview.html"}],
    "tasks": [
        {"index": 0, "name": "Dev", "scoring_program": "program.zip", "reference_data": "gold.zip"},
        {"index": 1, "key": "1f0a1d24-0a6f-4b26-9c43-7d9a2f6c8e10"},
    ],
    "solutions": [{"index": 0, "path": "solution.zip", "tasks": [0]}],
    "phases": [
        {
            "index": 0,
            "name": "Development",
            "start": dt.date(2027, 1, 1),
            "end": "2027-01-14 23:59:59",
            "tasks": [0],
            "max_submissions_per_day": 5,
            "hide_output": "no",
            "public_data": "public",
            "starting_kit": "kit.zip",
        },
        {"index": 1, "name": "Test", "start": dt.date(2027, 1, 15), "tasks": [1], "end": None},
    ],
    "leaderboards": [
        {
            "title": "Results",
            "key": "main",
            "submission_rule": "Force_Last",
            "columns": [
                {"index": 0, "key": "acc", "title": "Accuracy", "sorting": "desc", "precision": 4},
                {"index": "1", "key": "error", "title": "Error", "sorting": "asc"},
                {
                    "index": 2,
                    "key": "mean",
                    "title": "Mean",
                    "computation": "avg",
                    "computation_indexes": [0, 1],
                },
            ],
        }
    ],
}
TASK = {"index": 2, "name": "Third", "scoring_program": "program.zip"}
COLUMN = {"index": 3, "key": "rho", "title": "Rho"}
NO_VALUE = object()
OTHER = {"not": "a value"}
#: A place, its new value, and the sentence for which a competition with it is refused.
FAULTS = [
    ("title", NO_VALUE, "title: expected a text of at most 256 characters, got none"),
    ("title", "t" * 257, "title: expected a text of at most 256 characters, got"),
    ("title", " ", 'title: expected a text of at most 256 characters, got " "'),
    ("description", OTHER, "description: expected a text, got {"),
    ("image", 5, "image: expected the name of a file, got 5"),
    ("image", "none.png", 'image: expected a file of the bundle, got "none.png"'),
    ("image", "pages/terms.md", "image: expected a PNG, JPEG, GIF or WebP file, got"),
    ("terms", "pages/blank.md", "terms: expected a file with content, got"),
    ("terms", "logo.png", 'terms: expected a text in UTF-8, got "logo.png"'),
    ("auto_run_submissions", "maybe", 'auto_run_submissions: expected true or false, got "maybe"'),
    ("contact_email", "nobody", 'contact_email: expected an email address, got "nobody"'),
    ("fact_sheet", 5, "fact_sheet: expected keys and values, got 5"),
    ("fact_sheet.method", {"key": "method"}, "fact_sheet.method: expected exactly key, type,"),
    ("fact_sheet.method.key", "other", 'fact_sheet.method.key: expected "method", got "other"'),
    ("fact_sheet.method.type", "radio", "fact_sheet.method.type: expected checkbox, text or"),
    ("pages.0", "overview.html", "pages[0]: expected keys and values, got"),
    ("pages.0.file", "none.html", "pages[0].file: expected a file of the bundle, got"),
    ("tasks.0.scoring_program", "gold.zip", "tasks[0].scoring_program: expected metadata.yaml or"),
    ("tasks.2", {**TASK, "index": 1}, "tasks[2].index: expected one of its own, got 1 again"),
    ("tasks.2", {"name": "Third", "scoring_program": "program.zip"}, "tasks[2].index: expected a"),
    ("tasks.2", {"index": 2, "key": "mine"}, "tasks[2].key: expected a key of the platform, a"),
    ("tasks.2", {"index": 2, "name": "Third"}, "tasks[2].scoring_program: expected the name of a"),
    ("solutions.0.tasks", [7], "solutions[0].tasks[0]: expected the index of a task, got 7"),
    ("solutions.1", {"index": 1, "tasks": [0]}, "solutions[1].path: expected the name of a file,"),
    ("phases", [], "phases: expected a list of at least one phase, got []"),
    ("phases.0.tasks", ["0"], 'phases[0].tasks[0]: expected the index of a task, got "0"'),
    ("phases.0.tasks", NO_VALUE, "phases[0].tasks: expected a list of indexes of tasks, got none"),
    ("phases.0.max_submissions", -1, "phases[0].max_submissions: expected a whole number from 0,"),
    ("phases.1.start", "soon", "phases[1].start: expected a date such as 2027-01-15 or a time"),
    ("phases.1.start", "2027-02-30", "phases[1].start: expected a date such as 2027-01-15 or a"),
    ("phases.0.end", None, "phases[0].end: expected a date, because another phase follows, got"),
    ("phases.0.end", dt.date(2027, 1, 15), "phases[1].start: expected a time after 2027-01-15"),
    ("phases.0.auto_migrate_to_this_phase", True, "phases[0].auto_migrate_to_this_phase: expected"),
    ("leaderboards.0.primary_index", 9, "leaderboards[0].primary_index: expected the index of a"),
    ("leaderboards.0.columns", [], "leaderboards[0].columns: expected a list with at least one"),
    (
        "leaderboards.0.columns",
        [{**COLUMN, "index": 0, "hidden": True}],
        "leaderboards[0].columns: expected a list with at least one column that is not hidden, got",
    ),
    ("leaderboards.0.columns.0.sorting", "up", "leaderboards[0].columns[0].sorting: expected desc"),
    ("leaderboards.0.columns.0.precision", "x", "leaderboards[0].columns[0].precision: expected a"),
    (
        "leaderboards.0.columns.3",
        {**COLUMN, "key": "acc"},
        "leaderboards[0].columns[3].key: expect",
    ),
    ("leaderboards.0.columns.3", {**COLUMN, "index": 0}, "leaderboards[0].columns[3].index: expe"),
    ("leaderboards.0.columns.3", {"key": "r", "title": "R"}, "leaderboards[0].columns[3].index: e"),
    ("leaderboards.0.columns.2.computation", "mean", "leaderboards[0].columns[2].computation: exp"),
    *(
        (
            f"leaderboards.0.columns.2.{key}",
            value,
            f"leaderboards[0].columns[2].{key}: expected {expected}",
        )
        for key, value, expected in (
            ("computation_indexes", [0, 2], "a list of indexes of other columns, got [0, 2]"),
            ("computation_indexes", NO_VALUE, "a list of indexes beside computation, got none"),
            ("computation", NO_VALUE, "one for computation_indexes, got none"),
        )
    ),
]
#: The same for what the platform takes, but does not do as was meant.
ODD = [
    ("phases.0.max_submission", 5, "phases[0].max_submission: expected a key that is read; did"),
    ("phases.1.tasks", [], "phases[1].tasks: expected the index of a task, got none: it scores"),
    ("phases.1.end", dt.date(2027, 1, 14), "phases[1].end: expected a time after the start, 2027"),
    (
        "phases.1.start",
        dt.datetime(2027, 1, 16, 12),
        "phases[1].start: expected a time in quotation",
    ),
    (
        "leaderboards.1",
        {"title": "Other", "key": "other", "columns": [{**COLUMN, "index": 0}]},
        "leaderboards[1]: expected no other leaderboard, got one, which no phase uses",
    ),
    ("leaderboards.0.columns.2.hidden", True, "leaderboards[0].columns[2].hidden: expected false"),
]


def changed(place, value):
    """The competition with another value at a place; beyond the end of a list, a new entry."""
    described = copy.deepcopy(COMPETITION)
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
    return described


def zip_of(described, **files):
    text = yaml.safe_dump(described) if isinstance(described, dict) else described
    return zipped({**FILES, **files, "competition.yaml": text})


def refused(source):
    return check(source).refused


def test_a_valid_bundle_is_taken():
    findings = check(zip_of(COMPETITION))
    assert (findings.refused, findings.warnings) == ([], [])


@pytest.mark.parametrize(("place", "value", "sentence"), FAULTS)
def test_a_fault_is_one_sentence_with_its_place(place, value, sentence):
    findings = check(zip_of(changed(place, value)))
    assert findings.warnings == []
    (line,) = findings.refused
    assert line.startswith(f"the bundle/competition.yaml: {sentence}")


@pytest.mark.parametrize(("place", "value", "sentence"), ODD)
def test_what_is_hardly_meant_is_a_warning(place, value, sentence):
    findings = check(zip_of(changed(place, value)))
    assert findings.refused == []
    (line,) = findings.warnings
    assert line.startswith(f"the bundle/competition.yaml: {sentence}")


@pytest.mark.parametrize(
    ("place", "longest"),
    [(place, value[1:]) for place, value, _ in FAULTS if isinstance(value, str) and value[30:]],
)
def test_texts_may_have_the_greatest_length(place, longest):
    assert refused(zip_of(changed(place, longest))) == []


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
    described = changed("title", None)
    described["image"] = "none.png"
    described["phases"][0].update(end=None, name=5, tasks=[3])
    del described["tasks"][0]["name"]
    described["leaderboards"][0]["columns"][0]["index"] = "x"
    places = [line.split(": ")[1] for line in refused(zip_of(described))]
    assert sorted(places) == sorted(
        [
            *("title", "image", "tasks[0].name", "phases[0].end", "phases[0].tasks[0]"),
            "leaderboards[0].columns[0].index",
        ]
    )


def test_a_folder_is_checked_as_its_zip(tmp_path):
    described = changed("image", "none.png")
    files = {**FILES, "competition.yaml": yaml.safe_dump(described).encode()}
    (line,) = refused(folder_of(files, tmp_path / "folder"))
    (tmp_path / "a.zip").write_bytes(zip_of(described))
    (other,) = refused(tmp_path / "a.zip")
    assert line.replace("/folder/", "/a.zip/") == other


def folder_of(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def bomb(letters="abcdefghijklmnopqrstu"):
    """A list of ten lists of ten lists, and so on."""
    lines = ["a: &a [x, x]"]
    for above, letter in zip(letters, letters[1:]):
        lines.append(f"{letter}: &{letter} [{', '.join([f'*{above}'] * 10)}]")
    return "\n".join(lines) + "\n"


def merged():
    """Tables whose keys multiply by nine, again and again."""
    lines = ["m0: &m0 {a: 1, b: 2}"]
    lines += [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (b"no zip", "[zip-broken]"),
        (zipped({"task/competition.yaml": "version: 2"}), "zip the files, not their folder"),
        (zipped({}), "competition.yaml: expected this file at the top of the bundle, got none"),
        (zip_of(""), "competition.yaml: expected keys and values, got null"),
        (zip_of("a: [1"), "competition.yaml: expected YAML, got other text"),
        (zip_of("a: 2027-13-45"), "competition.yaml: expected YAML, got a value that cannot"),
        (zip_of("!!python/object/apply:os.system [ls]"), "expected YAML, got other text"),
        (zip_of("[" * 5000), "nest too deeply"),
        (zip_of("version: 2\ntitle: 0x1" + "0" * 9000), "Exceeds the limit"),
        (zip_of("- 1"), "expected keys and values, got [1]"),
        (zip_of("version: 3"), "version: expected 2, got 3"),
        (zip_of("title: Of CodaLab"), "version: expected 2, got none; other versions are not"),
        (zip_of("version: 2\n" + "#" * (1 << 20)), "at most 1048576 bytes"),
        (zip_of(b"title: \xff"), "expected UTF-8"),
        (zip_of("version: &v [*v]"), "competition.yaml: expected at most 20000 values, got more"),
        (zip_of("version: 2\nphases: &p\n- tasks: *p"), "expected at most 20000 values, got more"),
        (zip_of(bomb() + "version: 2\nphases: *u"), "expected at most 20000 values, got more"),
        (zip_of(merged()), "expected at most 20000 values, got more"),
    ],
    ids=range(18),
)
def test_what_cannot_be_read_is_one_line(source, part):
    (line,) = refused(source)
    assert part in line


def test_lists_that_are_repeated_are_read():
    text = yaml.safe_dump(COMPETITION).replace("tasks:\n  - 1", "tasks: *t")
    text = text.replace("tasks:\n  - 0", "tasks: &t\n  - 0", 1)
    assert "*t" in text
    assert refused(zip_of(text)) == []


def test_members_that_are_links_or_too_large_are_not_read():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**FILES, "competition.yaml": yaml.safe_dump(COMPETITION)}.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            if name == "pages/terms.md":
                member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, bytes(100 << 20) if name == "logo.png" else content)
    lines = refused(stream.getvalue())
    assert any("logo.png" in line and "[absurd-ratio]" in line for line in lines)
    assert any("terms.md" in line and "[not-a-file]" in line for line in lines)


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "pages/../../secret.txt"])
def test_files_outside_the_bundle_are_not_read(name, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    described = changed("terms", name)
    files = {**FILES, "competition.yaml": yaml.safe_dump(described).encode()}
    (line,) = refused(folder_of(files, tmp_path / "bundle"))
    assert "terms: expected a file of the bundle, got" in line


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "pages/../../x", "C:\\\\x"])
def test_files_that_leave_the_bundle_are_refused(name):
    (line,) = refused(
        zipped({**FILES, name: b"x", "competition.yaml": yaml.safe_dump(COMPETITION)})
    )
    assert f'the bundle: expected files inside the bundle, got "{name[:1]}' in line


def test_the_command_line(tmp_path, shroom):
    path = tmp_path / "bundle.zip"
    path.write_bytes(zip_of(changed("phases.0.max_submision", 5)))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, "Codabench takes it" in out) == (0, True)
    assert err.startswith("warning: ")
    assert "did you mean 'max_submissions'" in err
    described = changed("image", "none.png")
    described["phases"][0]["end"] = None
    path.write_bytes(zip_of(described))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, out, err.count("\n")) == (1, "", 2)
    assert "image: expected a file of the bundle" in err
    code, _, err = shroom("bundle", "--check", tmp_path / "none.zip")
    assert code == 2
