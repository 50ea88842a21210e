"""What in a record of the verifiability files contradicts itself, or the source's description."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shroom.core.problems import show
from shroom.datasets.verifiability.records import Pair, Support, Supported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.datasets.verifiability.records import Response, Statement

    Oddity = tuple[str, str, str]  # key, expected, found


def oddities(record: Response | Pair) -> Iterator[Oddity]:
    """Yield what is odd in a record, each as (key, expected, found).

    Examples
    --------
    >>> pair = Pair("How high?", "Low.", "Low.", "High.", ("8849 m.",), ("https://…",), (),
    ...             "attributable", "Stanford-GenSearch", "1")
    >>> list(oddities(pair))
    [('claim_raw_string', 'a claim that is in the response', '"Low."')]
    """
    if isinstance(record, Pair):
        yield from _of_pair(record)
        return
    yield from _of_citations(record)
    for number, statement in enumerate(record.statements):
        times = record.response.count(statement.text) if statement.text.strip() else 0
        if times != 1:
            found = f"{show(statement.text)}, {times} times"
            yield f"statement {number}", "a statement that is once in the response", found
        yield from _of_verdicts(statement, f"statement {number}: ")
        yield from _of_judgements(statement, f"statement {number}: citation_annotations")


def _of_pair(pair: Pair) -> Iterator[Oddity]:
    if not any(text.strip() for text in pair.references):
        yield "references", "a reference with a text", show(list(pair.references))
    if pair.claim_raw_string not in pair.response:
        yield "claim_raw_string", "a claim that is in the response", show(pair.claim_raw_string)


def _of_citations(record: Response) -> Iterator[Oddity]:
    texts = Counter(citation.text for citation in record.citations)
    twice = [f"{show(text)} {times} times" for text, times in texts.items() if times > 1]
    if twice:
        yield "citations", "each citation text once", ", ".join(twice)
    links: dict[str, str] = {}
    for number, citation in enumerate(record.citations):
        key, start, end = f"citations[{number}]", citation.start_index, citation.end_index
        if start is not None and end is not None and record.response[start:end] != citation.text:
            yield key, "a citation text at its place", f"{show(citation.text)} at {start} to {end}"
        if links.setdefault(citation.text, citation.link_target) != citation.link_target:
            yield key, "the link of the same text before", show(citation.link_target)
    judged = {j.citation_text for s in record.statements for j in s.citation_annotations or ()}
    unknown = sorted(judged - set(texts))
    if unknown:
        yield "annotation", "verdicts on citations of the response", show(unknown)


def _of_verdicts(statement: Statement, above: str) -> Iterator[Oddity]:
    supported, judgements = statement.statement_supported, statement.citation_annotations or ()
    key, complete = f"{above}statement_supported", Support.COMPLETE
    if not statement.statement_is_verification_worthy:
        if supported or judgements:
            yield key, "no verdicts on what is not worth verifying", "some"
    elif supported is None:
        found = "null" if judgements else "null, without a verdict on a citation"
        yield key, "a verdict on what is worth verifying (read as No)", found
    elif supported is Supported.NO and any(j.citation_supports is complete for j in judgements):
        yield key, "Yes, since a citation completely supports it", '"No"'
    elif supported is Supported.YES and not any(
        j.citation_supports and j.citation_supports.degree for j in judgements
    ):
        yield key, "No, since no citation supports it", '"Yes"'


def _of_judgements(statement: Statement, key: str) -> Iterator[Oddity]:
    judgements = statement.citation_annotations or ()
    for place, judgement in enumerate(judgements):
        supports = judgement.citation_supports in (Support.COMPLETE, Support.PARTIAL)
        if supports and not (judgement.evidence or "").strip():
            yield f"{key}[{place}]", "evidence of what supports", show(judgement.evidence)
    judged = [judgement.citation_text for judgement in judgements]
    if len(set(judged)) < len(judged):
        yield key, "one verdict on each citation", show(judged)
    cited = [] if statement.citation_texts is None else list(statement.citation_texts)
    # Without any verdict the statement is reported already, or not worth one.
    if judged and set(judged) != set(cited):
        yield key, "verdicts on the citations of the statement", f"{show(judged)} of {show(cited)}"
