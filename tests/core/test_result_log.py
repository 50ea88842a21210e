"""Lines of stored results: a damaged line never counts."""

import numpy as np
import pytest

from shroom.core.datapoint import pair
from shroom.core.result_log import line_of, record_of
from shroom.detectors.base import Detector
from shroom.evaluation.matrix.prediction_store import Store
from shroom.inference.run_settings import RUN, Run

POINTS = [pair("Two cats sat here.", "A dog."), pair("It rained.", "It rained.")]


def flipped(content, bits=None):
    """Yield the bytes with one bit changed: of each byte in turn one, or all of these."""
    for place in range(len(content)):
        for bit in bits or [place % 8]:
            yield content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def test_no_changed_bit_of_a_line_is_read_as_a_record():
    for line in flipped(line_of({"p": 0.5}), range(8)):
        with pytest.raises(ValueError, match="checksum"):
            record_of(line)


class Contender(Detector):
    """A detector that counts how often it is asked."""

    name, fingerprint, asked, precision = "made-up", "0" * 64, 0, None

    @property
    def detector(self):
        return self

    def p(self, datapoints, run=RUN):
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
