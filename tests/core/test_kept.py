"""Lines with checksums: what is damaged never counts, and what is no run's is left alone."""

import numpy as np
import pytest

from shroom.annotate.score_log import Log
from shroom.core.checksummed_lines import line_of, read, record_of, refuse_foreign
from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.datasets.queries.generate.call_log import Log as QueryLog
from shroom.detectors.judge.answers import Reply, Step
from shroom.detectors.judge.cache import Cache
from shroom.evaluation.matrix.prediction_store import Store
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.journal import Journal
from shroom.inference.run import Run

POINTS = [pair("Two cats sat here.", "A dog."), pair("It rained.", "It rained.")]
ENTRIES = [("one", [0.25]), ("two", [0.75, 1e-9])]


def flipped(content, bits=None):
    """Yield the bytes with one bit changed: of each byte in turn one, or all of these."""
    for place in range(len(content)):
        for bit in bits or [place % 8]:
            yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_changed_bit_of_a_line_is_read_as_a_record():
    for line in flipped(line_of({"p": 0.5}), range(8)):
        with pytest.raises(ValueError, match="checksum"):
            record_of(line)


def test_no_changed_bit_of_a_journal_changes_a_value(tmp_path):
    path = tmp_path / "journal"
    for key, values in ENTRIES:
        Journal(path, resume=True).add([(key, values)])
    for content in flipped(path.read_bytes()):
        path.write_bytes(content)
        found = Journal(path, resume=True)
        assert found.known.items() < dict(ENTRIES).items()
        assert found.damaged == 1 or not content.endswith(b"\n")


def test_no_changed_bit_of_a_log_changes_a_score(tmp_path):
    path, kept = tmp_path / "log", {"a": {"rm_score": 1.5}, "b": {"rm_score": 2}}
    with Log(path).open() as log:
        for key, fields in kept.items():
            log.add(key, fields)
    for content in flipped(path.read_bytes()):
        path.write_bytes(content)
        assert Log(path, resume=True).known.items() < kept.items()


def test_no_changed_bit_of_a_judges_answers_changes_one(tmp_path):
    reply = Reply("yes", Step("yes", -0.5, (("yes", -0.5), ("no", -1.0))), None, (3, 1))
    with Cache(tmp_path, "a model").open() as cache:
        cache.add("a", reply)
        cache.add("b", reply)
    for content in flipped(cache.path.read_bytes()):
        cache.path.write_bytes(content)
        known = Cache(tmp_path, "a model").read().known
        assert all(known[key] == reply for key in known)
        assert known.keys() < {"a", "b"}


def test_no_changed_bit_of_a_query_log_changes_an_answer(tmp_path):
    path, answers = tmp_path / "log", {0: "Should cats vote?", 1: "Should dogs?"}
    with QueryLog(path, {"seed": 0}).open() as log:
        for call, answer in answers.items():
            log.add({"call": call, "answer": answer})
    for content in flipped(path.read_bytes()):
        path.write_bytes(content)
        log = QueryLog(path, {"seed": 0}, resume=True)
        try:
            assert log.read().answers.items() <= answers.items()
        except ShroomError as error:
            assert "the settings of the run, is damaged" in str(error)  # noqa: PT017


class Contender:
    """A detector that counts how often it is asked."""

    name, fingerprint, asked, precision = "made-up", "0" * 64, 0, None

    @property
    def detector(self):
        return self

    def predict(self, datapoints, run):
        del run
        self.asked += 1
        return np.arange(len(datapoints)) / 8


def test_no_changed_bit_of_stored_p_changes_one(tmp_path):
    contender, notes = Contender(), []
    whole = Store(tmp_path).p(contender, POINTS).p
    (path,) = tmp_path.glob("*.json")
    for content in list(flipped(path.read_bytes()))[::7]:
        path.write_bytes(content)
        before = contender.asked
        again = Store(tmp_path).p(contender, POINTS, Run(note=notes.append))
        np.testing.assert_array_equal(again.p, whole)
        assert contender.asked == before + 1
    assert set(notes) == {f"{path}: 1 line is damaged; what it held is computed anew"}


def test_a_file_is_of_a_run_or_is_refused(tmp_path):
    path = tmp_path / "file"
    ours, damaged = line_of([1]), line_of([1]).replace(b"1]", b"2]")
    for content in (b"", ours, damaged, damaged + ours, b"notes\n" + ours, ours[:9], b"\0" * 4):
        path.write_bytes(content)
        refuse_foreign(path, list)
    other = line_of(7)
    for content in (b"notes", b"notes\n", b'["a", 1]\n', other, other + ours, b"\n", b"{}"):
        path.write_bytes(content)
        with pytest.raises(ShroomError, match="is no record of an interrupted run"):
            refuse_foreign(path, list)


def test_what_a_file_has(tmp_path):
    path = tmp_path / "file"
    assert read(path, list).records == []
    path.write_bytes(line_of([1]) + b"\n" + line_of(7) + line_of([2]) + b'["0123')
    found = read(path, list)
    assert (found.records, found.damaged) == ([[1], [2]], 2)
    assert found.whole == path.stat().st_size - len(b'["0123')


def test_results_that_cannot_be_are_computed_anew(tmp_path):
    """The checksum is right, as where a detector that was wrong has been mended since."""
    path, notes = tmp_path / "journal", []

    def p(value, run):
        return compute(
            [("a",), ("b",)],
            lambda batch: np.full(len(batch), value),
            lengths=[1, 1],
            key=CacheKey("a model"),
            run=run,
            bounds=(0, 1),
        )

    p(7.5, Run(journal=Journal(path)))
    run = Run(journal=Journal(path, resume=True), note=notes.append)
    np.testing.assert_array_equal(p(0.5, run), [[0.5], [0.5]])
    assert notes == [f"{path}: 2 results are not from 0 to 1; they are computed anew"]
