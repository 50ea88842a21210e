"""Self-consistency: agreement of the hypothesis with other samples from the model that wrote it.

Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Meta

from shroom.core.datapoint import Datapoint
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.core.word_spans import spans
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.base import Detector
from shroom.detectors.settings import File, Name, Share
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.input_files import documents

#: The surprise at which p of the n-gram variant is 0.5: as if each word were one of 32 equal ones.
MIDDLE = math.log(32)
#: A row of a file of samples.
_EXAMPLE = '{"id": 1, "samples": ["...", "..."]}'
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")

#: A hypothesis and its samples.
_Pair = tuple[str, tuple[str, ...]]


@dataclass(eq=False, repr=False)
class SelfCheck(Detector):
    """p(Hallucination) from other samples of the same model.

    There are three variants:

    ``ngram``
        An n-gram model is estimated from the lower-cased words of the samples and the hypothesis:
        q(g) = count(g) / count of all n-grams. The surprise x is the mean of -ln q(g) over the
        n-grams of the hypothesis, and p = x / (x + ln 32). This p has the order of x, so rho is the
        same as in the paper. The threshold 0.5 is a convention: calibrate it.
    ``bertscore``
        F1 of two sentences is computed by greedy cosine matching of an encoder's token vectors; a
        negative F1 counts as 0. For each sentence of the hypothesis, the best F1 with a sentence
        of each sample is averaged over the samples. p is 1 minus the mean over the sentences.
    ``nli``
        p is the mean of C / (C + E) over the samples, with the sample as the premise. The ratio is
        0.5 if both probabilities are 0.

    A blank hypothesis has p = 0.5, because there is nothing to compare with the samples.

    Parameters
    ----------
    samples : path
        JSON or JSON Lines: rows with ``samples``, a list of texts, and the ``id`` of a datapoint.
        If no row has an id, the rows have the order of the data.
    variant : str
        ``ngram``, ``bertscore`` or ``nli``.
    model, revision : str, optional
        The encoder of ``bertscore``, or the NLI model of ``nli``: a folder or a name on the hub.
    n : int
        The order of the n-grams, from 1 to 9.
    threshold : float
        The label is Hallucination if p is greater.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> path = Path(tempfile.mkdtemp()) / "samples.json"
    >>> _ = path.write_text('[{"samples": ["A cat.", "A small cat."]}]')
    >>> def p(hyp):
    ...     point = Datapoint(hyp=hyp, src="Eine Katze.", tgt="", task=Task.MT)
    ...     return float(SelfCheck(samples=path).p([point])[0])
    >>> p("A cat.") < p("Some dog!")
    True
    """

    name: ClassVar[str] = "selfcheck"
    samples: File | None = None
    variant: Literal["ngram", "bertscore", "nli"] = "ngram"
    model: Name | None = None
    revision: Name | None = None
    n: Annotated[int, Meta(ge=1, le=9)] = 1
    threshold: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._judge: Any = None
        if self.variant != "ngram" and not self.model:
            what = "an encoder" if self.variant == "bertscore" else "an NLI model"
            raise ShroomError(
                f"the variant {self.variant} of selfcheck needs {what}: specify --model, or use "
                "the variant ngram, which needs no model"
            )

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        return self.against([p.hyp for p in datapoints], self._samples_of(datapoints), run)

    def against(
        self, texts: Sequence[str], samples: Sequence[tuple[str, ...]], run: Run = RUN
    ) -> Floats:
        """Return p(Hallucination) of texts by the samples of each: shape [n]."""
        p = np.full(len(texts), 0.5)
        judged = [place for place, text in enumerate(texts) if text.strip()]
        pairs = [(texts[place], samples[place]) for place in judged]
        if self.variant == "ngram":
            x = np.array([surprise(*pair, self.n) for pair in pairs])
            p[judged] = x / (x + MIDDLE)
        elif pairs:
            compare = self._bertscore if self.variant == "bertscore" else self._contradiction
            p[judged] = compare(pairs, run)
        return p

    @property
    def identity(self) -> str:
        """A digest of the samples, and the identity of the model that reads them."""
        rows = json.dumps([(row.samples, row.id) for row in self._rows])
        digest = hashlib.sha256(rows.encode()).hexdigest()[:16]
        model = f" {hub.identity(self.model, self.revision)}" if self.model else ""
        return f"selfcheck {digest}{model}"

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts with which the hypothesis is compared: its samples."""
        return self._samples_of([datapoint])[0]

    @cached_property
    def _rows(self) -> list[Row]:
        if self.samples is None:
            raise ShroomError(
                "the detector selfcheck needs more samples from the model that wrote the "
                "hypotheses; specify --set samples=FILE, a JSON list with one object for each "
                f"datapoint, such as {_EXAMPLE}"
            )
        return read_samples(self.samples)

    def _samples_of(self, datapoints: Datapoints) -> list[tuple[str, ...]]:
        """Return the samples of each datapoint, by id if the rows have ids, otherwise by order."""
        rows = self._rows
        if rows[0].id is None:
            if len(datapoints) != len(rows):
                raise ShroomError(
                    f"{self.samples} has {counted(len(rows), 'row')} without ids, but the data has "
                    f"{counted(len(datapoints), 'datapoint')}; add the ids of the datapoints, or "
                    "write one row for each datapoint in the order of the data"
                )
            return [row.samples for row in rows]
        by_id: dict[Any, tuple[str, ...]] = {row.id: row.samples for row in rows}
        for point in datapoints:
            if point.id not in by_id:
                raise ShroomError(f"{self.samples}: no samples for datapoint {point.name}")
        return [by_id[point.id] for point in datapoints]

    def _bertscore(self, pairs: list[_Pair], run: Run) -> Floats:
        from shroom.detectors.embeddings import BertScore

        if self._judge is None:
            self._judge = BertScore(str(self.model), self.revision)
        # Sorted, so that the order of the samples does not matter even for the journal's keys.
        items = [tuple(map(sentences, (hyp, *sorted(texts)))) for hyp, texts in pairs]
        return 1 - np.asarray(self._judge.agreement(items, run))

    def _contradiction(self, pairs: list[_Pair], run: Run) -> Floats:
        from shroom.detectors.nli import NLI, p_from

        if self._judge is None:
            self._judge = NLI((str(self.model),), (self.revision,) if self.revision else None)
        both = [(text, hyp) for hyp, texts in pairs for text in texts]
        ends = np.cumsum([len(texts) for _, texts in pairs])
        shares = self._judge.probabilities(both, run)
        p = p_from(shares[:, 0], shares[:, 2])
        return np.array([part.mean() for part in np.split(p, ends[:-1])])


