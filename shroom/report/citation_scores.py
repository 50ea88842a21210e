"""The citation metrics of generative search engines as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.problems import printable
from shroom.report.text import align, confidence, interval, number

if TYPE_CHECKING:
    from shroom.citation_scores import CitationScores, SystemScores

#: The tables: a title, then columns as (heading, metric).
_TABLES = (
    (
        "pooled",
        ("recall", "citation_recall"),
        ("precision", "citation_precision"),
        ("F1", "citation_f1"),
    ),
    (
        "mean over responses",
        ("recall", "mean_citation_recall"),
        ("precision", "mean_citation_precision"),
        ("F1", "mean_citation_f1"),
    ),
    ("ratings, 1 to 5", ("fluency", "fluency"), ("perceived utility", "perceived_utility")),
)
_COUNTS = ("responses", "statements", "worthy", "supported", "citations", "precise")


def render(found: CitationScores) -> str:
    """Return the counts and the scores of all systems, and of each, as text."""
    systems = [found.whole, *found.systems]
    lines = align(
        [
            ("", *_COUNTS),
            None,
            *((_title(each), *(str(getattr(each, key)) for key in _COUNTS)) for each in systems),
        ]
    )
    ci = confidence(found.how)
    for title, *columns in _TABLES:
        heading = (title, *(cell for name, _ in columns for cell in (name, ci)))
        rows = [_row(each, [metric for _, metric in columns]) for each in systems]
        lines += ["", *align([heading, None, *rows])]
    how = found.how
    if how.resamples:
        lines += [
            "",
            f"intervals: {how.method}, {how.resamples} resamples of responses, seed {how.seed}",
        ]
    return "\n".join(lines) + "\n"


def _row(system: SystemScores, metrics: list[str]) -> tuple[str, ...]:
    cells = [
        cell
        for metric in metrics
        for cell in (number(system.scores[metric]), interval(system.intervals[metric]))
    ]
    return (_title(system), *cells)


def _title(system: SystemScores) -> str:
    return "all" if system.system_name is None else printable(system.system_name) or "(no name)"
