"""Metrics of spans, with labels and without, against loops over characters and scipy."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn
from span_oracles import loop_cor, loop_cor_lbl, loop_iou

from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.labelled_spans import METRICS as OF_LABELLED
from shroom.metrics.labelled_spans import LabelledSpans, cor, cor_lbl
from shroom.metrics.labelled_spans import iou as labelled_iou
from shroom.metrics.span_arrays import MAX_END
from shroom.metrics.span_metrics import FLOORS, Spans, everything, iou, rho, scored


def loop_rho(predicted, gold, length):
    sides = []
    for side in (predicted, gold):
        values = [0.0] * length
        for start, end, prob in side:
            for place in range(start, min(end, length)):
                values[place] = prob
        sides.append(values)
    constant = [len({round(value, 8) for value in values}) <= 1 for values in sides]
    if any(constant):
        return float(all(constant))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return float(stats.spearmanr(*sides)[0])


LENGTH = st.integers(0, 12)
# Few probabilities, so that there are ties; some equal to eight digits but no more.
PROB = st.sampled_from([0.0, 0.25, 1 / 3, 0.3333333333, 0.5, 0.5000000001, 1.0]) | st.floats(0, 1)
SPAN = st.tuples(st.integers(0, 14), st.integers(0, 14), PROB)
SIDE = st.lists(SPAN, max_size=5)
TEXTS = st.lists(st.tuples(LENGTH, SIDE, SIDE), min_size=1, max_size=6)


def sides(texts):
    lengths = [length for length, _, _ in texts]
    return Spans.of([a for _, a, _ in texts], lengths), Spans.of([b for _, _, b in texts], lengths)


@given(TEXTS)
def test_iou_is_that_of_the_characters(texts):
    expected = [loop_iou(predicted, gold) for _, predicted, gold in texts]
    assert iou(*sides(texts)).tolist() == expected


@given(TEXTS)
def test_rho_is_scipys_of_the_characters(texts):
    expected = [loop_rho(predicted, gold, length) for length, predicted, gold in texts]
    np.testing.assert_allclose(rho(*sides(texts)), expected, rtol=0, atol=1e-12)


def test_rho_of_long_texts_with_a_span_for_each_character():
    generator = np.random.default_rng(0)
    texts = []
    for n in (1, 2, 700, 3000):
        values = generator.random(n), generator.integers(0, 4, n) / 3
        texts.append((n, *([(i, i + 1, float(v)) for i, v in enumerate(x)] for x in values)))
    expected = [loop_rho(predicted, gold, length) for length, predicted, gold in texts]
    np.testing.assert_allclose(rho(*sides(texts)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], 1.0),
        ([(0, 10, 0.7)], [], 1.0),  # both constant, if at other values
        ([(0, 10, 0.7)], [(0, 5, 1.0)], 0.0),
        ([(0, 5, 1.0)], [(0, 10, 0.2)], 0.0),
        ([(0, 5, 1e-9)], [], 1.0),  # constant to eight digits
        ([(0, 5, 1e-9)], [(0, 5, 1.0)], 0.0),
        ([(0, 5, 1e-7)], [(0, 5, 1.0)], 1.0),
        ([(0, 5, 1.0)], [(5, 10, 1.0)], -1.0),
        ([(0, 5, 1.0), (0, 5, 0.0)], [(0, 5, 1.0)], 0.0),  # the last one counts
        ([(0, 10, 0.2), (0, 5, 1.0)], [(0, 5, 1.0)], 1.0),
        ([(0, 5, 1.0), (10, 99, 0.5)], [(0, 5, 1.0)], 1.0),  # past the end
        ([(10, 99, 0.5)], [], 1.0),
    ],
    ids=str,
)
def test_rho_of_a_text_of_ten_characters(predicted, gold, expected):
    found = rho(Spans.of([predicted], [10]), Spans.of([gold], [10]))
    assert found.tolist() == pytest.approx([expected], abs=1e-15)


def test_constant_is_judged_as_python_rounds():
    # numpy rounds 0.285 * 1e-6 the other way than Python's correct rounding might.
    for value in (0.123456785, 0.5 + 5e-9, 2.5e-8, 1.5e-8, 0.1 + 4.9e-9):
        spans = [(0, 5, value), (5, 10, round(value, 8))]
        gold = [(0, 5, 1.0)]
        found = rho(Spans.of([spans], [10]), Spans.of([gold], [10]))[0]
        assert found == pytest.approx(loop_rho(spans, gold, 10), abs=1e-12)


def test_no_texts_and_empty_texts():
    empty, none = Spans.of([[]], [0]), Spans.of([], [])
    assert (iou(empty, empty)[0], rho(empty, empty)[0]) == (1, 1)
    assert (len(iou(none, none)), len(rho(none, none))) == (0, 0)
    assert [metric(values) for metric, values in scored(*[(none, none)] * 2)] == [None, None]


def test_floors():
    gold = Spans.of([[(0, 4, 0.6)], [], [(0, 3, 0.4)]], [10, 5, 3])
    found = {name: iou(floor([10, 5, 3]), gold).tolist() for name, floor in FLOORS.items()}
    assert found == {"flag everything": [0.4, 0.0, 1.0], "flag nothing": [0.0, 1.0, 0.0]}
    for floor in FLOORS.values():
        assert rho(floor([10, 5, 3]), gold).tolist() == [0.0, 1.0, 1.0]


def test_scores_are_means_with_intervals_over_texts():
    generator = np.random.default_rng(1)
    lengths, starts = generator.integers(5, 40, 60), generator.integers(0, 20, (2, 60)).tolist()
    predicted, gold = (
        Spans.of([[(a, a + 6, p)] for a, p in zip(row, generator.random(60))], lengths)
        for row in starts
    )
    found = scored((predicted, predicted), (gold, gold))
    scores, intervals = estimates(found, Intervals(500))
    assert scores["iou"] == pytest.approx(np.mean(iou(predicted, gold)), abs=1e-15)
    assert scores["rho"] == pytest.approx(np.mean(rho(predicted, gold)), abs=1e-15)
    for metric, _ in found:
        low, high = intervals[metric.name]
        assert metric.bounds[0] <= low < scores[metric.name] < high <= metric.bounds[1]


def test_hard_spans_are_for_iou_and_soft_ones_for_rho():
    gold, other = (Spans.of([[span]], [10]) for span in ((0, 4), (4, 10)))
    assert [m(v) for m, v in scored((gold, other), (gold, gold))] == [1.0, -1.0]
    assert [m(v) for m, v in scored((other, gold), (gold, gold))] == [0.0, 1.0]


def test_wrong_places_and_texts_of_other_lengths_are_refused():
    for span in ((-1, 3), (0, MAX_END + 1)):
        with pytest.raises(ValueError, match="within"):
            Spans.of([[span]], [10])
    for metric in (iou, rho):
        with pytest.raises(ValueError, match="same texts"):
            metric(Spans.of([[]], [10]), Spans.of([[]], [11]))


def test_memory_grows_with_spans_and_not_with_characters():
    lengths = [10**8, 10**8]
    predicted = Spans.of([[(0, 10**7, 0.9)], []], lengths)
    tracemalloc.start()
    assert iou(predicted, everything(lengths)).tolist() == [0.1, 0.0]
    assert rho(predicted, predicted).tolist() == pytest.approx([1.0, 1.0])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


# with labels

LABELS = 3


LABELLED_PROB = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.3333333333, 0.5, 1.0]) | st.floats(0, 1)


def spans(length):
    places = st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted)
    span = st.tuples(places, LABELLED_PROB, st.integers(0, LABELS - 1)).map(
        lambda s: (*s[0], *s[1:])
    )
    return st.lists(span, max_size=5)


LABELLED_TEXT = st.integers(0, 10).flatmap(lambda n: st.tuples(st.just(n), spans(n), spans(n)))
LABELLED_TEXTS = st.lists(LABELLED_TEXT, min_size=1, max_size=5)


def labelled_sides(texts):
    lengths = [length for length, *_ in texts]
    return [LabelledSpans.of([text[i] for text in texts], lengths, LABELS) for i in (1, 2)]


@given(LABELLED_TEXTS)
def test_cor_iou_and_cor_lbl_are_those_of_the_characters(texts):
    predicted, gold = labelled_sides(texts)
    expected = [loop_cor(a, b, length) for length, a, b in texts]
    np.testing.assert_allclose(cor(predicted.spans, gold.spans), expected, rtol=0, atol=1e-12)
    expected = [loop_cor_lbl(a, b, length) for length, a, b in texts]
    np.testing.assert_allclose(cor_lbl(predicted, gold), expected, rtol=0, atol=1e-12)
    assert labelled_iou(predicted, gold).tolist() == [loop_iou(a, b) for _, a, b in texts]


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], 1.0),
        ([(0, 6, 0.5)], [(0, 6, 1.0)], 1.0),  # constant, and neither is 0
        ([], [(0, 6, 1.0)], 0.0),  # constant, and one alone is 0
        ([(0, 6, 1e-9)], [], 1.0),  # 0 to eight digits
        ([(0, 6, 0.5)], [(0, 3, 1.0)], 0.0),
        ([(0, 2, 0.5), (2, 6, 0.5)], [(0, 6, 1.0)], 1.0),
        ([(0, 4, 0.5), (0, 2, 0.9)], [(0, 4, 0.5), (0, 2, 0.4)], 1.0),  # a later one overwrites
        ([(0, 2, 0.9), (0, 4, 0.5)], [(0, 4, 0.5)], 1.0),
        ([(0, 4, 0.5)], [(0, 4, 0.5), (0, 4, 0.5)], 1.0),
    ],
    ids=str,
)  # fmt: skip
def test_cor_of_a_text_of_six_characters(predicted, gold, expected):
    assert cor(Spans.of([predicted], [6]), Spans.of([gold], [6])).tolist() == [expected]


def test_the_metrics_take_columns_and_give_means():
    generator = np.random.default_rng(2)

    def drawn(length):
        count = generator.integers(0, 4)
        start = generator.integers(0, length, count)
        end = np.minimum(start + generator.integers(1, 9, count), length)
        prob, label = generator.integers(1, 6, count) / 5, generator.integers(0, LABELS, count)
        return list(zip(*(x.tolist() for x in (start, end, prob, label))))

    texts = [(n, drawn(n), drawn(n)) for n in generator.integers(5, 40, 50).tolist()]
    predicted, gold = labelled_sides(texts)
    positive = generator.random(50) < 0.5
    columns = predicted, None, gold, positive
    values = {name: metric(metric.statistics(*columns)) for name, metric in OF_LABELLED.items()}
    marked = [bool(a) for _, a, _ in texts]
    assert values == {
        "cor": pytest.approx(np.mean([loop_cor(a, b, n) for n, a, b in texts]), abs=1e-12),
        "cor_lbl": pytest.approx(np.mean([loop_cor_lbl(a, b, n) for n, a, b in texts]), abs=1e-12),
        "iou": pytest.approx(np.mean([loop_iou(a, b) for _, a, b in texts]), abs=1e-12),
        "detection_accuracy": sklearn.accuracy_score(positive, marked),
        "detection_precision": sklearn.precision_score(positive, marked),
        "detection_recall": sklearn.recall_score(positive, marked),
        "detection_f1": sklearn.f1_score(positive, marked),
    }


def test_other_numbers_of_labels_are_refused():
    one, two = (LabelledSpans.of([[]], [3], labels) for labels in (1, 2))
    with pytest.raises(ValueError, match="as many labels"):
        cor_lbl(one, two)
