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
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import nli, registry, selfcheck
from shroom.detectors.embeddings import SentenceEncoder
from shroom.detectors.settings import Name, Names, converted
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
        if self.revision and not self.model:
            raise ShroomError(
                "the setting 'revision' requires a model; add a model, or remove 'revision'"
            )
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

    # The premise is the answer, after the question if so set, because an answer may be a mere name.

    name = "nli"
    fields = ("nli_entailment_score", "nli_contradiction_score")
    uses_precision = True
    model: Names  # sequence classifiers: folders or names on the hub; their mean counts
    revision: Names | None = None  # A commit, tag or branch of each
    question: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._detector = nli.NLI(self.model, self.revision)

    @cached_property
    def identity(self) -> str:
        return f"nli {self._detector.identity} {self.question}"

    def item(self, question: Question, place: int) -> Item:
        before = f"{question.question} " if self.question else ""
        return before + question.answer, question.generation[place].text

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        columns = self._detector.probabilities(items, run)[:, [0, 2]]
        return [dict(zip(self.fields, row)) for row in columns.tolist()]


Method = Literal["ngram", "nli", "bertscore"]


@dataclass(eq=False)
class SelfCheck(Scorer):
    """Compares each normal generation with the question's other normal ones."""

    # 1 - p of the detector ``selfcheck`` with the other generations as samples: 1 is agreement.
    # Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.
    # A single normal generation has no others to agree with, and gets no scores.

    name = "selfcheck"
    uses_precision = True
    methods: Names = ("ngram",)  # some of ``ngram``, ``nli`` and ``bertscore``
    nli_model: Name | None = None
    encoder: Name | None = None
    nli_revision: Name | None = None  # A commit, tag or branch on the hub
    encoder_revision: Name | None = None
    n: int = 1  # the order of the n-grams, from 1 to 9

    def __post_init__(self) -> None:
        super().__post_init__()
        self._models = {
            "ngram": (None, None),
            "nli": (self.nli_model, self.nli_revision),
            "bertscore": (self.encoder, self.encoder_revision),
        }
        self._checks = []
        for method in self.methods:
            model, revision = self._models[converted("methods", method, Method)]
            if method != "ngram" and model is None:
                setting = "nli_model" if method == "nli" else "encoder"
                raise ShroomError(f"methods: {method} needs a model; set {setting}")
            settings: dict[str, Any] = {"variant": method, "model": model, "revision": revision}
            self._checks.append(selfcheck.SelfCheck(**settings, n=self.n))
        self.fields = tuple(f"selfcheck_{method}_score" for method in self.methods)

    @cached_property
    def identity(self) -> str:
        models = [hub.identity(name, its) for name, its in self._models.values() if name]
        return f"selfcheck {', '.join(self.methods)} {self.n} {models}"

    def places(self, question: Question) -> list[int]:
        """Return the places of the normal generations if there are several."""
        places = normal(question)
        return places if len(places) > 1 else []

    def item(self, question: Question, place: int) -> Item:
        others = [question.generation[other].text for other in normal(question) if other != place]
        return question.generation[place].text, tuple(others)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the agreement of each generation with the others, by each method."""
        texts, others = map(list, zip(*items))
        columns = [(1 - check.against(texts, others, run)).tolist() for check in self._checks]
        return [dict(zip(self.fields, row)) for row in zip(*columns)]
