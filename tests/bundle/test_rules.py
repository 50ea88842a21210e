"""The table of what Codabench refuses: one breach for each rule, and a bundle that breaks none."""

import copy
import datetime as dt

import pytest
import yaml

from shroom.bundle import check
from shroom.bundle.fields import FIELDS
from shroom.bundle.rules import RULES
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
            "public_data": "public",
            "starting_kit": "kit.zip",
        },
        {"index": 1, "name": "Test", "start": dt.date(2027, 1, 15), "tasks": [1]},
    ],
    "leaderboards": [
        {
            "title": "Results",
            "key": "main",
            "submission_rule": "Force_Last",
            "columns": [
                {"index": 0, "key": "acc", "title": "Accuracy", "sorting": "desc", "precision": 4},
                {"index": 1, "key": "error", "title": "Error", "sorting": "asc"},
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
#: Where the table of a name lies in the competition above.
PLACES = {
    "competition": (),
    "pages": ("pages", 0),
    "tasks": ("tasks", 0),
    "solutions": ("solutions", 0),
    "phases": ("phases", 0),
    "leaderboards": ("leaderboards", 0),
    "columns": ("leaderboards", 0, "columns", 2),
}
#: What breaks the rule for a key, where a value of another type would break others as well: a table
#: that is added.
TABLES = {
    "tasks.index": {"name": "Third", "scoring_program": "program.zip"},
    "tasks.key": {"index": 2, "key": "mine"},
    "tasks.scoring_program": {"index": 2, "name": "Third"},
    "solutions.index": {"path": "solution.zip", "tasks": [0]},
    "solutions.key": {"index": 1, "key": "mine", "tasks": [0]},
    "solutions.path": {"index": 1, "tasks": [0]},
    "columns.index": {"key": "rho", "title": "Rho"},
}
#: The keys that have to be there, and whose values other rules check.
PRESENT = {f"competition.{key}" for key in ("pages", "tasks", "phases", "leaderboards")}
PRESENT |= {"phases.start", "phases.tasks", "solutions.tasks", "leaderboards.columns"}
#: What breaks each of the other rules: the place, and its new value.
BREACHES = {
    "lists": (("pages", 0), "overview.html"),
    "page-file": (("pages", 0, "file"), "pages/none.html"),
    "image-file": (("image",), "pages/terms.md"),
    "task-index": (("tasks", 2), {**TASK, "index": 1}),
    "program-command": (("tasks", 0, "scoring_program"), "gold.zip"),
    "data-file": (("phases", 0, "public_data"), "none.zip"),
    "solution-tasks": (("solutions", 0, "tasks"), [7]),
    "fact-sheet": (("fact_sheet", "method"), {"key": "method"}),
    "phases": (("phases",), []),
    "phase-tasks": (("phases", 0, "tasks"), ["0"]),
    "phase-date": (("phases", 1, "start"), "soon"),
    "phase-end": (("phases", 0, "end"), None),
    "phase-order": (("phases", 0, "end"), dt.date(2027, 1, 15)),
    "auto-migrate": (("phases", 0, "auto_migrate_to_this_phase"), True),
    "leaderboard": (("leaderboards",), []),
    "column-key": (("leaderboards", 0, "columns", 3), {**COLUMN, "key": "acc"}),
    "column-index": (("leaderboards", 0, "columns", 3), {**COLUMN, "index": 0}),
    "computation": (("leaderboards", 0, "columns", 2, "computation_indexes"), [0, 2]),
    "primary-index": (("leaderboards", 0, "primary_index"), 9),
    "shown-column": (("leaderboards", 0, "columns"), [{**COLUMN, "index": 0, "hidden": True}]),
    # The platform takes these, but does not do what was meant.
    "unknown-key": (("phases", 0, "max_submission"), 5),
    "phase-without-tasks": (("phases", 1, "tasks"), []),
    "phase-length": (("phases", 1, "end"), dt.date(2027, 1, 14)),
    "midnight": (("phases", 1, "start"), dt.datetime(2027, 1, 16, 12)),
    "one-leaderboard": (
        ("leaderboards", 1),
        {"title": "Other", "key": "other", "columns": [{**COLUMN, "index": 0}]},
    ),
    "hidden-column": (("leaderboards", 0, "columns", 1, "hidden"), True),
}
CODES = [f"{name}.{key}" for name, keys in FIELDS.items() for key in keys]
KEYS = [name for name in CODES if name in RULES]


def changed(place, value):
    """The competition with another value at a place; beyond the end of a list, a new entry."""
    described = copy.deepcopy(COMPETITION)
    if not place:
        return value
    table = described
    for key in place[:-1]:
        table = table[key]
    if isinstance(table, list) and place[-1] == len(table):
        table.append(value)
    else:
        table[place[-1]] = value
    return described


def without(place, key):
    described = copy.deepcopy(COMPETITION)
    table = described
    for part in place:
        table = table[part]
    del table[key]
    return described


def zip_of(described, **files):
    text = yaml.safe_dump(described) if isinstance(described, dict) else described
    return zipped({**FILES, **files, "competition.yaml": text})


def codes(described, **files):
    """The rules that a competition breaks: those for which it is refused, and the others."""
    findings = check(zip_of(described, **files))
    return tuple(
        sorted({line.rpartition("[")[2].rstrip("]") for line in lines})
        for lines in (findings.refused, findings.warnings)
    )


def test_a_valid_bundle_breaks_no_rule():
    assert codes(COMPETITION) == ([], [])


def test_each_rule_has_a_sentence_and_a_breach_here():
    assert set(RULES) == {*KEYS, *BREACHES}
    assert all(rule.sentence.endswith(".") for rule in RULES.values())


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_of_a_rule_is_of_this_rule_alone(name):
    expected = ([name], []) if RULES[name].refused else ([], [name])
    assert codes(changed(*BREACHES[name])) == expected


@pytest.mark.parametrize("name", KEYS)
def test_a_breach_of_the_rule_for_a_key_is_of_this_rule_alone(name):
    table, _, key = name.partition(".")
    place = PLACES[table]
    if name in TABLES:
        end = {"tasks": 2, "solutions": 1, "columns": 3}[table]
        described = changed((*place[:-1], end), TABLES[name])
    elif name in PRESENT:
        described = without(place, key)
    else:
        described = changed((*place, key), {"not": "a value"})
    assert codes(described) == ([name], [])


@pytest.mark.parametrize(
    ("place", "most"),
    [
        (("title",), 256),
        (("docker_image",), 128),
        (("pages", 0, "title"), 255),
        (("tasks", 0, "name"), 256),
        (("phases", 0, "name"), 256),
        (("leaderboards", 0, "title"), 64),
        (("leaderboards", 0, "key"), 36),
        (("leaderboards", 0, "columns", 0, "key"), 36),
        (("leaderboards", 0, "columns", 0, "title"), 36),
    ],
)
def test_texts_have_a_greatest_length(place, most):
    assert codes(changed(place, "k" * most)) == ([], [])
    tables = {value[::2]: name for name, value in PLACES.items()}
    name = f"{tables[place[:-1][::2]]}.{place[-1]}"
    assert codes(changed(place, "k" * (most + 1))) == ([name], [])
