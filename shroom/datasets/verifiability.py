"""Verifiability in generative search engines: whether citations support their statements."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Report
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary, fields, is_a, of
from shroom.datasets.verifiability_records import (
    DEGREES,
    POINTS,
    SYSTEMS,
    PageJudgement,
    Pair,
    Record,
    Response,
)
from shroom.metrics import citation_metrics as citations
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.results import flat

NAME = "verifiability"


def _check(record: Record, report: Report) -> None:
    if not isinstance(record, Response):
        return
    name, system = record.id, record.system_name  # other systems may have other ids
    if name and system in SYSTEMS and not re.fullmatch(f"[0-9a-f]+-{system}", name):
        report.add("id-odd", "id", f"<hash>-<system_name>, as <hash>-{system}")


FORM = Form[Any](
    {"annotation": Response, "attribution_label": Pair, "source_supports_statement": PageJudgement},
    check=_check,
    same=lambda record: record,
    ids="id-repeated",
)
read = partial(records.read, NAME, FORM)


def _points(record: Record) -> Iterator[Datapoint | None]:
    """Yield each judged citation of a record; ``None`` without a text of the cited page."""
    if isinstance(record, Pair):
        p = float(record.attribution_label != "attributable")
        yield _point("\n\n".join(record.references), record.claim, p)
    elif isinstance(record, PageJudgement):
        p = 1 - DEGREES.get(record.source_supports_statement, 0.0)
        yield _point(record.source_text, record.statement, p)
    else:
        for statement, judgement in record.judgements:
            support = judgement.citation_supports
            known = None if support is None else 1 - DEGREES.get(support, 0.0)
            yield _point(judgement.evidence or "", statement.text, known, record.system_name)


def _point(premise: str, text: str, p: float | None, model: str = "") -> Datapoint | None:
    return pair(premise, text, p, model) if premise.strip() else None


def _unit(record: Record) -> Hashable:
    if isinstance(record, Response):
        return record.id
    return (record.question if isinstance(record, Pair) else record.query), record.response


def statistics(responses: Sequence[Response]) -> NDArray[np.float64]:
    """Return the statistics of each response: shape [n, 6]."""
    # Without a verdict or a citation, a statement that is worth verifying is not supported.
    statements = [(place, it) for place, one in enumerate(responses) for it in one.statements]
    rows = [
        (place, it.statement_is_verification_worthy, it.is_supported) for place, it in statements
    ]
    judged = [
        (number, DEGREES.get(judgement.citation_supports, 0.0))
        for number, (_, statement) in enumerate(statements)
        for judgement in statement.citation_annotations or ()
        if judgement.citation_supports is not None
    ]
    place, worthy, supported = np.array(rows, np.intp).reshape(-1, 3).T
    number, degree = np.array(judged, np.float64).reshape(-1, 2).T
    counted = citations.counts(place, worthy, supported, number, degree, len(responses))
    words = [word for one in responses for word in (one.fluency, one.perceived_utility)]
    ratings = np.array([POINTS.get(word, np.nan) for word in words]).reshape(-1, 2)
    return citations.statistics(*counted.T, *ratings.T)


def _supported(response: Response) -> list[str | None]:
    statements = response.statements
    return [it.statement_supported for it in statements if it.statement_is_verification_worthy]


def _statements(record: Record) -> list[str]:
    if isinstance(record, PageJudgement):
        return [record.statement]
    return [it.text for it in record.statements] if isinstance(record, Response) else []


def _figures(
    responses: Sequence[Response], intervals: Intervals, *, metrics: Sequence[Metric]
) -> Row:
    """Return the counts and the citation metrics of responses, which intervals resample."""
    rows = statistics(responses)
    names = ("worthy", "supported", "citations", "precise")
    return {
        "responses": len(responses),
        "statements": sum(len(response.statements) for response in responses),
        **dict(zip(names, rows[:, :4].sum(axis=0).astype(int).tolist())),
        **flat(*estimates([(metric, rows) for metric in metrics], intervals)),
    }


def _citations(
    about: str, *keys: str, metrics: Sequence[Metric] = citations.CITATION_METRICS
) -> Groups:
    by = {key: attrgetter(key) for key in keys}
    figures = partial(_figures, metrics=metrics)
    return Groups(about, figures, by, only=is_a(Response), total=len(keys) == 1)


#: The metrics that the paper breaks down by query distribution.
_MAIN = [it for it in citations.CITATION_METRICS if not it.name.startswith("mean_")]

DATA_SET = DataSet(
    NAME,
    licence=(
        "MIT for the human evaluation; none stated for the Stanford-GenSearch pairs of "
        "AttributionBench"
    ),
    about="statements of generative search engines, and whether their citations support them",
    source=(
        "Liu, Zhang and Liang (2023), Evaluating Verifiability in Generative Search Engines; "
        "Li et al. (2024), AttributionBench: How Hard is Automatic Attribution Evaluation?"
    ),
    read=read,
    summary=Summary(
        labels={
            "statement_supported": of(Response, _supported),
            "citation_supports": of(
                Response, lambda r: [judged.citation_supports for _, judged in r.judgements]
            ),
            **fields("attribution_label", kind=Pair),
            **fields("source_supports_statement", kind=PageJudgement),
            **fields("fluency", "perceived_utility", kind=Response),
        },
        texts={
            **fields("query", "response", kind=Response),
            "statement": _statements,
            "evidence": of(Response, lambda r: [it.evidence or None for _, it in r.judgements]),
            **fields("question", "claim", kind=Pair),
            "reference": of(Pair, lambda record: record.references),
            "page": of(PageJudgement, lambda record: [record.source_text]),
        },
        tables={
            "system_name": _citations(
                "statements (worth verifying, supported) and citations (judged, precise) by system",
                "system_name",
            ),
            "split": _citations(
                "citation metrics for each query distribution", "split", metrics=_MAIN
            ),
            "system_name_split": _citations(
                "citation metrics by system and query distribution",
                "system_name",
                "split",
                metrics=_MAIN,
            ),
        },
        notes={
            "only citation metrics for the full human evaluation can be compared with the "
            "published totals (Liu et al. 2023)": is_a(Response),
            "citation metrics are not computed for judgements of cited pages, because the files "
            "with these judgements contain only some statements of each response; to convert a "
            "file to datapoints, run "
            "'shroom datasets convert verifiability FILE'": is_a(PageJudgement),
        },
    ),
    views={
        "evidence": View(
            "statements compared with evidence from the sources they cite; p is 1 minus the "
            "support",
            _points,
            _unit,
        )
    },
)
