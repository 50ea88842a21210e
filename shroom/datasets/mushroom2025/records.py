"""One answer of Mu-SHROOM, and the spans that are marked in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shroom.scoring.kinds.span_values import HardSpan, SoftSpan, hard_of, soft_of

__all__ = ["KEYS", "HardSpan", "Record", "SoftSpan", "hard_of", "soft_of"]

KEYS = (
    "id",
    "lang",
    "model_input",
    "model_output_text",
    "model_id",
    "soft_labels",
    "hard_labels",
    "model_output_tokens",
    "model_output_logits",
    "wikipedia_url",
    "annotations",
)


@dataclass(frozen=True)
class Record:
    """One answer of a language model.

    Attributes
    ----------
    id : str or None
        ``{split}-{language}-{number}``; ``None`` in parts of train.
    lang : str
        The language's code in upper case, such as ``DE``.
    model_input, model_output_text : str
        The question and the answer. The answer may be empty.
    model_id : str
        The model's name on the hub.
    soft_labels : tuple of SoftSpan or None
        The share of the annotators who marked each span; ``None`` if the row has none.
    hard_labels : tuple of HardSpan or None
        The spans that more than half of them marked; ``None`` if the row has none.
    model_output_tokens : tuple of str
        The tokens that the model wrote, in its tokenizer's spelling.
    model_output_logits : tuple of float
        Their logits; in some rows not as many as tokens.
    wikipedia_url : str
        The page that the annotators were given.
    annotations : dict of tuple of HardSpan
        By annotator, what each marked.
    """

    id: str | None
    lang: str
    model_input: str
    model_output_text: str
    model_id: str = ""
    soft_labels: tuple[SoftSpan, ...] | None = None
    hard_labels: tuple[HardSpan, ...] | None = None
    model_output_tokens: tuple[str, ...] = ()
    model_output_logits: tuple[float, ...] = ()
    wikipedia_url: str = ""
    annotations: Mapping[str, tuple[HardSpan, ...]] = field(default_factory=dict)

    @property
    def is_labelled(self) -> bool:
        """Whether the row has labels of either kind."""
        return self.soft_labels is not None or self.hard_labels is not None

    @property
    def hard(self) -> tuple[HardSpan, ...]:
        """The hard labels, made of the soft ones where they are missing."""
        return hard_of(self.soft_labels or ()) if self.hard_labels is None else self.hard_labels

    @property
    def soft(self) -> tuple[SoftSpan, ...]:
        """The soft labels, made of the hard ones where they are missing."""
        return soft_of(self.hard_labels or ()) if self.soft_labels is None else self.soft_labels
