"""Mu-SHROOM, SemEval-2025 Task 3: answers of language models with marked spans.

Places count code points. Train has neither labels nor, in some languages, ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from operator import attrgetter
from typing import Annotated, Any, Optional

from msgspec import Struct, field

from shroom.core.datapoint import Datapoint, pair
from shroom.core.problems import show
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Report
from shroom.datasets.fields import Odd, Rule
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary, fields, shares
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import FLOORS, CharacterVotes, scored
from shroom.scoring.kinds import span_values
from shroom.scoring.kinds.base import Fault
from shroom.scoring.kinds.span_values import HardSpan, SoftSpan, hard_of, read_spans, soft_of
from shroom.scoring.results import flat

NAME = "mushroom2025"
_AGREEMENT = ("krippendorff_alpha", "pairwise_agreement", "unanimous")


def _spans(form: type[Any]) -> Rule:
    """Return the rule of spans; malformed spans are reported and read as ``None``."""
    return Rule(parse=lambda value, report, key: _reported(read_spans(value, form), report, key))


def _reported(read: tuple[Any, Iterable[Fault]], report: Report, key: str) -> Any:
    """Return the spans, and report their faults."""
    spans, faults = read
    for code, expected, value, part, form in faults:
        is_left_out = not code.startswith("span-") or code == "span-value"
        rest = f" (otherwise, {key} is left out)" if is_left_out else ""
        report.add("span-odd" if rest else code, key + part, expected + rest, form(value))
    return spans


def _annotations(value: Any, report: Report, key: str) -> dict[str, tuple[HardSpan, ...]]:
    """Return each annotator's spans by name; the copy on the hub has a list of objects."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        value = {str(item.get("annotator_id")): item.get("labels") for item in value}
    if not isinstance(value, (dict, type(None))):
        raise Odd
    by_name = {
        name: _reported(read_spans([] if own is None else own, HardSpan), report, f"{key}.{name}")
        for name, own in (value or {}).items()
    }
    return {name: spans for name, spans in by_name.items() if spans is not None}


def _language(value: Any, report: Report, key: str) -> str:
    if not isinstance(value, str):
        raise Odd
    if value != value.upper():
        expected = f"{value.upper()} (which is used instead)"
        report.add("word-odd", key, expected, show(value))
    return value.upper()


Tokens = Annotated[Optional[tuple[Any, ...]], Rule(())]


class Record(Struct, frozen=True):
    """One answer of a language model."""

    model_output_text: str
    id: str = ""
    lang: Annotated[str, Rule(parse=_language)] = ""
    model_input: str = ""  # the question
    model_id: str = ""  # the model's name on the hub
    # The share of the annotators who marked each span.
    soft_labels: Annotated[Optional[tuple[SoftSpan, ...]], _spans(SoftSpan)] = None
    # The spans that more than half of the annotators marked.
    hard_labels: Annotated[Optional[tuple[HardSpan, ...]], _spans(HardSpan)] = None
    # Some rows have more or fewer logits than tokens.
    model_output_tokens: Tokens = ()
    model_output_logits: Tokens = ()
    wikipedia_url: str = ""  # the page that the annotators were given
    annotations: Annotated[
        Mapping[str, tuple[HardSpan, ...]],
        Rule(parse=_annotations, expected="spans by annotator (any other value is left out)"),
    ] = field(default_factory=dict)

    @property
    def is_labelled(self) -> bool:
        """Whether the row has labels of either kind."""
        return self.soft_labels is not None or self.hard_labels is not None

    @property
    def hard(self) -> tuple[HardSpan, ...]:
        """The hard labels; if missing, derived from the soft labels."""
        return hard_of(self.soft_labels or ()) if self.hard_labels is None else self.hard_labels

    @property
    def soft(self) -> tuple[SoftSpan, ...]:
        """The soft labels; if missing, derived from the hard labels."""
        return soft_of(self.hard_labels or ()) if self.soft_labels is None else self.soft_labels

    @property
    def share_marked(self) -> float:
        """The share of hard-labelled characters; 0 for an empty answer."""
        return span_values.share_marked(self.hard, len(self.model_output_text))


