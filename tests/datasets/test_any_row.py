"""Rows of any content: none is lost, none breaks the reader, and all datapoints are valid."""

import copy
import json

import pytest
import test_dreamcatcher as dreamcatcher
import test_mushroom2025 as mushroom
import test_ragtruth as ragtruth
import test_verifiability as verifiability
from conftest import felm_row, write_lines
from hypothesis import given
from hypothesis import strategies as st
from test_halueval import FILES

from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.registry import data_set
from shroom.metrics.intervals import NO_INTERVALS

#: A row without oddities, by data set and kind.
ROWS = {
    "felm": felm_row(0),
    "mushroom2025": mushroom.row(),
    "ragtruth": ragtruth.answer(0, labels=[ragtruth.span(0, 4, "Oslo")]),
    "ragtruth source": ragtruth.source(0),
    "dreamcatcher": dreamcatcher.LABELLED,
    "dreamcatcher ranked": dreamcatcher.RANKED,
    "verifiability": verifiability.response_row(),
    "verifiability pair": verifiability.pair_row(),
    "verifiability page": verifiability.page_row(),
    **{f"halueval {task}": row for task, row in FILES.items()},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def places(value, path=()):
    """Yield the path of every value in a row."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, key))


@pytest.mark.parametrize("kind", ROWS)
@given(data=st.data())
def test_any_values_in_a_row_are_survived(tmp_path_factory, kind, data):
    row, name = copy.deepcopy(ROWS[kind]), kind.partition(" ")[0]
    # Deeper places first, so that each is still there.
    paths = data.draw(
        st.lists(st.sampled_from([*places(row)]), min_size=1, max_size=3, unique=True)
    )
    for *above, last in sorted(paths, key=len, reverse=True):
        holder = row
        for key in above:
            holder = holder[key]
        holder[last] = data.draw(JSON)
    others = [ragtruth.answer(1), ragtruth.source(0)] if name == "ragtruth" else [ROWS[kind]]
    path = write_lines(tmp_path_factory.getbasetemp() / "any.jsonl", [*others, row])
    source, problems = data_set(name), Problems(limit=None)
    try:
        found = source.read(path, problems=problems)
    except InvalidInput:
        errors = {problem.code for problem in problems if problem.severity == ERROR}
        assert errors <= {"id-doubled", "no-file"}
        return
    assert found.rows == len(others) + 1
    assert found.dropped == sum(problems.count(code) for code in ("row-value", "row-object"))
    points = source.view().datapoints(found.records)
    assert all(0 <= point.p <= 1 for point in points)
    contents = source.summary.contents(found.by_file, NO_INTERVALS)
    tables = [table.rows for table in contents.tables.values()]
    json.dumps(tables, allow_nan=False)
