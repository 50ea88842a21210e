"""Reading the verifiability data and query sets: records, what is odd, datapoints, tables."""

import json
from collections import Counter
from typing import get_args

import pytest
from conftest import DATA
from msgspec import structs
from test_dreamcatcher import save

from shroom.core.datapoint import Label, premises
from shroom.datasets import queries
from shroom.datasets.collection import FileRecords
from shroom.datasets.verifiability import DATA_SET, read, statistics
from shroom.datasets.verifiability_records import Pair, Response, Support, Supported
from shroom.metrics.intervals import NO_INTERVALS, Intervals

REAL = DATA / "verifiability"
datapoints = DATA_SET.view().datapoints
HUMAN = REAL / "human_evaluation_annotations.subset114.jsonl"
COMPLETE, PARTIAL, NONE, INACCESSIBLE, CONTRADICT, UNCLEAR = get_args(Support)


def described(records, intervals=NO_INTERVALS):
    return DATA_SET.summary.contents([FileRecords("x.jsonl", records)], intervals)


def citation_scores(records, key="system_name", intervals=NO_INTERVALS):
    return described(records, intervals).tables[key].rows


def judged(text, supports, evidence=None):
    return {"citation_text": text, "citation_supports": supports, "evidence": evidence}


def verdict(supported, *judgements, worthy=True):
    return {
        "statement_is_verification_worthy": worthy,
        "statement_supported": supported,
        "citation_annotations": list(judgements) or None,
    }


def response_row():
    """Return a row of the human evaluation in which nothing is odd."""
    sea, sky, well = "The sea is salt[1][2].", "The sky is blue[3].", "I hope this helps."
    text = f"{sea} {sky} {well}"
    return {
        "id": "0f-neeva",
        "query": "What is salt?",
        "response": text,
        "split": "allsouls",
        "system_name": "neeva",
        "citations": [
            {
                "text": mark,
                "start_index": text.index(mark),
                "end_index": text.index(mark) + 3,
                "link_target": f"https://example.org/{mark[1]}",
            }
            for mark in ("[1]", "[2]", "[3]")
        ],
        "statements_to_citation_texts": {sea: ["[1]", "[2]"], sky: ["[3]"], well: []},
        "annotation": {
            "fluency": "Agree",
            "perceived_utility": "Neutral",
            "statement_to_annotation": {
                sea: verdict(
                    "Yes", judged("[1]", COMPLETE, "Salt water."), judged("[2]", PARTIAL, "Water.")
                ),
                sky: verdict("No", judged("[3]", NONE)),
                well: verdict(None, worthy=False),
            },
        },
    }


def pair_row():
    return {
        "question": "What is salt?",
        "claim": "The sea is salt.",
        "claim_raw_string": "The sea is salt.",
        "response": "The sea is salt. So it is.",
        "references": ["All seas are salt."],
        "citation_links": ["https://example.org"],
        "webpage_references": [],
        "attribution_label": "not attributable",
        "src_dataset": "Stanford-GenSearch",
        "id": "Stanford-GenSearch_1",
    }


def page_row():
    return {
        "query": "What is salt?",
        "response": "The sea is salt. So it is.",
        "statement": "The sea is salt.",
        "source_title": "Salt",
        "source_content_title": None,
        "source_date": None,
        "source_author": "A. Lot",
        "source_text": "# Salt\nAll seas are salt.",
        "source_raw_text": "Salt All seas are salt.",
        "source_supports_statement": "complete_support",
        "source_localized_evidence": "All seas are salt.",
        "source_url": "https://example.org",
    }


def statement_of(row, start):
    annotations = row["annotation"]["statement_to_annotation"]
    return next(value for text, value in annotations.items() if text.startswith(start))


def test_a_response_is_read_with_every_field(tmp_path):
    row = response_row()
    found = read(save(tmp_path / "x.jsonl", row))
    (record,) = found.records
    assert not list(found.problems)
    read_back = json.loads(json.dumps(structs.asdict(record), default=structs.asdict))
    same = ("id", "query", "response", "split", "system_name", "citations")
    assert {key: read_back[key] for key in same} == {key: row[key] for key in same}
    assert (record.perceived_utility, record.fluency) == ("Neutral", "Agree")
    sea, sky, well = record.statements
    texts = {each.text: list(each.citation_texts) for each in record.statements}
    assert texts == row["statements_to_citation_texts"]
    assert sea.statement_supported == "Yes"
    supports = [each.citation_supports for each in sea.citation_annotations]
    assert supports == [COMPLETE, PARTIAL]
    assert sky.citation_annotations[0].evidence is None
    assert (well.statement_is_verification_worthy, well.citation_annotations) == (False, None)


