"""Logs of partial results: what is damaged never counts, and what no run wrote is left alone."""

import pytest

from shroom.annotate.generate import Texts as Log
from shroom.core.problems import ShroomError
from shroom.core.result_log import line_of, record_of
from shroom.detectors.judge.cache import Cache
from shroom.detectors.judge.responses import Reply, Step


def flipped(content, bits=None):
    """Yield the bytes with one bit changed: of each byte in turn one, or all of these."""
    for place in range(len(content)):
        for bit in bits or [place % 8]:
            yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_changed_bit_of_a_line_is_read_as_a_record():
    for line in flipped(line_of({"p": 0.5}), range(8)):
        with pytest.raises(ValueError, match="checksum"):
            record_of(line)


def test_no_changed_bit_of_a_judges_answers_changes_one(tmp_path):
    reply = Reply("yes", Step("yes", -0.5, (("yes", -0.5), ("no", -1.0))), None, (3, 1))
    with Cache(tmp_path, "a model").open() as cache:
        cache.add("a", reply)
        cache.add("b", reply)
    for content in flipped(cache.path.read_bytes()):
        cache.path.write_bytes(content)
        known = Cache(tmp_path, "a model").read().replies
        assert all(known[key] == reply for key in known)
        assert known.keys() <= {"a", "b"}


HEADER = line_of({"log": "generations", "settings": {}})
FIRST, LAST = line_of(["a", {"s": 1}]), line_of(["b", {"s": 2}])


def test_a_file_is_of_a_run_or_is_refused(tmp_path):
    path = tmp_path / "file"
    damaged = FIRST.replace(b"1}", b"2}")
    half, zeros = FIRST[:9], b"\0" * 4
    for content in (b"", HEADER, FIRST, damaged, damaged + FIRST, b"notes\n" + FIRST, half, zeros):
        path.write_bytes(content)
        Log(path, resume=True).read()
    other = line_of(7)
    others = (b"notes", b"notes\n", b'["a", 1]\n', other, other + FIRST, b"\n", b"{}")
    kind = line_of({"log": "answers", "settings": {}})
    for content in (*others, kind, line_of({"settings": 7})):
        path.write_bytes(content)
        for resume in (True, False):
            log = Log(path, resume=resume)
            with pytest.raises(ShroomError, match="is not a record of an interrupted run"):
                log.open().__enter__()
        assert path.read_bytes() == content


def test_damaged_lines_are_counted_and_half_a_line_is_removed(tmp_path):
    path = tmp_path / "file"
    content = HEADER + FIRST + b"\n" + line_of(7) + LAST
    path.write_bytes(content + b'["0123')
    with Log(path, resume=True).open() as log:
        assert (log.known, log.damaged) == ({"a": {"s": 1}, "b": {"s": 2}}, 2)
        assert path.read_bytes() == content


def test_a_log_of_an_earlier_version_has_no_header(tmp_path):
    (tmp_path / "log").write_bytes(line_of(["a", {"rm_score": 1.5}]))
    with Log(tmp_path / "log", resume=True).open() as log:
        assert log.known == {"a": {"rm_score": 1.5}}
