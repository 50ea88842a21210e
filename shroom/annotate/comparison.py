"""Compare a generation with the answer and with the other generations."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import Item, Scorer, Scores, normal
from shroom.annotate.words import CHINESE, language_of
from shroom.core.datapoint import pair
from shroom.core.extras import require
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import nli, registry, selfcheck
from shroom.detectors.embeddings import SentenceEncoder
from shroom.detectors.settings import Name, Names
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import plain

#: A question (empty if the texts do not begin with it), its answer and its generations.
_Group = tuple[str, str, tuple[str, ...]]
#: For each generation, the similarity to the answer and the mean similarity to the others.
_Similarities = list[tuple[float, float | None]]

#: The form of a text with its question, by whether it is in Chinese.
_PREFIX = "Question: {}\nAnswer: {}", "问题：{}\n回答：{}"
#: Minimum and maximum length of an n-gram, in characters, and the number of dimensions of an
#: embedding, enough to avoid most collisions.
LENGTHS, DIMENSIONS = (1, 3), 1 << 15


@dataclass(eq=False)
class Similarity(Scorer):
    """Similarity to the answer, and the average similarity to the other normal generations."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.

    name = "similarity"
    fields = ("sim2answer_score", "sim2gen_score")
    model: Name | None = None
    revision: Name | None = None
    # A detector's name: the similarity is then 1 - p of the generation.
    detector: Name | None = None
    question: bool = True  # whether the texts that are compared begin with the question

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.detector:
            given = {"model": self.model, "revision": self.revision}
            settings = {name: value for name, value in given.items() if value is not None}
            name = registry.REGISTRY.in_file(self.detector)
            self._detector = registry.detector(name, **settings)

    @cached_property
    def identity(self) -> str:
        if self.detector:
            model = f"detector {self.detector} {self._detector.identity}"
        elif self.model:
            model = f"encoder {hub.identity(self.model, self.revision)}"
        else:  # changed when the embeddings change
            model = f"character n-grams 2 {LENGTHS} {DIMENSIONS}"
        return f"similarity 1 {'with' if self.question else 'without'} question ({model})"

    def item(self, question: Question, place: int) -> Item:
        """Return the texts to compare, and the place of the generation to score."""
        places = normal(question)
        texts = tuple(question.generation[each].text for each in places)
        before = question.question if self.question else ""
        return (before, question.answer, texts), places.index(place)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the scores of each generation; each text is read once."""
        groups = list(dict.fromkeys(group for group, _ in items))
        compared = self._detected if self.detector else self._cosines
        similarities = dict(zip(groups, compared(groups, run)))
        return [dict(zip(self.fields, similarities[group][row])) for group, row in items]

    def _cosines(self, groups: list[_Group], run: Run) -> Iterator[_Similarities]:
        texts = [_with_question(question, answer, *said) for question, answer, said in groups]
        distinct = list(dict.fromkeys(text for row in texts for text in row))
        if self.model:
            embedded = SentenceEncoder(self.model, self.revision, run.device).embed(distinct, run)
        else:
            embedded = embed(distinct)
        vector_of = dict(zip(distinct, embedded))
        for row in texts:
            answer, *generations = (vector_of[text] for text in row)
            n, vectors = len(generations) - 1, np.stack(generations)
            to_others = (vectors @ vectors.sum(axis=0) - 1) / n if n else None
            yield _paired(vectors @ answer, to_others)

    def _detected(self, groups: list[_Group], run: Run) -> Iterator[_Similarities]:
        """Yield 1 - p(Hallucination) of the detector; a blank text supports nothing."""
        pairs = []  # of each generation, with the answer and with each other generation
        for question, answer, texts in groups:
            before = f"{question}\n" if question else ""
            others = [(answer, *texts[:row], *texts[row + 1 :]) for row in range(len(texts))]
            pairs.append([[(before + it, text) for it in row] for row, text in zip(others, texts)])
        distinct = dict.fromkeys(texts for rows in pairs for row in rows for texts in row)
        asked = [texts for texts in distinct if texts[0].strip()]
        p = self._detector.p([pair(*texts) for texts in asked], run)
        similarity_of = dict(zip(asked, (1 - p).tolist()))
        for rows in pairs:
            values = np.array([[similarity_of.get(it, 0.0) for it in row] for row in rows])
            yield _paired(values[:, 0], values[:, 1:].mean(axis=1) if len(rows) > 1 else None)


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return a lexical unit vector of each text, without negative numbers: [n, ``DIMENSIONS``]."""
    require("annotate", "scikit-learn")
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    vectorizer = HashingVectorizer(
        preprocessor=_folded,
        analyzer="char",
        ngram_range=LENGTHS,
        n_features=DIMENSIONS,
        alternate_sign=False,
        norm=None,
    )
    weights = TfidfTransformer(use_idf=False, sublinear_tf=True)
    vectors: NDArray[np.float64] = weights.fit_transform(vectorizer.transform(texts)).toarray()
    return vectors