@pytest.mark.parametrize("row", [pair_row(), page_row()], ids=["pair", "page judgement"])
def test_other_rows_are_read_with_every_field(tmp_path, row):
    found = read(save(tmp_path / "x.jsonl", row))
    assert not list(found.problems)
    assert json.loads(json.dumps(structs.asdict(found.records[0]))) == row


@pytest.mark.parametrize("name", ["0f-you", "neeva", "0f_neeva", "x-neeva", "0f-neeva-1"])
def test_an_id_that_is_not_of_the_system_is_reported(tmp_path, name):
    found = read(save(tmp_path / "x.jsonl", response_row(), {**response_row(), "id": name}))
    (problem,) = found.problems
    assert (problem.code, problem.key, problem.index) == ("id-odd", "id", 1)
    assert problem.expected == "<hash>-<system_name>, as <hash>-neeva"
    assert found.records[1].id == name


def test_statements_that_are_one_key_are_told(tmp_path):
    path = tmp_path / "x.jsonl"
    text = json.dumps(response_row())
    sky = '"The sky is blue[3].": '
    twice = text.replace(sky, f"{sky}5, {sky}")  # both where it is cited and where it is judged
    assert twice.count(sky) == 4
    path.write_text(f"{json.dumps(pair_row())}\n{twice}\n", encoding="utf-8")
    found = read(path)
    (problem,) = found.problems
    assert (problem.code, problem.index, problem.key) == ("key-doubled", 1, '"The sky is blue[3]."')
    assert "the last value is used" in problem.expected


def test_doubled_rows_and_ids_are_told_and_kept(tmp_path):
    other = {**pair_row(), "claim": "So it is.", "claim_raw_string": "So it is."}
    path = save(tmp_path / "x.jsonl", pair_row(), pair_row(), other)
    found = read(path)
    assert found.rows == len(found.records) == 3
    told = [(each.code, each.index) for each in found.problems]
    assert told == [("row-doubled", 1), ("id-repeated", 2)]
    assert all(f"of item 0 of {path}" in each.found for each in found.problems)


def test_query_sets_in_a_folder_are_left_out_with_a_word(tmp_path):
    save(tmp_path / "a.jsonl", pair_row())
    save(tmp_path / "q.jsonl", {"query": "Should it rain more?"}, {"query": "Should it snow?"})
    found = read(tmp_path)
    assert found.rows == 1
    assert found.files == (str(tmp_path / "a.jsonl"),)
    (problem,) = found.problems
    assert (problem.code, problem.found) == ("file-ignored", "2 rows of queries")


def test_datapoints_of_a_response(tmp_path):
    found = read(save(tmp_path / "x.jsonl", response_row()))
    points = datapoints(found.records)
    assert [(point.src, point.p, point.label) for point in points] == [
        ("Salt water.", 0.0, Label.NOT_HALLUCINATION),
        ("Water.", 0.5, Label.NOT_HALLUCINATION),
    ]
    assert {point.hyp for point in points} == {"The sea is salt[1][2]."}
    assert {point.model for point in points} == {"neeva"}
    assert all(premises(point) == (point.src,) for point in points)
    assert DATA_SET.view().left_out(found.records) == 1


@pytest.mark.parametrize("support", get_args(Support))
def test_the_polarity_of_each_verdict(tmp_path, support):
    row = response_row()
    judgement = statement_of(row, "The sky")["citation_annotations"][0]
    judgement.update(citation_supports=support, evidence="Blue is the sky.")
    *_, point = datapoints(read(save(tmp_path / "x.jsonl", row)).records)
    expected = {COMPLETE: 0.0, PARTIAL: 0.5}.get(support, 1.0)
    assert (point.src, point.p) == ("Blue is the sky.", expected)
    assert (point.label is Label.HALLUCINATION) == (expected == 1)


REFERENCES, PAGE = {"references": ["One.", "Two."]}, page_row()["source_text"]


