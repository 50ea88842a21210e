"""The records of "Evaluating Verifiability in Generative Search Engines".

The fields and words are those of the source's own description.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

#: The query distributions, as the source names them.
SPLITS = (
    "allsouls",
    "davinci_debate",
    "wikihow_keywords",
    "eli5_kilt",
    "eli5_live",
    "nq_list_with_short_answer",
    "nq_list_without_short_answer",
    "nq_paragraph_with_short_answer",
    "nq_paragraph_without_short_answer",
    "nq_table_with_short_answer",
    "nq_table_without_short_answer",
    "nq_no_long_answer",
)
#: The generative search engines, as the source names them.
SYSTEMS = ("bing_chat", "neeva", "perplexity", "you")
ATTRIBUTABLE, NOT_ATTRIBUTABLE = "attributable", "not attributable"
#: The verdicts of a judgement file, and how far each says that the page supports the statement.
PAGE_SUPPORT = {"complete_support": 1.0, "partial_support": 0.5, "no_support": 0.0}


class Likert(str, Enum):
    """How far an annotator agrees that a response is fluent, or useful."""

    STRONGLY_DISAGREE = "Strongly Disagree"
    DISAGREE = "Disagree"
    NEUTRAL = "Neutral"
    AGREE = "Agree"
    STRONGLY_AGREE = "Strongly Agree"

    @property
    def points(self) -> int:
        """From 1 (strongly disagree) to 5 (strongly agree).

        Examples
        --------
        >>> Likert("Neutral").points
        3
        """
        return list(Likert).index(self) + 1


class Supported(str, Enum):
    """Whether the union of its citations fully supports a statement."""

    YES = "Yes"
    NO = "No"
    CONTRADICT = "Citations Contradict Each Other"  #: counts as no


class Support(str, Enum):
    """Whether one citation supports its statement."""

    COMPLETE = "Citation Completely Supports Statement"
    PARTIAL = "Citation Partially Supports Statement"
    NONE = "Citation Provides No Support for Statement"
    INACCESSIBLE = "Citation Inaccessible"  #: counts as none
    CONTRADICT = "Citation Completely Supports but Also Refutes Statement"  #: counts as none
    UNCLEAR = "Statement is Unclear, Can't Make Judgment"  #: counts as none

    @property
    def degree(self) -> float:
        """1 for complete, 0.5 for partial, 0 for all else.

        Examples
        --------
        >>> [support.degree for support in Support]
        [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]
        """
        return {Support.COMPLETE: 1.0, Support.PARTIAL: 0.5}.get(self, 0.0)


@dataclass(frozen=True)
class Citation:
    """One citation mark in a response; a text such as ``[1]`` may stand there several times.

    Attributes
    ----------
    text : str
        As in the response.
    start_index, end_index : int or None
        Where: ``response[start_index:end_index]``.
    link_target : str
        The address that it points to.
    """

    text: str
    start_index: int | None
    end_index: int | None
    link_target: str


@dataclass(frozen=True)
class Judgement:
    """What an annotator said of one citation of a statement.

    Attributes
    ----------
    citation_text : str
        The citation's text.
    citation_supports : Support or None
        ``None`` where the source has no known verdict.
    evidence : str or None
        What the annotator copied from the cited page; none where there is nothing that supports.
    """

    citation_text: str
    citation_supports: Support | None
    evidence: str | None


@dataclass(frozen=True)
class Statement:
    """A sentence of a response, and what annotators said of it.

    Attributes
    ----------
    text : str
        The sentence, with its citation marks.
    citation_texts : tuple of str or None
        The citations that belong to it; ``None`` where the source does not list the statement.
    statement_is_verification_worthy : bool
        Whether it says something of the world outside.
    statement_supported : Supported or None
        ``None`` where it is not worth verifying, and where it cites nothing.
    citation_annotations : tuple of Judgement or None
        ``None`` likewise.
    """

    text: str
    citation_texts: tuple[str, ...] | None
    statement_is_verification_worthy: bool
    statement_supported: Supported | None
    citation_annotations: tuple[Judgement, ...] | None

    @property
    def is_cited(self) -> bool:
        """Whether it cites anything: as the source lists it, or since a citation was judged."""
        return bool(self.citation_texts or self.citation_annotations)


@dataclass(frozen=True)
class Response:
    """The response of a generative search engine, and what people said of it.

    Attributes
    ----------
    id : str
        ``<query hash>-<system_name>``.
    query, response : str
        The user's question and the engine's answer.
    split : str
        The query distribution that the query is from, one of :data:`SPLITS`.
    system_name : str
        The engine, one of :data:`SYSTEMS`.
    citations : tuple of Citation
        In the order of the response.
    statements : tuple of Statement
        The judged statements, in the order of the response.
    fluency, perceived_utility : Likert or None
        Of the whole response; ``None`` where the source has no known rating.
    """

    id: str
    query: str
    response: str
    split: str
    system_name: str
    citations: tuple[Citation, ...]
    statements: tuple[Statement, ...]
    fluency: Likert | None
    perceived_utility: Likert | None


@dataclass(frozen=True)
class Pair:
    """A claim and the text of its reference, from the Stanford-GenSearch part of AttributionBench.

    Attributes
    ----------
    question : str
        The user's.
    claim, claim_raw_string : str
        The sentence of the response that was judged, without and with its marks.
    response : str
        The engine's answer.
    references : tuple of str
        What the annotator copied from each cited page.
    citation_links : tuple of str
        The addresses of the cited pages.
    webpage_references : tuple of str
        Whole pages; empty in this part.
    attribution_label : str
        ``attributable`` or ``not attributable``.
    src_dataset : str
        ``Stanford-GenSearch``.
    id : str
        Of the pair.
    """

    question: str
    claim: str
    claim_raw_string: str
    response: str
    references: tuple[str, ...]
    citation_links: tuple[str, ...]
    webpage_references: tuple[str, ...]
    attribution_label: str
    src_dataset: str
    id: str


@dataclass(frozen=True)
class PageJudgement:
    """A statement and the page that it cites, from the files ``verifiability_judgments``.

    Attributes
    ----------
    query, response : str
        The user's question and the engine's answer.
    statement : str
        The sentence of the response that was judged.
    source_title, source_content_title, source_date, source_author : str or None
        Of the cited page, where it states them.
    source_text, source_raw_text : str
        The text of the page, with and without its formatting.
    source_supports_statement : str
        ``complete_support``, ``partial_support`` or ``no_support``.
    source_localized_evidence : str or None
        What the annotator copied from the page.
    source_url : str
        The address of the page.
    """

    query: str
    response: str
    statement: str
    source_title: str | None
    source_content_title: str | None
    source_date: str | None
    source_author: str | None
    source_text: str
    source_raw_text: str
    source_supports_statement: str
    source_localized_evidence: str | None
    source_url: str


Record = Union[Response, Pair, PageJudgement]
