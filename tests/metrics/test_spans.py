"""Metrics of spans, with labels and without, against loops over characters and scipy."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn import metrics as sklearn
from span_oracles import loop_cor, loop_cor_lbl, loop_iou

from shroom.metrics.labelled_spans import METRICS as OF_LABELLED
from shroom.metrics.labelled_spans import LabelledSpans, cor, cor_lbl
from shroom.metrics.span_arrays import MAX_END
from shroom.metrics.span_metrics import Spans, everything, iou, rho, scored

LENGTH = st.integers(0, 12)
# Few probabilities, so that there are ties, also of sums; some equal to eight digits but no more.
TIED = [0.0, 0.1, 0.2, 0.3, 1 / 3, 0.3333333333, 0.5, 0.5000000001, 1.0]
PROB = st.sampled_from(TIED) | st.floats(0, 1)
SPAN = st.tuples(st.integers(0, 14), st.integers(0, 14), PROB)
SIDE = st.lists(SPAN, max_size=5)
TEXTS = st.lists(st.tuples(LENGTH, SIDE, SIDE), max_size=6)
#: Nearly constant, to eight digits or more; numpy rounds some of these in another way than Python.
NEARLY = [
    (10, [(0, 5, value), (5, 10, round(value, 8))], [(0, 5, 1.0)])
    for value in (1e-9, 1e-7, 0.850624225, 0.5 + 5e-9, 2.5e-8, 1.5e-8, 0.1 + 4.9e-9)
]
#: A span for each character.
LONG = [
    (n, *([(i, i + 1, i * step % 701 / 701) for i in range(n)] for step in (7, 90)))
    for n in (1, 2, 3000)
]


def sides(texts, of=Spans.of, *labels):
    """Return the spans of both sides of texts."""
    lengths = [length for length, *_ in texts]
    return [of([text[side] for text in texts], lengths, *labels) for side in (1, 2)]


@given(TEXTS)
@example(NEARLY)
@example(LONG)
@example([(10, [(0, 5, 1e-9)], [(0, 5, 1.0)]), (10, [(0, 5, 1e-7)], [(0, 5, 1.0)])])
@example([(10, [(0, 10, 0.2), (0, 5, 1.0)], [(0, 5, 1.0)]), (10, [(10, 99, 0.5)], [])])
def test_iou_and_rho_are_those_of_the_characters(texts):
    assert iou(*sides(texts)).tolist() == [loop_iou(a, b) for _, a, b in texts]
    expected = [loop_cor(a, b, length, is_rho=True) for length, a, b in texts]
    np.testing.assert_allclose(rho(*sides(texts)), expected, rtol=0, atol=1e-12)


def test_hard_spans_are_for_iou_and_soft_ones_for_rho():
    gold, other = (Spans.of([[span]], [10]) for span in ((0, 4), (4, 10)))
    assert [m(v) for m, v in scored((gold, other), (gold, gold))] == [1.0, -1.0]
    assert [m(v) for m, v in scored((other, gold), (gold, gold))] == [0.0, 1.0]


def test_wrong_places_and_other_texts_or_labels_are_refused():
    for span in ((-1, 3), (0, MAX_END + 1)):
        with pytest.raises(ValueError, match="within"):
            Spans.of([[span]], [10])
    for metric in (iou, rho):
        with pytest.raises(ValueError, match="same texts"):
            metric(Spans.of([[]], [10]), Spans.of([[]], [11]))
    one, two = (LabelledSpans.of([[]], [3], labels) for labels in (1, 2))
    with pytest.raises(ValueError, match="the same number of labels"):
        cor_lbl(one, two)


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


def spans(length):
    place = st.integers(0, length)
    span = st.tuples(place, place, PROB, st.integers(0, LABELS - 1))
    return st.lists(span.map(lambda s: (*sorted(s[:2]), *s[2:])), max_size=5)


LABELLED_TEXTS = st.lists(
    st.integers(0, 10).flatmap(lambda n: st.tuples(st.just(n), spans(n), spans(n), st.booleans())),
    min_size=1,
    max_size=5,
)
ALL = [(0, 6, 1.0, 0)]
OF_SIX = [
    (6, [(0, 6, 0.5, 0)], ALL, True),  # constant, and neither is 0
    (6, [], ALL, True),  # constant, and one of them is 0
    (6, [(0, 6, 1e-9, 0)], [], False),  # 0 to eight digits
    (6, [(0, 2, 0.5, 0), (2, 6, 0.5, 0)], ALL, False),
    (6, [(0, 4, 0.5, 0), (0, 2, 0.9, 0)], [(0, 4, 0.5, 0), (0, 2, 0.4, 0)], True),  # overwritten
]


@given(LABELLED_TEXTS)
@example(OF_SIX)
def test_metrics_of_labelled_spans_are_those_of_the_characters(texts):
    predicted, gold = sides(texts, LabelledSpans.of, LABELS)
    marked = [any(start < end for start, end, *_ in said) for _, said, *_ in texts]
    positive = [text[3] for text in texts]
    triples = [(a, b, length) for length, a, b, _ in texts]
    expected = [loop_cor(*each) for each in triples]
    np.testing.assert_allclose(cor(predicted.spans, gold.spans), expected, rtol=0, atol=1e-12)
    options = {"zero_division": np.nan}
    columns = predicted, None, gold, np.array(positive)
    rows = {name: metric.statistics(*columns) for name, metric in OF_LABELLED.items()}
    values = {name: OF_LABELLED[name].weighted(of) for name, of in rows.items()}
    assert values == pytest.approx(
        {
            "cor": np.mean(expected),
            "cor_lbl": np.mean([loop_cor_lbl(*each) for each in triples]),
            "iou": np.mean([loop_iou(a, b) for a, b, _ in triples]),
            "detection_accuracy": sklearn.accuracy_score(positive, marked),
            "detection_precision": sklearn.precision_score(positive, marked, **options),
            "detection_recall": sklearn.recall_score(positive, marked, **options),
            "detection_f1": sklearn.f1_score(positive, marked, **options),
        },
        abs=1e-12,
        nan_ok=True,
    )
