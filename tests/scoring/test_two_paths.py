"""Two paths, one verdict: the fast path never passes what the slow path refuses."""

import json

import numpy as np
import pytest
from conftest import SAMPLE, gold, predictions
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shroom.core.problems import Problems
from shroom.scoring import quick_reader
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import Document
from shroom.scoring.row_reader import Reader
from shroom.scoring.rows import P, Role, Rows

LABELS = ["Hallucination", "Not Hallucination"]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
    st.sampled_from(["0.5", "hallucination", "17", "Not Hallucination", ""]),
    st.lists(st.integers(), max_size=2),
)
ROW = st.fixed_dictionaries(
    {
        "label": st.one_of(st.sampled_from(LABELS), st.sampled_from(LABELS), ODD),
        P: st.one_of(st.floats(0, 1), st.floats(-2e-9, 1 + 2e-9), st.integers(0, 1), ODD),
    },
    optional={
        "id": st.one_of(st.integers(0, 9), st.integers(-(2**64), 2**64), ODD),
        "task": st.one_of(st.sampled_from(["DM", "MT", "PG", "TS"]), ODD),
        "ref": st.one_of(st.sampled_from(["src", "tgt", "either"]), ODD),
        "model": ODD,
        "hyp": ODD,
        "src": ODD,
        "other": ODD,
    },
)
VALID = st.fixed_dictionaries(
    {"label": st.sampled_from(LABELS), P: st.floats(0, 1)}, optional={"task": st.just("MT")}
)


def compare(data: bytes, role: Role, *, lines: bool = False) -> Rows | None:
    """Hold both paths against each other on the same bytes; return what the quick one reads."""
    quick = quick_reader.read(data, role, "f", lines=lines, texts=True)
    if quick is None:
        return None
    problems = Problems(limit=None)
    items = Document("f", f"f.json{'l' * lines}", data).items(problems)
    each = Reader(role, "f", problems, default()).read(items)
    assert not problems.errors, list(problems.lines())
    assert problems.codes <= {"value-finite"}  # in a value that the quick path does not look at
    for column in ("n", "label", "p", "ids", "votes", "labelled"):
        if role is Role.GOLD or column != "votes":
            np.testing.assert_array_equal(getattr(quick, column), getattr(each, column))
    for key, group in each.groups.items():
        if role is Role.GOLD:
            assert quick.groups[key].words == group.words
            np.testing.assert_array_equal(quick.groups[key].place, group.place)
    if quick.texts is not None and each.texts is not None:
        assert quick.texts == each.texts
    return quick


@settings(max_examples=300)
@given(st.lists(ROW, max_size=4), st.sampled_from(list(Role)), st.booleans())
def test_on_rows(rows, role, lines):
    if lines:
        data = "\n".join(json.dumps(row) for row in rows).encode()
    else:
        data = json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass")
    compare(data, role, lines=lines)


@settings(max_examples=300)
@given(st.data(), st.sampled_from(list(Role)))
def test_on_damaged_bytes(data, role):
    rows = data.draw(st.lists(VALID, min_size=1, max_size=3))
    text = bytearray(json.dumps(rows).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        if not text:
            break
    compare(bytes(text), role)


@given(st.floats(0, 1))
@example(0.1 + 0.2)
@example(5e-324)
@example(1 - 2**-53)
def test_every_float_is_read_alike(p):
    quick = compare(json.dumps([{"label": LABELS[0], P: p}]).encode(), Role.PREDICTIONS)
    assert float(quick.p[0]) == p


def test_valid_rows_take_the_quick_path():
    assert compare(json.dumps(predictions(5, first_id=3)).encode(), Role.PREDICTIONS)
    for data in (json.dumps(gold(5)).encode(), *(it.read_bytes() for it in SAMPLE.glob("*.json"))):
        assert compare(data, Role.GOLD)
        assert compare(b"\xef\xbb\xbf" + data, Role.GOLD)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(
    "damage",
    [
        *(b'"hyp": "\xff"', b'"k\xff": 1', b'"hyp": "\\ud800"', b'"hyp": NaN', b'"hyp": "a\nb"'),
        *(b'"hyp": 01', b'"hyp": ' + b"[" * 5000 + b"]" * 5000, b'"hyp": null, "src": null'),
        *(b'"model": null, "labels": null', b'"id": 1.0', b'"id": 1e0', b'"id": "7.0"'),
        *(b'"id": 9007199254740993.0', b'"id": 9223372036854775808', b'"id": 9223372036854775807'),
        *(b'"id": -9223372036854775808', b'"id": 18446744073709551616', b'"id": 1, "id": 2'),
        *(b'"label": "x", "label": "Hallucination"', b'"l\\u0061bel": "Hallucination"'),
        *(b'"p(Hallucination)": 2, "p(Hallucination)": 1', b'"id": 1, "\\u0069d": 1'),
    ],
)
def test_known_differences_of_the_decoders(damage, role):
    compare(b'[{"label": "Hallucination", "p(Hallucination)": 0.5, %s}]' % damage, role)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("first_id", [None, 1])
@pytest.mark.parametrize("key", ["label", "l\\u0061bel", P])
def test_a_key_that_comes_again_is_reported(key, first_id, lines):
    rows = [json.dumps(row) for row in predictions(5, first_id=first_id)]
    again = '"Hallucination"' if key != P else "0.5"
    rows[3] = f'{{"{key}": {again}, {rows[3][1:]}'
    text = "\n".join(rows) if lines else f"[{','.join(rows)}]"
    assert quick_reader.read(text.encode(), Role.PREDICTIONS, "f", lines=lines) is None
    problems = Problems()
    items = Document("f", f"f.json{'l' * lines}", text.encode()).items(problems)
    Reader(Role.PREDICTIONS, "f", problems, default()).read(items)
    assert [(it.code, it.index, it.severity) for it in problems] == [("key-doubled", 3, "warning")]
