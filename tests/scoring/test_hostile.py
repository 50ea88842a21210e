"""Files that are made to cost time or memory: what is read, formatted and kept is bounded."""

import gzip
import io
import json
import tracemalloc
import zipfile
from types import SimpleNamespace

import pytest
from conftest import predictions
from hypothesis import assume, given
from hypothesis import strategies as st

from shroom.core import archives, json_reading
from shroom.core.problems import Problems, Stopped
from shroom.scoring import row_reader
from shroom.scoring.check import check
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import Document
from shroom.scoring.rows import Role

VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def decoded(data, monkeypatch, window, *, lines=False):
    """Return the items and the problems of data that are decoded in windows of so many bytes."""
    problems = Problems()
    with monkeypatch.context() as patch:
        patch.setattr(json_reading, "MAX_ITEM", window)
        items = Document("f", f"f.json{'l' * lines}", data).items(problems)
    return items, list(problems.lines())


def test_a_file_is_not_read_further_after_too_many_errors(monkeypatch):
    monkeypatch.setattr("shroom.core.problems.MAX_ERRORS", 50)
    problems, read = Problems(), []

    def items():
        for number in range(1000):
            read.append(number)
            yield {}

    with pytest.raises(Stopped):
        row_reader.Reader(Role.PREDICTIONS, "f.json", problems, default()).read(items())
    assert len(read) == 25
    assert problems.count("key-missing") == 50
    assert "fewer than 50 errors in a file" in str([*problems][-1])


@pytest.mark.parametrize("lines", [False, True])
def test_items_are_decoded_one_by_one(lines, monkeypatch):
    monkeypatch.setattr(json_reading, "MAX_ITEM", 1 << 10)
    data = b"{}\n" * 20_000 if lines else b"[" + b"{}," * 20_000 + b"{}]"
    tracemalloc.start()
    try:
        count = sum(1 for _ in json_reading.iter_items(data, "f", Problems(), lines=lines))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 20_000 + (not lines)
    assert peak < 100_000  # a list of them has 1.4 MB


@given(st.lists(VALUES, min_size=1, max_size=20), st.integers(300, 400), st.sampled_from([None, 1]))
def test_windows_make_no_difference_to_the_items(items, window, indent):
    assume(max(len(json.dumps(item, indent=4)) for item in items) < 200)
    data = json.dumps(items, ensure_ascii=False, indent=indent).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert decoded(data, monkeypatch, window) == (json.loads(data), [])


@given(st.data(), st.integers(40, 70), st.booleans())
def test_windows_make_no_difference_to_the_problems(data, window, lines):
    rows = [{"a": "é\U0001f600", "b": [1.5, None]}, "text", 12, {"c": {}}] * 3
    joined = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = bytearray((joined if lines else json.dumps(rows, indent=1)).encode())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=2))
    with pytest.MonkeyPatch.context() as monkeypatch:
        small = decoded(bytes(text), monkeypatch, window, lines=lines)
        large = decoded(bytes(text), monkeypatch, 1 << 18, lines=lines)
    assert small == large or "too-large" in str(small)


@pytest.mark.parametrize("lines", [False, True])
def test_an_item_that_is_too_long_is_refused(lines, monkeypatch):
    item = json.dumps({"hyp": "x" * 100})
    data = f"{{}}\n{item}\n{{}}" if lines else f"[{{}},\n{item},{{}}]"
    _, (line, _) = decoded(data.encode(), monkeypatch, 64, lines=lines)
    kind = "longer line" if lines else "larger item"
    assert line.endswith(f"got a {kind} at line 2, column 1 [too-large]")


def test_every_part_of_a_message_is_shortened():
    problems, long = Problems(), "x" * 100_000
    problems.add("p-range", long, long, long, index=1, id=long, key=long)
    assert sum(map(len, problems.lines())) < 3000


@pytest.mark.parametrize("kind", ["json", "json.gz", "zip"])
def test_a_submission_has_a_limit_of_size_however_it_is_packed(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("shroom.scoring.row_reader.quick", None)  # as in the scoring program
    path = tmp_path / f"val.model-aware.{kind}"
    data = json.dumps(predictions(12)).encode()
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("val.model-aware.json", data)
    else:
        path.write_bytes(gzip.compress(data) if kind == "json.gz" else data)
    for most, codes in ((len(data), set()), (len(data) - 1, {"too-large"})):
        monkeypatch.setattr(archives, "MAX_BYTES", most)
        assert check(path).problems.codes == codes


def test_a_zip_is_read_no_further_after_an_absurd_member(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "RATIO_FROM", 1 << 20)
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.json", b" " * (1 << 21))
    assert check(path).problems.count("absurd-ratio") == 1


@pytest.mark.parametrize(
    ("content", "attributes", "code"),
    [
        (b"PK\3\4" + b" " * 100, 0o100644, "zip-nested"),
        (b"../ref/val.model-aware.json", 0o120777, "not-a-file"),
    ],
)
def test_a_zip_and_a_link_in_a_zip_are_not_inflated(
    tmp_path, monkeypatch, content, attributes, code
):
    path, member = tmp_path / "s.zip", zipfile.ZipInfo("val.model-aware.json")
    member.create_system, member.external_attr = 3, attributes << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    monkeypatch.setattr(archives, "_inflated", pytest.fail)
    assert check(path).problems.codes == {code}


@pytest.mark.linux
def test_a_device_is_refused():
    assert check("/dev/zero").problems.codes == {"file-unreadable"}


def test_of_stdin_no_more_is_read_than_a_submission_may_have(monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    stdin = io.BytesIO(b"[" * 5000)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
    assert check("-").problems.codes == {"too-large"}
    assert stdin.tell() == 1001
