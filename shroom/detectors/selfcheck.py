"""Self-consistency: agreement of the hypothesis with other samples from the model that wrote it.

Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from shroom.core.datapoint import Datapoint
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.core.word_spans import spans
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.base import Detector
from shroom.detectors.settings import File, Names, Share
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.input_files import documents
from shroom.scoring.item_values import id_in

#: The surprise at which p of the n-gram variant is 0.5: as if each word were one of 32 equal ones.
MIDDLE = math.log(32)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


#: A hypothesis and its samples.
_Pair = tuple[str, tuple[str, ...]]


@dataclass(eq=False, repr=False)
class SelfCheck(Detector):
    """p(Hallucination) from other samples of the same model.

    There are three variants:

    ``ngram``
        An n-gram model is estimated from the lower-cased words of the samples and the hypothesis:
        q(g) = count(g) / count of all n-grams. The surprise x is the mean or the maximum of
        -ln q(g) over the n-grams of the hypothesis, and p = x / (x + ln 32). This p has the order
        of x, so rho is the same as in the paper. The threshold 0.5 is a convention: calibrate it.
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
        JSON or JSON Lines, see :class:`shroom.detectors.selfcheck.Samples`.
    variant : str
        ``ngram``, ``bertscore`` or ``nli``.
    model, revision : str, optional
        The encoder of ``bertscore``, or the NLI model of ``nli``: a folder or a name on the hub.
    n : int
        The order of the n-grams, from 1 to 9.
    aggregate : str
        ``average`` or ``max`` of the n-grams' surprise.
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
    model: Names | None = None
    revision: Names | None = None
    n: Annotated[int, Meta(ge=1, le=9)] = 1
    aggregate: Literal["average", "max"] = "average"
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
        several = any(len(names or ()) > 1 for names in (self.model, self.revision))
        if self.variant == "bertscore" and several:
            raise ShroomError("the variant bertscore accepts only one model and one revision")

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        return self.against([p.hyp for p in datapoints], self._samples.of(datapoints), run)

    def against(
        self, texts: Sequence[str], samples: Sequence[tuple[str, ...]], run: Run = RUN
    ) -> Floats:
        """Return p(Hallucination) of texts by the samples of each: shape [n]."""
        p = np.full(len(texts), 0.5)
        judged = [place for place, text in enumerate(texts) if text.strip()]
        pairs = [(texts[place], samples[place]) for place in judged]
        if self.variant == "ngram":
            x = np.array([surprise(*pair, self.n, self.aggregate) for pair in pairs])
            p[judged] = x / (x + MIDDLE)
        elif pairs:
            compare = self._bertscore if self.variant == "bertscore" else self._contradiction
            owner, values = compare(pairs, run)
            p[judged] = np.bincount(owner, weights=values) / np.bincount(owner)
        return p

    @property
    def identity(self) -> str:
        """A digest of the samples, and the identities of the models that read them."""
        models = map(hub.identity, self.model or (), self.revision or itertools.repeat(None))
        return " ".join([f"selfcheck {self._samples.digest}", *models])

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts with which the hypothesis is compared: its samples."""
        return self._samples.of([datapoint])[0]

    @cached_property
    def _samples(self) -> Samples:
        if self.samples is None:
            raise ShroomError(
                "the detector selfcheck needs more samples from the model that wrote the "
                "hypotheses; specify --set "
                "samples=FILE, a JSON list with one object for each datapoint, such as "
                '{"id": 1, "samples": ["...", "..."]}'
            )
        return Samples.read(self.samples)

    def _bertscore(self, pairs: list[_Pair], run: Run) -> tuple[list[int], Floats]:
        """Return p of each sentence, and the place of its hypothesis."""
        from shroom.detectors.embeddings import BertScore

        if self._judge is None:
            self._judge = BertScore(*(self.model or ()), *(self.revision or ()))
        # Sorted, so that the order of the samples does not matter even for the journal's keys.
        items = [
            (sentence, *[tuple(sentences(text)) for text in sorted(texts)])
            for hyp, texts in pairs
            for sentence in sentences(hyp)
        ]
        owner = [place for place, (hyp, _) in enumerate(pairs) for _ in sentences(hyp)]
        return owner, 1 - self._judge.agreement(items, run)

    def _contradiction(self, pairs: list[_Pair], run: Run) -> tuple[list[int], Floats]:
        """Return p of each pair of sample and hypothesis, and the place of the hypothesis."""
        from shroom.detectors.nli import NLI, p_from

        if self._judge is None:
            self._judge = NLI(self.model or (), self.revision)
        both = [(place, (text, hyp)) for place, (hyp, texts) in enumerate(pairs) for text in texts]
        shares = self._judge.probabilities([pair for _, pair in both], run)
        return [place for place, _ in both], p_from(shares[:, 0], shares[:, 2])


def surprise(hyp: str, samples: Sequence[str], n: int = 1, aggregate: str = "average") -> float:
    """Return the mean, or greatest, negative log-probability of the hypothesis' n-grams."""
    # An n-gram is a unit: q is its share among all n-grams of samples and hypothesis (SelfCheckGPT,
    # section 5.3, and its code). A conditional probability would trust what no sample has.
    grams = _ngrams(hyp, n)
    if not grams:
        return 0.0
    count = Counter(grams)
    for text in samples:
        count.update(_ngrams(text, n))
    total = count.total()
    surprises = [math.log(total / count[gram]) for gram in grams]
    return max(surprises) if aggregate == "max" else math.fsum(surprises) / len(surprises)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that are not blank, or one empty sentence."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part] or [""]


