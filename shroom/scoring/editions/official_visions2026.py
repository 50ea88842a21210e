"""Scoring by the rules of the organisers' program for SHROOM-Visions 2026.

It cuts the gold to the ids that were submitted, so that leaving out what is hard raises a score;
and it takes spans that mark nothing, whose labels count in Cor+Lbl all the same. By the kit's own
rules both are errors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from shroom.core.problems import InvalidInput, Problems
from shroom.metrics.labelled_spans import METRICS, LabelledSpans
from shroom.scoring.editions.files import built_in
from shroom.scoring.editions.official_rows import Pairs, paired, score_of, submitted
from shroom.scoring.kinds.labelled_spans import LABELLED_SPANS, LABELS
from shroom.scoring.kinds.span_values import LabelledSpan, SpanValues
from shroom.scoring.platforms import scores_txt
from shroom.scoring.results import Score, TrackScore
from shroom.scoring.table import Role

__all__ = ["check", "score", "scores_txt"]

if TYPE_CHECKING:
    from shroom.core.paths import Source

_edition = partial(built_in, "visions2026")


def check(submission: Source, *, limit: int | None = 20) -> Problems:
    """Return why the organisers' program would end in an error, if it would: malformed spans."""
    problems = Problems(limit)
    for document, rows in submitted(submission, _edition(), problems):
        _spans([row for _, row in rows], document.file, problems)
    return problems


def score(submission: Source, gold: Source, *, limit: int | None = 20) -> Score:
    """Return the scores that the organisers' program gave.

    Precision, recall and F1 are 0 where they are undefined, as in scikit-learn.

    Raises
    ------
    InvalidInput
        With the reasons, where the program would have ended in an error.
    """
    problems = Problems(limit)
    results = [
        _score_file(pairs, problems) for pairs in paired(submission, gold, _edition(), problems)
    ]
    if problems.errors:
        raise InvalidInput(problems)
    return Score(results, list(problems), edition=_edition())


def _score_file(pairs: Pairs, problems: Problems) -> TrackScore:
    gold = LABELLED_SPANS.tabulate(pairs.gold, Role.GOLD, pairs.gold_file, problems, _edition())
    spans = _spans(pairs.predictions, pairs.file, problems)
    scores: dict[str, float | None] = {}
    if not problems.errors:
        marked = LabelledSpans.of(spans, gold.lengths.tolist(), len(gold.labels))
        columns: Any = marked, None, gold.as_arrays(range(gold.n), gold.lengths), gold.positive
        scores = {name: m(m.statistics(*columns)) or 0.0 for name, m in METRICS.items()}
    return score_of(pairs, scores, gold, _edition())


def _spans(
    rows: list[dict[str, Any]], file: str, problems: Problems
) -> list[tuple[LabelledSpan, ...]]:
    """Return the spans of rows, reporting those that cannot be read."""
    labels, key = _edition().annotation.labels, _edition().item.id_key

    def of_row(index: int, row: dict[str, Any]) -> tuple[LabelledSpan, ...]:
        def report(code: str, at: str, expected: str, got: str) -> None:
            if code != "row-odd":
                place = {"index": index, "id": row[key], "key": at}
                problems.add("official", file, expected, got, **place)

        value = row.get(LABELS, "no such key")
        return SpanValues(report, strict=True).labelled(value, LABELS, labels) or ()

    return [of_row(index, row) for index, row in enumerate(rows)]