@pytest.mark.parametrize(
    ("row", "verdict", "premise", "p"),
    [
        (pair_row() | REFERENCES, {"attribution_label": "attributable"}, "One.\n\nTwo.", 0),
        (pair_row() | REFERENCES, {"attribution_label": "not attributable"}, "One.\n\nTwo.", 1),
        (page_row(), {"source_supports_statement": "complete_support"}, PAGE, 0),
        (page_row(), {"source_supports_statement": "partial_support"}, PAGE, 0.5),
        (page_row(), {"source_supports_statement": "no_support"}, PAGE, 1),
    ],
)
def test_datapoints_of_pairs_and_judgement_files(tmp_path, row, verdict, premise, p):
    blank = {**row, **verdict, "references": [], "source_text": " "}
    records = read(save(tmp_path / "x.jsonl", row | verdict, blank)).records
    (point,) = datapoints(records)
    assert (point.src, point.hyp, point.p) == (premise, "The sea is salt.", p)
    assert DATA_SET.view().left_out(records) == 1
    assert citation_scores(records) == []
    ((key, label),) = verdict.items()
    assert described(records).labels == {key: {label: 2}}


def test_a_judgement_file_is_recognised(shroom, refused, tmp_path):
    path = save(tmp_path / "verifiability_judgments_dev.jsonl", page_row(), page_row())
    code, out, err = shroom("datasets", "describe", "verifiability", path)
    assert (code, "complete_support  2" in out) == (0, True), err
    assert "citation metrics are not computed for judgements of cited pages" in out
    err = refused("score", path, path)
    assert f"'shroom datasets convert verifiability {path} -o gold.json'" in err


@pytest.mark.parametrize("cited", [True, False])
@pytest.mark.parametrize("supported", [*get_args(Supported), None])
def test_a_statement_is_supported_if_it_cites_and_the_verdict_is_yes(tmp_path, supported, cited):
    row, expected = response_row(), int(cited and supported == "Yes")
    statement_of(row, "The sea")["statement_supported"] = supported
    if not cited:
        row["statements_to_citation_texts"][next(iter(row["statements_to_citation_texts"]))] = []
        statement_of(row, "The sea")["citation_annotations"] = None
    found = read(save(tmp_path / "x.jsonl", row))
    # worthy, supported, judged and precise; fluency and perceived utility
    judged = [3, 1] if cited else [1, 0]
    assert statistics(found.records).tolist() == [[2, expected, *judged, 4, 3]]


def test_scores_by_system_and_split(tmp_path):
    systems = ("neeva", "you", "neeva", "you", "neeva")
    rows = [{**response_row(), "id": str(n), "system_name": it} for n, it in enumerate(systems)]
    for row in rows[::2]:
        statement_of(row, "The sea")["statement_supported"] = "No"
    rows[0]["split"] = "eli5_live"
    records = read(save(tmp_path / "x.jsonl", *rows)).records
    groups = citation_scores(records, intervals=Intervals(50))
    keys = ("system_name", "responses", "citation_recall")
    found = {tuple(group[key] for key in keys) for group in groups}
    assert found == {("neeva", 3, 0.0), ("you", 2, 0.5), ("all", 5, 0.2)}
    assert groups[1]["citation_recall_ci"] is None  # of two responses
    both = citation_scores(records, "system_name_split")
    assert [tuple(group.values())[:3] for group in both] == [
        ("neeva", "allsouls", 2),
        ("neeva", "eli5_live", 1),
        ("you", "allsouls", 2),
    ]


def test_queries(tmp_path):
    rows = [
        {"prompt_text": "Why?", "exam_name": "2005 I", "prompt_id": "1"},
        {"query": "Should museums be free?"},
        {"query": "Should all be?", "original_query": "All should be", "source": "us"},
        {"query": "should  museums be FREE?"},
        {"query": 5},
        "Why?",
        {"prompt_text": "Why not?", "prompt_id": 3},
        {"text": "Why?"},
    ]
    found = queries.read(save(tmp_path / "q.jsonl", *rows))
    assert (len(found.records), found.dropped, found.rows) == (5, 3, 8)
    assert [query.text for query in found.records[:2]] == ["Why?", "Should museums be free?"]
    assert (found.records[0].exam_name, found.records[0].prompt_id) == ("2005 I", "1")
    assert (found.records[2].original_query, found.records[2].source) == ("All should be", "us")
    assert [(each.code, each.index, each.key) for each in found.problems] == [
        ("query-odd", 2, "query"),
        ("row-doubled", 3, None),
        ("row-value", 4, "query"),
        ("row-value", 7, "query"),
        ("row-object", 5, None),
        ("text-odd", 6, "exam_name"),
        ("text-odd", 6, "prompt_id"),
    ]


