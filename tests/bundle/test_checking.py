"""What Codabench rejects: each fault with its sentence, and bundles that are damaged or hostile."""

import io
import json
import re
import stat
import zipfile

import pytest
import yaml
from conftest import ROOT

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
NO_VALUE = object()
#: Changes of the competition, each with what is expected instead.
FAULTS = yaml.safe_load((ROOT / "tests" / "bundle" / "faults.yaml").read_text("utf-8"))


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
def test_a_valid_bundle_is_taken(text):
    assert check(zip_of(text)) == ([], [])


@pytest.mark.parametrize(
    ("fault", "is_refused"),
    [(fault, kind == "refused") for kind, faults in FAULTS.items() for fault in faults],
)
def test_a_fault_is_one_sentence_with_its_place(fault, is_refused):
    place, expected = fault["place"], fault["expected"]
    findings = check(zip_of(changed({place.partition("|")[0]: fault.get("value", NO_VALUE)})))
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
        ("a: [1", "expected YAML in UTF-8, got other text"),
        ("a: 2027-13-45", "expected YAML in UTF-8, got other text"),
        ("!!python/object/apply:os.system [ls]", "expected YAML in UTF-8, got other text"),
        ("[" * 5000, "maximum recursion depth"),
        ("version: 2\ntitle: 0x1" + "0" * 9000, "Exceeds the limit"),
        ("version: 3", "version: expected 2, got 3"),
        ("title: Of CodaLab", "version: expected 2, got none; the kit can check only"),
        (b"title: \xff", "expected YAML in UTF-8"),
        ("version: 2\ntitle: &v [*v]", "expected at most 20000 values, got more"),
        (BOMB + "version: 2\nphases: *l20", "expected at most 20000 values, got more"),
        (MERGED, "expected at most 20000 values, got more"),
    ],
    ids=range(12),
)
def test_what_cannot_be_read_is_one_line(text, part):
    (line,) = check(zip_of(text)).refused
    assert line.startswith("the bundle/competition.yaml: ")
    assert part in line


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "pages/../../x", "C:/x"])
def test_files_outside_the_bundle_are_refused_and_not_read(name):
    (line,) = check(zip_of(COMPETITION, **{name: b"x"})).refused
    assert line == f'the bundle: expected paths inside the bundle, got "{name}"'
    (line,) = check(zip_of(changed({"terms": name}))).refused
    assert "terms: expected a file in the bundle, got" in line


def test_a_bundle_without_its_description_is_refused():
    inner = zipped({"task/competition.yaml": "version: 2"})
    sentence = "the bundle/competition.yaml: expected this file at the top level of the bundle, got"
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
    assert (code, out[:6], err[:9]) == (0, "valid:", "warning: ")
    assert shroom("bundle", "--check", tmp_path / "none.zip")[0] == 2
