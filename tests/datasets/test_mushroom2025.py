"""Mu-SHROOM: what is read, what is reported, what is aligned, and the figures of the real files."""

import json

import pytest
from conftest import DATA, write_lines
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import Label, Reference, Task, premises
from shroom.core.problems import InvalidInput
from shroom.datasets.mushroom2025 import DATA_SET, Record, read
from shroom.metrics.span_metrics import IOU, RHO
from shroom.scoring.check import check
from shroom.scoring.kinds.span_values import HardSpan, SoftSpan, hard_of, soft_of

datapoints, flagged = (DATA_SET.view(name).datapoints for name in ("share", "any"))
TEXT = "The cat sat on the mat."  # 23 characters


def row(number=1, **fields):
    given = {
        "id": f"val-en-{number}",
        "lang": "EN",
        "model_input": f"Where was cat {number}?",
        "model_output_text": TEXT,
        "model_id": "made/up",
        "soft_labels": [{"start": 4, "prob": 1.0, "end": 7}, {"start": 7, "prob": 0.4, "end": 11}],
        "hard_labels": [[4, 7]],
        "model_output_tokens": ["The", "Ġcat"],
        "model_output_logits": [0.5, 1.5],
        "wikipedia_url": "https://example.org/cat",
        "annotations": {"annotator_1": [[4, 7]], "annotator_2": [[4, 11]]},
        **fields,
    }
    return {key: value for key, value in given.items() if value != "absent"}


@pytest.fixture
def files(tmp_path):
    def make(gold, predictions):
        names = {"gold.jsonl": gold, "pred.jsonl": predictions}
        return [write_lines(tmp_path / name, rows) for name, rows in names.items()]

    return make


def odd(collection):
    """Return where each warning is."""
    return [(p.code, p.index, p.key) for p in collection.problems]


# records


def test_a_record_has_every_field(tmp_path):
    collection = read(write_lines(tmp_path / "a.jsonl", [row()]))
    known = {
        **row(),
        "soft_labels": (SoftSpan(4, 7, 1.0), SoftSpan(7, 11, 0.4)),
        "hard_labels": (HardSpan(4, 7),),
        "model_output_tokens": ("The", "Ġcat"),
        "model_output_logits": (0.5, 1.5),
        "annotations": {"annotator_1": (HardSpan(4, 7),), "annotator_2": (HardSpan(4, 11),)},
    }
    assert collection.records == [Record(**known)]
    assert (collection.name, collection.rows, odd(collection)) == ("mushroom2025", 1, [])


def test_the_hubs_form_of_annotations(tmp_path):
    listed = [{"annotator_id": "annotator_1", "labels": [[4, 7]]}]
    (record,) = read(write_lines(tmp_path / "a.jsonl", [row(annotations=listed)])).records
    assert record.annotations == {"annotator_1": (HardSpan(4, 7),)}


def test_the_same_answer_again_is_kept_and_a_doubled_id_an_error_across_files(tmp_path):
    again = row(3, model_input=row()["model_input"])
    collection = read(write_lines(tmp_path / "a.jsonl", [row(), row(2), again]))
    assert len(collection.records) == 3
    assert odd(collection) == [("row-doubled", 2, None)]
    with pytest.raises(InvalidInput, match="id-doubled"):
        read(*(write_lines(tmp_path / name, [row()]) for name in ("a.jsonl", "b.jsonl")))


def test_a_line_separator_within_a_string_ends_no_line(tmp_path):
    text = "one\u0085two\u2028three 🐈 and more."
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row(model_output_text=text), ensure_ascii=False), "utf-8")
    (record,) = read(path).records
    assert record.model_output_text[14] == "🐈"  # one place, as the organisers count