@pytest.mark.real
def test_the_oddities_of_the_files():
    """What contradicts itself, or the source's description of its form; all of it is read."""
    found = read(REAL)
    assert (found.rows, found.problems.count("file-ignored")) == (844, 3)
    assert found.problems.codes == {"file-ignored"}
    points = Counter((point.model != "", point.p) for point in datapoints(found.records))
    human = {(True, 0.0): 200, (True, 0.5): 59}
    assert points == {**human, (False, 0.0): 365, (False, 1.0): 365}
    assert DATA_SET.view().left_out(found.records) == 186
    pairs = [record for record in found.records if isinstance(record, Pair)]
    assert sum(pair.claim_raw_string not in pair.response for pair in pairs) == 2
    responses = [record for record in found.records if isinstance(record, Response)]
    cited = [(record.response, each) for record in responses for each in record.citations]
    assert all(text[each.start_index : each.end_index] == each.text for text, each in cited)
    statements = [each for record in responses for each in record.statements]
    worthy = [each for each in statements if each.statement_is_verification_worthy]
    assert sum(each.statement_supported is None for each in worthy) == 65
    judged = [(one, each) for one in worthy for each in one.citation_annotations or ()]
    full = [pair for pair in judged if pair[1].citation_supports == COMPLETE]
    assert sum(not (each.evidence or "").strip() for _, each in full) == 3
    assert sum(one.statement_supported == "No" for one, _ in full) == 1


def by_hand(rows):
    """Return the figures of rows of the human evaluation, by a loop over their JSON."""
    worthy = supported = judged = precise = 0
    points = ["Strongly Disagree", "Disagree", "Neutral", "Agree", "Strongly Agree"]
    for row in rows:
        for statement in row["annotation"]["statement_to_annotation"].values():
            full = statement["statement_supported"] == "Yes"
            worthy += statement["statement_is_verification_worthy"]
            supported += full
            judgements = statement["citation_annotations"] or []
            verdicts = [each["citation_supports"] for each in judgements]
            judged += len(verdicts)
            precise += verdicts.count(COMPLETE)
            if full and COMPLETE not in verdicts:
                precise += verdicts.count(PARTIAL)
    recall, precision = supported / worthy, precise / judged
    return {
        "responses": len(rows),
        "worthy": worthy,
        "supported": supported,
        "citations": judged,
        "precise": precise,
        "citation_recall": recall,
        "citation_precision": precision,
        "citation_f1": 2 * recall * precision / (recall + precision) if precise else 0.0,
        **{
            key: sum(points.index(row["annotation"][key]) + 1 for row in rows) / len(rows)
            for key in ("fluency", "perceived_utility")
        },
    }


@pytest.mark.real
@pytest.mark.parametrize(
    ("keys", "groups"), [(("system_name",), 5), (("split",), 13), (("system_name", "split"), 36)]
)
def test_the_real_tables_equal_an_independent_computation(keys, groups):
    rows = [json.loads(line) for line in HUMAN.read_text("utf-8").split("\n") if line]
    tables = citation_scores(read(HUMAN).records, "_".join(keys))
    assert len(tables) == groups
    for group in tables:
        own = [row for row in rows if all(group[key] in (row[key], "all") for key in keys)]
        expected = by_hand(own)
        assert {key: group[key] for key in expected} == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.real
def test_the_real_verdicts_and_means_over_responses():
    records = read(HUMAN).records
    labels = described(records).labels
    assert {key: labels[key] for key in ("statement_supported", "citation_supports")} == {
        "statement_supported": {"Yes": 157, "No": 123, "none": 65, get_args(Supported)[2]: 12},
        "citation_supports": {
            COMPLETE: 203,
            CONTRADICT: 139,
            PARTIAL: 59,
            NONE: 38,
            INACCESSIBLE: 5,
            UNCLEAR: 1,
        },
    }
    *_, whole = citation_scores(records)
    means = [whole[f"mean_citation_{name}"] for name in ("recall", "precision", "f1")]
    known = [0.4261278195488722, 0.42273391812865485, 0.40527106052628714]
    assert means == pytest.approx(known, abs=1e-12)
