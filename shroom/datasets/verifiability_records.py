"""The records of "Evaluating Verifiability in Generative Search Engines".

The fields and words are those of the source's own description.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional, Union, get_args

from msgspec import Struct

from shroom.core.problems import show
from shroom.datasets.collection import Report
from shroom.datasets.fields import Filled, Index, Rule, Text, Texts, Unusable

#: The query distributions, as the source names them.
SPLITS = (
    *("allsouls", "davinci_debate", "wikihow_keywords", "eli5_kilt", "eli5_live"),
    *("nq_list_with_short_answer", "nq_list_without_short_answer"),
    *("nq_paragraph_with_short_answer", "nq_paragraph_without_short_answer"),
    *("nq_table_with_short_answer", "nq_table_without_short_answer", "nq_no_long_answer"),
)
#: The generative search engines, as the source names them.
SYSTEMS = ("bing_chat", "neeva", "perplexity", "you")
Likert = Literal["Strongly Disagree", "Disagree", "Neutral", "Agree", "Strongly Agree"]
#: The points of an annotator's agreement that a response is fluent, or useful.
POINTS: dict[str | None, int] = {word: point for point, word in enumerate(get_args(Likert), 1)}
#: Whether the union of its citations fully supports a statement; a contradiction counts as no.
Supported = Literal["Yes", "No", "Citations Contradict Each Other"]
#: Whether one citation supports its statement.
Support = Literal[
    "Citation Completely Supports Statement",
    "Citation Partially Supports Statement",
    "Citation Provides No Support for Statement",
    "Citation Inaccessible",
    "Citation Completely Supports but Also Refutes Statement",
    "Statement is Unclear, Can't Make Judgment",
]
PageSupport = Literal["complete_support", "partial_support", "no_support"]
#: The degree of support; 0 for all other verdicts.
DEGREES = {
    "Citation Completely Supports Statement": 1.0,
    "Citation Partially Supports Statement": 0.5,
    "complete_support": 1.0,
    "partial_support": 0.5,
}

OrNone = Annotated[Optional[str], Rule("")]
#: A position of a citation, and a rating; an absent value is reported.
Place = Annotated[Optional[Index], Rule(None)]
Rating = Annotated[Optional[Likert], Rule(None)]


class Citation(Struct, frozen=True):
    """One citation mark in a response; a text such as ``[1]`` may occur several times."""

    text: Text
    start_index: Place  # where: ``response[start_index:end_index]``
    end_index: Place
    link_target: Text  # the address that it points to


class Judgement(Struct, frozen=True):
    """An annotator's judgement of one citation of a statement."""

    citation_text: Text
    citation_supports: Annotated[Optional[Support], Rule(None)]
    evidence: OrNone = None


class Statement(Struct, frozen=True, rename={"citation_texts": "citation texts"}):
    """A sentence of a response, and the annotators' judgements of it."""

    text: str  # the sentence, with its citation marks
    statement_is_verification_worthy: Annotated[bool, Rule(otherwise=False)]
    # ``None`` if the source does not list the statement.
    citation_texts: Annotated[Optional[tuple[str, ...]], Rule(())] = None
    # ``None`` if it is not worth verifying, or cites nothing.
    statement_supported: Optional[Supported] = None
    citation_annotations: Annotated[Optional[tuple[Judgement, ...]], Rule(())] = None

    @property
    def is_supported(self) -> bool:
        """Whether its citations (listed by the source, or judged) support it."""
        is_cited = bool(self.citation_texts or self.citation_annotations)
        return is_cited and self.statement_supported == "Yes"


class Response(Struct, frozen=True):
    """The response of a generative search engine, and the annotators' judgements of it."""

    id: Text
    query: Text
    response: Text
    split: Annotated[str, Rule("", words=SPLITS)]
    system_name: Annotated[str, Rule("", words=SYSTEMS)]
    citations: Annotated[tuple[Citation, ...], Rule(())]
    statements: Annotated[tuple[Statement, ...], Rule(())]
    fluency: Rating  # of the whole response; ``None`` if the source has no known rating
    perceived_utility: Rating

    @property
    def judgements(self) -> list[tuple[Statement, Judgement]]:
        """The judgement of each citation, with its statement."""
        return [(it, judged) for it in self.statements for judged in it.citation_annotations or ()]

    @staticmethod
    def prepare(item: dict[str, Any], report: Report) -> dict[str, Any]:
        """Return a row with a list of statements, which are keys of two objects in the file."""
        key, annotation = "statements_to_citation_texts", item["annotation"]
        judged = annotation.get("statement_to_annotation") if isinstance(annotation, dict) else None
        if not isinstance(judged, dict):
            raise Unusable("annotation", "an object with statement_to_annotation", show(annotation))
        cited = item.get(key)
        if not isinstance(cited, dict):
            report.add("object-odd", key, "an object")
            cited = {}
        statements = [
            {"citation texts": cited.get(text), **verdict, "text": text}
            if isinstance(verdict, dict)
            else verdict
            for text, verdict in judged.items()
        ]
        return {**annotation, **item, "statements": statements}


class Pair(Struct, frozen=True):
    """A claim and its reference, of the Stanford-GenSearch part of AttributionBench."""

    attribution_label: Literal["attributable", "not attributable"]
    claim: Filled
    claim_raw_string: Text
    question: Text
    response: Text
    references: Texts  # what the annotator copied from each cited page
    citation_links: Texts  # the addresses of the cited pages
    webpage_references: Texts  # whole pages; empty in this part
    src_dataset: Text  # ``Stanford-GenSearch``
    id: Text


class PageJudgement(Struct, frozen=True, kw_only=True):
    """A statement and the page that it cites, from the files ``verifiability_judgments``."""

    source_supports_statement: PageSupport
    statement: Filled
    query: Text
    response: Text
    source_title: OrNone = None
    source_content_title: OrNone = None
    source_date: OrNone = None
    source_author: OrNone = None
    source_text: Text
    source_raw_text: Text
    source_localized_evidence: OrNone = None  # what the annotator copied from the page
    source_url: Text


Record = Union[Response, Pair, PageJudgement]