@pytest.mark.parametrize("spans", ["4-7", [4, 7], [[4, 7], [9]], [[4, 7], ["8", "9"]], [[-4, 7]]])
def test_labels_that_are_malformed_in_part_are_not_told_at_all(tmp_path, spans):
    rows = [
        row(1, hard_labels=spans),
        row(2, hard_labels=spans, soft_labels=[{"start": 4, "end": 7, "prob": "1"}]),
        row(3, hard_labels=[], annotations={"one": spans, "two": [[4, 7]]}),
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    records = read(path).records
    assert [record.hard_labels for record in records] == [None, None, ()]
    assert [record.is_labelled for record in records] == [True, False, True]
    assert records[0].hard == (HardSpan(4, 7),)  # by the soft ones
    assert [point.p for point in datapoints(records)] == [3 / 23, 0.0]
    assert records[2].annotations == {"two": (HardSpan(4, 7),)}


# labels made of each other


def test_missing_labels_are_made_of_the_others():
    soft, hard = (SoftSpan(0, 2, 0.9),), (HardSpan(3, 5),)
    assert Record(TEXT, soft_labels=soft).hard == (HardSpan(0, 2),)
    assert Record(TEXT, hard_labels=hard).soft == (SoftSpan(3, 5, 1.0),)
    both = Record(TEXT, soft_labels=soft, hard_labels=hard)
    assert (both.soft, both.hard) == (soft, hard)
    assert Record(TEXT, soft_labels=soft, hard_labels=()).hard == ()


# datapoints


def test_datapoints():
    record = Record(TEXT, "1", "EN", "Where?", "made/up", hard_labels=(HardSpan(0, 12),))
    (point,) = datapoints([record])
    assert (point.src, point.hyp, point.tgt, point.model) == ("Where?", TEXT, "", "made/up")
    assert (point.task, point.ref, premises(point)) == (Task.TS, Reference.SRC, ("Where?",))
    assert (point.p, point.label, point.id) == (12 / 23, Label.HALLUCINATION, None)
    unlabelled = [Record(TEXT, "1", "EN", "Where?")]
    assert (datapoints(unlabelled), DATA_SET.view().left_out(unlabelled)) == ([], 1)


# predictions, by the edition


def problems_of(gold, predicted):
    return check(predicted, gold, edition="mushroom2025").problems


def test_predictions_are_aligned_by_id(files):
    gold, predicted = files(
        [row(1), row(2, hard_labels=[], soft_labels=[])],
        [{"id": "val-en-2", "hard_labels": [[0, 3]]}, {"id": "val-en-1", "hard_labels": [[4, 7]]}],
    )
    (track,) = check(predicted, gold, edition="mushroom2025").aligned
    assert track.gold.ids.tolist() == ["val-en-1", "val-en-2"]
    assert IOU.statistics(*track.columns)[:, 0].tolist() == [1.0, 0.0]
    assert RHO.statistics(*track.columns)[1, 0] == 0.0


@pytest.mark.parametrize(
    ("text", "spans", "share"),
    [
        (TEXT, [(0, 10), (5, 10), (10, 12)], 12 / 23),
        (TEXT, [(22, 40)], 1 / 23),
        ("", [(0, 3)], 0.0),
    ],
)
def test_share_and_any(text, spans, share):
    record = Record(text, hard_labels=tuple(HardSpan(*span) for span in spans))
    assert record.share_marked == share
    (point,) = flagged([record])
    assert (point.p, point.label is Label.HALLUCINATION) == (float(share > 0), share > 0)


def marked(text, word, unit):
    """Return where a word of a text begins and ends, counted in a unit."""
    start = text.index(word)
    if unit == "bytes":
        return len(text[:start].encode()), len(text[: start + len(word)].encode())
    size = 2 if unit == "UTF-16 units" else 4
    form = "utf-16-le" if unit == "UTF-16 units" else "utf-32-le"
    return tuple(len(text[:end].encode(form)) // size for end in (start, start + len(word)))


@pytest.mark.parametrize("unit", ["characters", "UTF-16 units", "bytes"])
@pytest.mark.parametrize(
    "text", ["\U0001f600 The cat sat in Rome.", "\U0001d538 über Rome, über Köln"]
)
def test_the_text_of_a_span_shows_how_its_offsets_are_counted(files, text, unit):
    start, end = marked(text, "Rome", unit)
    span = {"start": start, "end": end, "prob": 0.9, "text": "Rome"}
    labels = {"soft_labels": [{"start": 0, "end": 1, "prob": 0.5, "text": text[0]}, span]}
    if unit == "bytes":
        labels["soft_labels"].pop(0)
    rows = [{"id": f"val-en-{number}", **labels} for number in (1, 2)]
    gold, predicted = files([row(n, model_output_text=text, hard_labels=[]) for n in (1, 2)], rows)
    problems = problems_of(gold, predicted)
    codes = {"UTF-16 units": "span-utf16", "bytes": "span-bytes"}
    told = [problem for problem in problems if problem.code == codes.get(unit)]
    assert len(told) == (0 if unit == "characters" else 2)
    assert {problem.expected for problem in told} <= {'the offsets of "Rome" in characters'}
    assert all(problem.found == f"offsets in {unit}" for problem in told)


def test_a_text_that_no_offsets_mark_is_told(files):
    span = {"start": 4, "end": 7, "prob": 0.9}
    texts = ["cat", " CAT", "dog", None, 5]
    marks = [[{**span, "text": text}] for text in texts]
    rows = [{"id": f"val-en-{n}", "soft_labels": each} for n, each in enumerate(marks)]
    gold, predicted = files([row(n) for n in range(len(texts))], rows)
    (problem,) = problems_of(gold, predicted)
    assert (problem.code, problem.index, problem.key) == ("span-text", 2, "soft_labels[0]")
    assert problem.expected == 'the offsets of "dog" in characters'
    assert problem.found == 'the offsets of "cat"'


SOFT = st.lists(
    st.tuples(st.integers(0, 23), st.integers(0, 23), st.floats(0, 1)).map(lambda s: SoftSpan(*s)),
    max_size=6,
)


@given(SOFT)
def test_hard_labels_are_sorted_disjoint_and_what_more_than_half_marked(soft):
    hard = hard_of(soft)
    assert all(a.end < b.start for a, b in zip(hard, hard[1:]))
    assert {c for s in hard for c in range(*s)} == {
        c for s in soft if s.prob > 0.5 for c in range(s.start, s.end)
    }
    assert hard_of(soft_of(hard)) == hard


# the real files


@pytest.mark.real
def test_the_real_files_together():
    collection = read(DATA / "mushroom2025")
    assert (collection.rows, collection.dropped, len(collection.files)) == (1099, 0, 14)
    # The organisers made their hard labels as we do, and no soft spans overlap.
    for record in collection.records:
        assert hard_of(record.soft) == record.hard
    tracks = check(DATA / "mushroom2025", DATA / "mushroom2025", edition="mushroom2025").aligned
    assert sum(track.gold.n for track in tracks) == 1099
    for track in tracks:
        assert [metric(metric.statistics(*track.columns)) for metric in (IOU, RHO)] == [1.0, 1.0]
    share, marked = datapoints(collection.records), flagged(collection.records)
    assert round(sum(point.p for point in share) / 1099, 4) == 0.3748
    assert sum(point.label is Label.HALLUCINATION for point in share) == 347
    assert sum(point.p for point in marked) == 1074
