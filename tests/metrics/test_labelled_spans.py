"""Cor, Cor+Lbl, IoU and detection of labelled spans, against loops over characters and scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn
from span_oracles import loop_cor, loop_cor_lbl, loop_iou

from shroom.metrics.labelled_spans import METRICS, LabelledSpans, cor, cor_lbl, iou
from shroom.metrics.span_arrays import Spans

LABELS = 3


PROB = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.3333333333, 0.5, 1.0]) | st.floats(0, 1)


def spans(length):
    places = st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted)
    span = st.tuples(places, PROB, st.integers(0, LABELS - 1)).map(lambda s: (*s[0], *s[1:]))
    return st.lists(span, max_size=5)


TEXT = st.integers(0, 10).flatmap(lambda n: st.tuples(st.just(n), spans(n), spans(n)))
TEXTS = st.lists(TEXT, min_size=1, max_size=5)


def sides(texts):
    lengths = [length for length, *_ in texts]
    return [LabelledSpans.of([text[i] for text in texts], lengths, LABELS) for i in (1, 2)]


@given(TEXTS)
def test_cor_iou_and_cor_lbl_are_those_of_the_characters(texts):
    predicted, gold = sides(texts)
    expected = [loop_cor(a, b, length) for length, a, b in texts]
    np.testing.assert_allclose(cor(predicted.spans, gold.spans), expected, rtol=0, atol=1e-12)
    expected = [loop_cor_lbl(a, b, length) for length, a, b in texts]
    np.testing.assert_allclose(cor_lbl(predicted, gold), expected, rtol=0, atol=1e-12)
    assert iou(predicted, gold).tolist() == [loop_iou(a, b) for _, a, b in texts]


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
    predicted, gold = sides(texts)
    positive = generator.random(50) < 0.5
    columns = predicted, None, gold, positive
    values = {name: metric(metric.statistics(*columns)) for name, metric in METRICS.items()}
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