def _check(record: Record, report: Report) -> None:
    if not record.id:
        report.add("id-odd", "id", "an id")
    if not record.model_output_text:
        report.add("answer-empty", "model_output_text", "an answer", "an empty text")
    tokens, logits = record.model_output_tokens or (), record.model_output_logits or ()
    if len(tokens) != len(logits):
        expected = f"{len(tokens)} logits, one for each token"
        report.add("length-odd", "model_output_logits", expected, f"{len(logits)}")
    marks = {"soft_labels": record.soft_labels, "hard_labels": record.hard_labels}
    marks |= {f"annotations.{name}": own for name, own in record.annotations.items()}
    for key, marked in marks.items():
        _reported((marked, span_values.past_end(marked, record.model_output_text)), report, key)


FORM = Form(
    {"": Record},
    check=_check,
    same=lambda r: (r.lang, r.model_id, r.model_input, r.model_output_text),
    ids="id-doubled",
)
read = partial(records.read, NAME, FORM)


def _point(record: Record, p: float) -> list[Datapoint]:
    texts = record.model_input, record.model_output_text
    return [pair(*texts, p if record.is_labelled else None, record.model_id)]


def _kind(record: Record) -> list[str]:
    if not record.is_labelled:
        return ["unlabelled"]
    return ["something marked" if record.share_marked else "nothing marked"]


def _sizes(records: Sequence[Record]) -> list[int]:
    return [len(record.model_output_text) for record in records]


def _marks(records: Sequence[Record]) -> tuple[Spans, Spans]:
    sizes = _sizes(records)
    hard, soft = [record.hard for record in records], [record.soft for record in records]
    return Spans.of(hard, sizes), Spans.of(soft, sizes)


def _figures(records: Sequence[Record], intervals: Intervals) -> Row:
    """Return the counts of marked characters, and the scores of the trivial systems."""
    labelled = [record for record in records if record.is_labelled]
    sizes = _sizes(labelled)
    marked = [round(it.share_marked * size) for it, size in zip(labelled, sizes)]
    row = {
        "items": len(records),
        "labelled": len(labelled),
        "nothing_marked": sum(not record.share_marked for record in labelled),
        "characters": sum(sizes),
        "marked": sum(marked),
        **shares({"marked_share": (marked, sizes)}, intervals),
    }
    for name, floor in FLOORS.items():
        marks = floor(sizes)
        scores = flat(*estimates(scored((marks, marks), _marks(labelled)), intervals))
        row |= {f"{name.replace(' ', '_')}_{key}": value for key, value in scores.items()}
    return row


def _agreement(records: Sequence[Record], intervals: Intervals) -> Row:
    """Return the agreement of annotators; each answer has at least two annotators."""
    sizes = _sizes(records)
    annotators = [len(record.annotations) for record in records]
    # The spans of the first annotator of every record, of the second, and so on.
    sides = zip_longest(*(record.annotations.values() for record in records), fillvalue=())
    votes = CharacterVotes.of([Spans.of(side, sizes) for side in sides], annotators)
    return {
        "items": len(records),
        "characters": sum(sizes),
        "annotators": max(annotators),
        **flat(*estimates([votes.by_text(AGREEMENT[name]) for name in _AGREEMENT], intervals)),
    }


DATA_SET = DataSet(
    NAME,
    licence="none stated",
    about="answers of language models in 14 languages, with hallucinated spans marked",
    source=(
        "R. Vázquez et al. (2025), SemEval-2025 Task 3: Mu-SHROOM, the Multilingual Shared-task on "
        "Hallucinations and Related Observable Overgeneration Mistakes"
    ),
    read=read,
    summary=Summary(
        labels={"answers": _kind},
        texts=fields("model_input", "model_output_text"),
        tables={
            "file": Groups(
                "hard-labelled characters, and the scores of the trivial systems",
                _figures,
                {"lang": attrgetter("lang")},
                by_file=True,
            )
        },
        agreement=Groups(
            "agreement of the annotators' spans, with characters as items",
            _agreement,
            {"lang": attrgetter("lang")},
            by_file=True,
            only=lambda record: len(record.annotations) > 1,
        ),
    ),
    views={
        "share": View(
            "answers compared with questions; p is the share of marked characters",
            lambda record: _point(record, record.share_marked),
        ),
        "any": View(
            "answers compared with questions; p is 1 if any character is marked",
            lambda record: _point(record, float(record.share_marked > 0)),
        ),
    },
)