def _ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    lower = text.lower()
    words = [""] * (n - 1) + [lower[start:end] for start, end in spans(lower)]
    return list(zip(*(words[start:] for start in range(n))))


class Row(NamedTuple):
    """A row of the file: the samples, and perhaps an id and the hypothesis."""

    texts: tuple[str, ...]
    id: int | None
    hyp: str | None


@dataclass(frozen=True)
class Samples:
    """The rows of a file of samples; either all rows have an id, or none has."""

    file: str
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: str | Path) -> Samples:
        """Read rows with ``samples``, and perhaps ``id`` and ``hyp``, from JSON or JSON Lines."""
        problems = Problems()
        files = documents(path, problems)
        if Path(path).is_dir() or len(files) > 1:
            raise ShroomError(
                f"{path} contains {counted(len(files), 'file')}; specify one file of samples"
            )
        items = files[0].items(problems) if files else None
        if problems.errors or items is None:
            raise InvalidInput(problems)
        rows = tuple(_row(item, f"{path}: item {index}") for index, item in enumerate(items))
        with_id = sum(row.id is not None for row in rows)
        if with_id not in (0, len(rows)):
            have = "has" if with_id == 1 else "have"
            raise ShroomError(
                f"{path}: {with_id} of {len(rows)} rows {have} an id; add ids to all rows, or "
                "remove all ids and keep the order of the data"
            )
        return cls(str(path), rows)

    @cached_property
    def digest(self) -> str:
        """A digest of the samples that does not depend on the file's path."""
        return hashlib.sha256(json.dumps(self.rows).encode()).hexdigest()[:16]

    def of(self, datapoints: Datapoints) -> list[tuple[str, ...]]:
        """Return the samples of each datapoint, by id if the rows have ids, otherwise by order."""
        if self.rows and self.rows[0].id is not None:
            return self._by_id(datapoints)
        if len(datapoints) != len(self.rows):
            raise ShroomError(
                f"{self.file} has {counted(len(self.rows), 'row')} without ids, but the data has "
                f"{counted(len(datapoints), 'datapoint')}; add the ids of the datapoints, or write "
                "one row for each datapoint in the order of the data"
            )
        for index, (row, point) in enumerate(zip(self.rows, datapoints)):
            if row.hyp not in (None, point.hyp):
                raise ShroomError(
                    f"{self.file}: item {index}: hyp: expected {show(point.hyp)}, got "
                    f"{show(row.hyp)}; keep the order of the data, or add ids"
                )
        return [row.texts for row in self.rows]

    def _by_id(self, datapoints: Datapoints) -> list[tuple[str, ...]]:
        places: dict[Any, int] = {}
        for index, row in enumerate(self.rows):
            if places.setdefault(row.id, index) != index:
                raise ShroomError(
                    f"{self.file}: item {index}: id {row.id} was already used in item "
                    f"{places[row.id]}; put all samples of a datapoint into one row"
                )
        for point in datapoints:
            if point.id is None:
                raise ShroomError(
                    f"{self.file}: the rows have ids, but datapoint {point.name} has none; remove "
                    "the ids and keep the order of the data"
                )
            if point.id not in places:
                raise ShroomError(f"{self.file}: no samples for datapoint {point.name}")
        return [self.rows[places[point.id]].texts for point in datapoints]


def _row(item: Any, place: str) -> Row:
    if not isinstance(item, dict):
        raise ShroomError(f'{place}: expected an object with "samples", got {show(item)}')
    texts, hyp, own = (item.get(key) for key in ("samples", "hyp", "id"))
    if not isinstance(texts, list) or not texts:
        value = show(texts) if "samples" in item else "no such key"
        raise ShroomError(f"{place}: samples: expected a list of at least one text, got {value}")
    named = {f"samples: {index}": text for index, text in enumerate(texts)}
    named["hyp"] = "" if hyp is None else hyp
    for key, text in named.items():
        if not isinstance(text, str):
            raise ShroomError(f"{place}: {key}: expected a text, got {show(text)}")
    if own is not None and id_in(own) is None:
        raise ShroomError(f"{place}: id: expected an integer, got {show(own)}")
    return Row(tuple(texts), id_in(own), hyp)
