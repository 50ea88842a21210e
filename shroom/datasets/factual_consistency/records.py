"""One response of the factual-consistency data, with every column of its row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shroom.datasets.factual_consistency.mojibake import repaired

#: What stands after each turn of a context.
TURN_END = "<br>"


@dataclass(frozen=True)
class Response:
    """One response, what it was given, and how it was judged.

    Attributes
    ----------
    file : str
        The name of the file without its ending: ``gt``, ``knn``, ``dpr`` or
        ``factual_dataset_expert``. Of the crowd's files it names the retrieval of the knowledge.
    conv_index : int or None
        The dialogue's number. In the expert file the numbers start again in its midst.
    dial_index : int or None
        Only in ``knn``; the source does not describe it.
    model_type : str
        ``GPT2-small``, ``GPT2-medium``, ``GPT2-large`` or ``GPT2-xlarge``.
    decoding : str
        ``nucleus``, ``beam search`` or ``DBS`` (diverse beam search).
    context : str
        The dialogue so far; each turn begins with ``A:`` or ``B:`` and ends with ``<br>``.
    knowledge : str
        The sentences that the model was given; may be empty.
    response : str
        What the model said.
    given_correctness : float or None
        ``Avg Factual Correctness`` as it stands in the file: the annotators' mean, 1 for correct.
        ``None`` where it is blank. It may be out of range; :attr:`correctness` never is.
    hallucination : bool or None
        Whether the annotators found a hallucination; ``None`` where it is blank.
    verifiable : bool or None
        Whether the response can be checked at all; ``None`` where it is blank.
    """

    file: str
    conv_index: int | None
    dial_index: int | None
    model_type: str
    decoding: str
    context: str
    knowledge: str
    response: str
    given_correctness: float | None
    hallucination: bool | None
    verifiable: bool | None

    @property
    def correctness(self) -> float | None:
        """The mean factual correctness in [0, 1]; ``None`` where it is blank or out of range."""
        value = self.given_correctness
        return value if value is not None and 0 <= value <= 1 else None

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns of the context, without ``<br>`` and blanks around them."""
        parts = (part.strip() for part in self.context.split(TURN_END))
        return tuple(part for part in parts if part)

    @property
    def dialogue(self) -> tuple[int | None, str]:
        """What tells the dialogue: its number together with its text."""
        return self.conv_index, self.context


def repaired_response(response: Response) -> Response:
    """Return the response with the encoding of its texts repaired; see ``mojibake``."""
    return replace(
        response,
        context=repaired(response.context),
        knowledge=repaired(response.knowledge),
        response=repaired(response.response),
    )
