"""Factual consistency: reading, tables, datapoints."""

import csv
import gzip
import io
from collections import Counter
from pathlib import Path

import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import Label, premises
from shroom.core.problems import InvalidInput
from shroom.datasets.factual_consistency import DATA_SET, Response, figures, read
from shroom.metrics.intervals import Intervals

REAL = DATA / "factual_consistency"
HEADER = [
    *("conv_index", "model_type", "decoding", "context", "knowledge", "response"),
    *("Avg Factual Correctness", "Hallucination", "Verifiable"),
]
EXPERT = "factual_dataset_expert"


def row(**changes):
    texts = ["A: Hi <br>B: Ho <br>", "Soup is hot.", "It is hot."]
    cells = ["7", "GPT2-small", "DBS", *texts, "1.0", "No", "y"]
    return {**dict(zip(HEADER, cells)), **changes}


def save(path, rows, header=HEADER, encoding="utf-8"):
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def response(**changes):
    known = {"conv_index": 1, "model_type": "GPT2-small", "decoding": "DBS"}
    known |= {"context": "A: Hi <br>", "knowledge": "Soup is hot.", "response": "It is."}
    known |= {"given_correctness": 1.0, "hallucination": "No", "verifiable": "y"}
    return Response(**{**known, **changes})


@pytest.fixture(scope="module")
def real():
    return read(REAL)


# the real files


@pytest.mark.real
def test_the_experts_mean_without_the_value_that_is_out_of_range(real):
    (experts,) = [each.records for each in real.by_file if EXPERT in each.file]
    assert (experts[398].given_correctness, experts[398].correctness) == (3.0, None)


@pytest.mark.real
def test_the_oddities_of_the_files(real):
    """What the files have that a reader has to expect, and what of it is reported."""
    by_file = {Path(each.file).stem: each.records for each in real.by_file}
    crowd = ("dpr", "gt", "knn")
    # Turns end in a mark, which premises do not have.
    assert all("<br>" in record.context for record in real.records)
    # The crowd judged what is verifiable, the experts everything.
    unjudged = {name: sum(r.hallucination is None for r in own) for name, own in by_file.items()}
    assert unjudged == {"dpr": 710, "gt": 419, "knn": 591, EXPERT: 0}
    assert all(r.verifiable == "n" for r in real.records if r.hallucination is None)
    # Numbers of dialogues start again in the experts' file, with other dialogues.
    assert all(len({r.dialogue for r in by_file[name]}) == 98 for name in crowd)
    assert len({r.dialogue for r in by_file[EXPERT]}) == 926
    assert len({r.conv_index for r in by_file[EXPERT]}) < 926
    # UTF-8 that was read as Mac Roman.
    texts = {
        name: [r.context + r.knowledge + r.response for r in by_file[name]] for name in by_file
    }
    broken = {name: sum("‚Ä" in text for text in own) for name, own in texts.items()}
    assert broken == {**dict.fromkeys(crowd, 0), EXPERT: 25}
    found = Counter((Path(p.file).stem, p.code, p.key) for p in real.problems)
    assert found == {
        ("dpr", "row-doubled", None): 14,
        ("gt", "row-doubled", None): 18,
        ("knn", "row-doubled", None): 17,
        ("gt", "text-odd", "knowledge"): 60,
        (EXPERT, "number-odd", "Avg Factual Correctness"): 1,
    }
    (value,) = [p for p in real.problems if p.key == "Avg Factual Correctness"]
    assert (value.index, value.found) == (398, "3.0")


@pytest.mark.real
def test_every_real_datapoint_has_a_premise(real):
    for name, n in (("hallucination", 926), ("correctness", 925)):
        view = DATA_SET.view(name)
        points = view.datapoints(real.records)
        assert all(text.strip() for point in points for text in premises(point))
        assert not any("<br>" in point.src for point in points)
        assert len(points) == len(real.records) - view.left_out(real.records)
        assert len(points) == 780 + 606 + 483 + n


# reading


def test_every_form_of_a_file_reads_alike(tmp_path):
    plain = save(tmp_path / "gt.csv", [row(), row(conv_index="8")])
    (tmp_path / "packed").mkdir()
    packed = tmp_path / "packed" / "gt.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "packed" / "readme.txt").write_text("no data")
    one = read(plain).records
    assert one == read(packed).records == read(tmp_path / "packed").records
    assert len(read(plain, packed).records) == 4
    rows = [row(mood="good"), row(mood="bad", conv_index="8")]
    save(plain, rows, ["mood", *HEADER[::-1]], encoding="utf-8-sig")
    plain.write_bytes(plain.read_bytes().replace(b"\n", b"\r\n"))
    other = read(plain)
    assert other.records == one


