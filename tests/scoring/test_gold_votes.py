"""Gold whose label or p is not what its annotators' labels say: reported by whatever reads gold."""

from __future__ import annotations

import pytest
from conftest import gold, predictions, write_json

from shroom.core.problems import Problems
from shroom.scoring.check import check, check_documents
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import documents

LABELS = ["Hallucination", "Not Hallucination"]
AGNOSTIC = "val.model-agnostic.json"
#: Of the twelve items two have another p, and one another label.
LINES = {
    "label-votes": 'item 5: label: expected the majority of "labels", got another value in 1 item;',
    "p-votes": 'item 1: p(Hallucination): expected the share of Hallucination in "labels", got',
}


@pytest.fixture
def folder(tmp_path):
    rows = gold()
    for row in (1, 7):
        rows[row]["p(Hallucination)"] = 0.9 if rows[row]["p(Hallucination)"] < 0.5 else 0.55
    wrong = {"Hallucination": "Not Hallucination", "Not Hallucination": "Hallucination"}
    rows[5]["label"] = wrong[rows[5]["label"]]
    write_json(tmp_path / "gold" / AGNOSTIC, rows)
    write_json(tmp_path / "mine" / AGNOSTIC, predictions())
    return tmp_path


@pytest.mark.usefixtures("both_readers")
def test_both_readers_find_the_same_and_the_scoring_program_nothing(folder):
    problems = check(folder / "mine", folder / "gold").problems
    assert {each.code: (each.index, each.found) for each in problems if each.code in LINES} == {
        "label-votes": (5, "another value in 1 item; this is the first"),
        "p-votes": (1, "another value in 2 items; this is the first"),
    }
    problems = Problems()
    listed, edition = documents(folder / "mine", problems), default()
    check_documents(listed, folder / "gold", problems=problems, edition=edition)
    assert not problems.codes & set(LINES)


@pytest.mark.parametrize(
    "change",
    [
        *({"labels": votes} for votes in ([], [None], "Hallucination", ["maybe"], [LABELS])),
        {"labels": LABELS, "p(Hallucination)": 0.5},
        {"labels": [LABELS[0], None, LABELS[1]], "p(Hallucination)": 0.5},
        {"labels": [*LABELS, LABELS[0]], "p(Hallucination)": 0.67},
    ],
)
def test_what_votes_do_not_tell_is_not_reported(change):
    rows = gold()
    rows[5] = {**rows[5], "label": "Hallucination", **change}
    assert not check(predictions(), rows).problems.codes & set(LINES)