def _folded(text: str) -> str:
    return f" {' '.join(unicodedata.normalize('NFKC', plain(text)).casefold().split())} "


def _with_question(question: str, *texts: str) -> list[str]:
    """Return texts with the question before each."""
    prefix = _PREFIX[language_of((question, *texts)) == CHINESE]
    return [prefix.format(question, text) for text in texts] if question else [*texts]


def _paired(to_answer: NDArray[Any], to_others: NDArray[Any] | None) -> _Similarities:
    similarities: list[float] = np.clip(to_answer, -1, 1).tolist()
    others = [None] * len(similarities) if to_others is None else np.clip(to_others, -1, 1).tolist()
    return list(zip(similarities, others))


@dataclass(eq=False)
class NLI(Scorer):
    """Compares each normal generation with the answer."""

    # The premise begins with the question, because an answer may be a mere name.

    name = "nli"
    fields = ("nli_entailment_score", "nli_contradiction_score")
    uses_precision = True
    model: Names  # sequence classifiers: folders or names on the hub; their mean counts
    revision: Names | None = None  # A commit, tag or branch of each

    def __post_init__(self) -> None:
        super().__post_init__()
        self._detector = nli.NLI(self.model, self.revision)

    @cached_property
    def identity(self) -> str:
        return f"nli {self._detector.identity}"

    def item(self, question: Question, place: int) -> Item:
        return f"{question.question} {question.answer}", question.generation[place].text

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        columns = self._detector.probabilities(items, run)[:, [0, 2]]
        return [dict(zip(self.fields, row)) for row in columns.tolist()]


@dataclass(eq=False)
class SelfCheck(Scorer):
    """Compares each normal generation with the question's other normal ones."""

    # 1 - p of the detector ``selfcheck`` with the other generations as samples: 1 is agreement.
    # Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.

    name = "selfcheck"
    uses_precision = True
    variant: Literal["ngram", "nli", "bertscore"] = "ngram"
    model: Name | None = None  # an NLI model, or the encoder of ``bertscore``
    revision: Name | None = None  # A commit, tag or branch on the hub

    def __post_init__(self) -> None:
        super().__post_init__()
        settings: dict[str, Any] = {"model": self.model, "revision": self.revision}
        self._check = selfcheck.SelfCheck(variant=self.variant, **settings)
        self.fields = (f"selfcheck_{self.variant}_score",)

    @cached_property
    def identity(self) -> str:
        model = hub.identity(self.model, self.revision) if self.model else ""
        return f"selfcheck 2 {self.variant} {model}"

    def places(self, question: Question) -> list[int]:
        """Return the places of the normal generations if there are several."""
        places = normal(question)
        return places if len(places) > 1 else []

    def item(self, question: Question, place: int) -> Item:
        others = [question.generation[other].text for other in normal(question) if other != place]
        return question.generation[place].text, tuple(others)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        texts, others = map(list, zip(*items))
        agreement = 1 - self._check.against(texts, others, run)
        return [{self.fields[0]: score} for score in agreement.tolist()]