@pytest.mark.parametrize(
    ("key", "cell", "code", "field", "value"),
    [
        ("Avg Factual Correctness", "3.0", "number-odd", "correctness", None),
        ("Avg Factual Correctness", "half", "number-odd", "correctness", None),
        ("Avg Factual Correctness", "1e999", "number-odd", "correctness", None),
        ("Hallucination", "maybe", "word-odd", "hallucination", None),
        ("Verifiable", "yes", "word-odd", "verifiable", None),
        ("conv_index", "seven", "number-odd", "conv_index", None),
        ("knowledge", " ", "text-odd", "knowledge", " "),
        ("response", "", "text-odd", "response", ""),
    ],
)
def test_an_odd_cell_is_a_warning_with_its_place(tmp_path, key, cell, code, field, value):
    plain = row(context="A: Hi")
    path = save(tmp_path / "gt.csv", [plain, {**plain, "response": "No.", key: cell}])
    found = read(path)
    odd = [p for p in found.problems if p.index == 1]
    assert [(p.code, p.file, p.key) for p in odd if p.key == key] == [(code, str(path), key)]
    assert len(found.records) == 2
    assert getattr(found.records[1], field) == value


def test_a_row_that_is_not_verifiable_may_be_without_judgements(tmp_path):
    blank = {"Avg Factual Correctness": "", "Hallucination": "", "Verifiable": "n"}
    rows = [row(context="A: Hi"), row(context="A: Hi", **blank), row(context="A: Hi", **blank)]
    path = save(tmp_path / "gt.csv", rows)
    found = read(path)
    (doubled,) = found.problems
    assert (doubled.code, doubled.index) == ("row-doubled", 2)
    assert doubled.found == f"a repetition of item 1 of {path}"


@pytest.mark.parametrize("cells", [["1"], ["1"] * 12])
def test_a_row_of_another_width_is_dropped_and_counted(tmp_path, cells):
    path = save(tmp_path / "gt.csv", [row()])
    path.write_text(path.read_text() + ",".join(cells) + "\n")
    found = read(path)
    assert (len(found.records), found.dropped, found.rows) == (1, 1, 2)
    (dropped,) = found.problems
    assert (dropped.code, dropped.index) == ("row-width", 1)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (",".join(HEADER).encode(), "empty"),
        (b"\xff\xfea\x00", "not-csv"),
        (",".join(HEADER).encode() + b'\n1,"unclosed', "not-csv"),
        (b"\x1f\x8bnot gzip", "gzip-broken"),
    ],
)
def test_another_file_is_an_error(tmp_path, content, code):
    path = tmp_path / "gt.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read(path)
    assert code in caught.value.problems.codes


@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1),
        min_size=3,
        max_size=3,
    )
)
def test_any_text_in_quotes_is_read_as_it_is(tmp_path, texts):
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerow(row(**dict(zip(("context", "knowledge", "response"), texts))))
    path = tmp_path / "gt.csv"
    path.write_bytes(text.getvalue().encode())
    (record,) = read(path).records
    assert [record.context, record.knowledge, record.response] == texts


# tables


def test_intervals_draw_whole_dialogues():
    def interval(dialogues):
        records = [
            response(conv_index=n % dialogues, given_correctness=float(n % dialogues % 2))
            for n in range(120)
        ]
        low, high = figures(records, Intervals(200))["mean_correctness_ci"]
        return high - low

    assert interval(12) > 2 * interval(120)


def test_nothing_judged_is_undefined():
    nothing = response(given_correctness=None, hallucination=None, verifiable="n")
    row = figures([nothing, nothing], Intervals())
    assert row["mean_correctness"] is row["hallucinated_share_ci"] is None
    assert row["mean_correctness_as_given"] is None
    assert row["verifiable_share"] == 0


# datapoints


@pytest.mark.parametrize(("knowledge", "above"), [("Soup is hot.", "Soup is hot.\n"), (" ", "")])
def test_the_premise_is_the_knowledge_and_the_dialogue(knowledge, above):
    known = response(context="A: Hi <br>B: Ho <br>", knowledge=knowledge)
    (point,) = DATA_SET.view().datapoints([known])
    assert point.src == f"{above}A: Hi\nB: Ho"


@pytest.mark.parametrize(
    ("correctness", "hallucination", "view", "p"),
    [
        (0.25, "Yes", "hallucination", 1.0),
        (0.25, "No", "hallucination", 0.0),
        (0.25, "No", "correctness", 0.75),
        (0.5, "Yes", "correctness", 0.5),
        (3.0, "Yes", "correctness", None),
        (None, None, "hallucination", None),
        (None, None, "correctness", None),
    ],
)
def test_p_is_chosen(correctness, hallucination, view, p):
    known = response(given_correctness=correctness, hallucination=hallucination)
    points = DATA_SET.view(view).datapoints([known])
    label = None if p is None else Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION
    expected = [] if p is None else [(p, label, "GPT2-small")]
    assert [(point.p, point.label, point.model) for point in points] == expected