def surprise(hyp: str, samples: Sequence[str], n: int = 1) -> float:
    """Return the mean negative log-probability of the hypothesis' n-grams."""
    # An n-gram is a unit: q is its share among all n-grams of samples and hypothesis (SelfCheckGPT,
    # section 5.3, and its code). A conditional probability would trust what no sample has.
    grams = _ngrams(hyp, n)
    if not grams:
        return 0.0
    count = Counter(grams)
    for text in samples:
        count.update(_ngrams(text, n))
    total = count.total()
    return math.fsum(math.log(total / count[gram]) for gram in grams) / len(grams)


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text that are not blank, or one empty sentence."""
    return tuple(filter(None, _SENTENCE_END.split(text.strip()))) or ("",)


def _ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    lower = text.lower()
    words = [""] * (n - 1) + [lower[start:end] for start, end in spans(lower)]
    return list(zip(*(words[start:] for start in range(n))))


@dataclass(frozen=True)
class Row:
    """The samples of a datapoint, and perhaps its id."""

    samples: Annotated[tuple[str, ...], Meta(min_length=1)]
    id: int | None = None


def read_samples(path: str) -> list[Row]:
    """Read rows with ``samples``, and perhaps ``id``, from JSON or JSON Lines."""
    problems = Problems()
    files = documents(path, problems)
    items = files[0].items(problems) if len(files) == 1 else None
    if problems.errors:
        raise InvalidInput(problems)
    if items is None:
        raise ShroomError(f"{path} is not a file of samples; specify a JSON list or JSON Lines")
    rows = []
    for index, item in enumerate(items):
        try:
            rows.append(msgspec.convert(item, Row, strict=False))
        except msgspec.ValidationError as error:
            raise ShroomError(
                f"{path}: item {index}: expected an object such as {_EXAMPLE}, got {show(item)}"
            ) from error
    ids = {row.id for row in rows}
    if ids != {None} and (None in ids or len(ids) < len(rows)):
        raise ShroomError(
            f"{path}: expected a different id in each row; put all samples of a datapoint into one "
            "row, or remove all ids and keep the order of the data"
        )
    return rows
