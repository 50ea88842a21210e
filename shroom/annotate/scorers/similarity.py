"""How similar a generation is to the answer, and to the other generations.

The source's program is that of Liang et al. (2024), *Learning to Trust Your Feelings*,
arXiv:2401.15449, section 3: cosines of the embeddings of question and answer together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import Scorer, Scores, Work, normal
from shroom.annotate.words import CHINESE, language_of
from shroom.core.datapoint import pair
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import settings
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import plain

#: Of each generation of a group: the similarity to the answer, and the mean similarity to the
#: others, if there are any.
_Similarities = tuple[NDArray[np.float64], Optional[NDArray[np.float64]]]

#: The questions of a batch: a killed run loses one batch at most.
CHUNK = 16
#: The form of a text with its question: in other languages, and in Chinese.
_PREFIX = "Question: {}\nAnswer: {}", "问题：{}\n回答：{}"
#: The least and the greatest length of a piece of a text, in characters, and the dimensions of an
#: embedding: enough that few pieces of a text share one.
LENGTHS, DIMENSIONS = (1, 3), 1 << 15


class Similarity(Scorer):
    """Similarity to the answer, and the average similarity to the other normal generations.

    Parameters
    ----------
    model, revision : str, optional
        A sentence encoder's folder or name on the hub, and its commit, tag or branch there; by
        default :func:`embed`, which needs no model. With ``detector``, its own.
    detector : str, optional
        A detector's name: a similarity is then 1 - p(Hallucination) of the generation, compared
        with the answer or another generation.
    question : bool
        Whether the texts that are compared begin with the question.

    Examples
    --------
    >>> from shroom.annotate.base import Work
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> from shroom.inference.run_settings import RUN
    >>> texts = (Generation("Paris.", "normal"), Generation("It is London.", "normal"))
    >>> work = [Work(Question("Capital of France?", "Paris", None, texts), (0, 1))]
    >>> for _, place, scores in Similarity().score(work, RUN):
    ...     print(place, {name: round(score, 2) for name, score in scores.items()})
    0 {'sim2answer_score': 0.98, 'sim2gen_score': 0.88}
    1 {'sim2answer_score': 0.89, 'sim2gen_score': 0.88}
    """

    name = "similarity"
    fields = ("sim2answer_score", "sim2gen_score")

    def __init__(
        self,
        model: str | None = None,
        revision: str | None = None,
        detector: str | None = None,
        question: bool = True,  # noqa: FBT001, FBT002 - a setting, given by its name
    ) -> None:
        self._question = settings.flag("question", question)
        if revision is not None and model is None:
            raise ShroomError("revision: needs a model, and none is named; name one, or remove it")
        self._measure: _Measure
        if detector is not None:
            self._measure = _Detected(detector, model, revision)
        elif model is not None:
            self._measure = _Encoded(model, revision)
        else:
            self._measure = _Lexical()

    @cached_property
    def identity(self) -> str:
        """The settings, and the model that compares."""
        question = "with" if self._question else "without"
        return f"similarity 1 {question} question ({self._measure.identity})"

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the scores of the wanted generations, a batch of questions at a time."""
        places = [place for place, item in enumerate(work) if item.pending]
        quiet = replace(run, report=Run().report)  # the progress in one batch
        done, total = 0, sum(len(item.pending) for item in work)
        groups = [self._group(work[place].question) for place in places]
        for (answer, others), place in zip(self._measure.similarities(groups, quiet), places):
            question, pending = work[place].question, work[place].pending
            for row, generation in enumerate(normal(question)):
                if generation in pending:
                    scores = float(answer[row]), None if others is None else float(others[row])
                    yield place, generation, dict(zip(self.fields, scores))
            done += len(pending)
            run.report(done, total)

    def _group(self, question: Question) -> _Group:
        texts = tuple(question.generation[place].text for place in normal(question))
        return _Group(question.question if self._question else "", question.answer, texts)


class _Group(NamedTuple):
    """An answer and generations, which are compared with it and with each other.

    The question is empty where the texts do not begin with it.
    """

    question: str
    answer: str
    texts: tuple[str, ...]


class _Lexical:
    """Cosines of embeddings that need no model."""

    #: Changed when the embeddings change.
    identity = f"character n-grams 2 {LENGTHS} {DIMENSIONS}"

    def similarities(self, groups: Sequence[_Group], run: Run) -> Iterator[_Similarities]:
        del run
        for chunk in _chunks(groups):
            texts = [_texts(group) for group in chunk]
            yield from _cosines(texts, _embedded(texts, embed))


class _Encoded:
    """Cosines of a sentence encoder's embeddings; each text is embedded once."""

    def __init__(self, model: str, revision: str | None) -> None:
        self._model = settings.names("model", model)[0]
        self._revision = revision if revision is None else settings.names("revision", revision)[0]

    @property
    def identity(self) -> str:
        return f"encoder {hub.identity(self._model, self._revision)}"

    def similarities(self, groups: Sequence[_Group], run: Run) -> Iterator[_Similarities]:
        from shroom.detectors.sentence_encoder import SentenceEncoder

        encoder = SentenceEncoder(self._model, self._revision, run.device)
        chunks = [[_texts(group) for group in chunk] for chunk in _chunks(groups)]
        last = {text: n for n, texts in enumerate(chunks) for row in texts for text in row}
        vectors: dict[str, NDArray[np.float64]] = {}
        for number, texts in enumerate(chunks):
            new = [[text for text in row if text not in vectors] for row in texts]
            vectors.update(_embedded(new, lambda distinct: encoder.embed(distinct, run)))
            yield from _cosines(texts, vectors)
            vectors = {text: vector for text, vector in vectors.items() if last[text] > number}


class _Detected:
    """1 - p(Hallucination) of a detector; a blank text supports nothing."""

    def __init__(self, name: str, model: str | None, revision: str | None) -> None:
        from shroom.detectors.registry import REGISTRY, detector

        options = {"model": model, "revision": revision}
        self._name = settings.one_of("detector", name, REGISTRY)
        self._detector = detector(
            name, **{k: value for k, value in options.items() if value is not None}
        )

    @property
    def identity(self) -> str:
        return f"detector {self._name} {self._detector.identity}"

    def similarities(self, groups: Sequence[_Group], run: Run) -> Iterator[_Similarities]:
        for chunk in _chunks(groups):
            pairs = [texts for group in chunk for texts in _pairs(group)]
            asked = [texts for texts in dict.fromkeys(pairs) if texts[0].strip()]
            p = self._detector.p([pair(*texts) for texts in asked], run)
            similarity_of = dict(zip(asked, (1 - p).tolist()))
            similar = iter([similarity_of.get(texts, 0.0) for texts in pairs])
            for group in chunk:
                n = len(group.texts)
                values = np.array([next(similar) for _ in range(n * n)]).reshape(n, n)
                others = values[:, 1:].sum(axis=1) / (n - 1) if n > 1 else None
                yield values[:, 0], others


_Measure = Union[_Lexical, _Encoded, _Detected]


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return a lexical unit vector of each text, without negative numbers: [n, ``DIMENSIONS``].

    There must be a text. Texts are similar that are written alike, whatever they mean. A piece of
    one to three characters that occurs c times weighs 1 + ln c. Case, width and other variants of
    a character (NFKC) do not matter; white space counts as one blank, also added before and
    after each text. Pieces are hashed to dimensions.

    Raises
    ------
    ShroomError
        Where scikit-learn is not installed.

    Examples
    --------
    >>> one, same, other = embed(["A cat.", "a  CAT.", "Dogs!"])
    >>> round(float(one @ same), 12), bool(one @ other < 0.2)
    (1.0, True)
    """
    vectors: NDArray[np.float64] = _vectorizer().fit_transform(texts).toarray()
    return vectors


@lru_cache(maxsize=1)
def _vectorizer() -> Any:
    """Return the counter of pieces and the scaler to unit vectors; neither is fitted."""
    require("annotate", "scikit-learn")
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline

    counts = HashingVectorizer(
        preprocessor=_folded,
        analyzer="char",
        ngram_range=LENGTHS,
        n_features=DIMENSIONS,
        alternate_sign=False,
        norm=None,
    )
    return make_pipeline(counts, TfidfTransformer(use_idf=False, sublinear_tf=True))


def _folded(text: str) -> str:
    return f" {' '.join(unicodedata.normalize('NFKC', plain(text)).casefold().split())} "


def _chunks(groups: Sequence[_Group]) -> Iterator[Sequence[_Group]]:
    for start in range(0, len(groups), CHUNK):
        yield groups[start : start + CHUNK]


def _texts(group: _Group) -> list[str]:
    """Return the answer and the generations, with the question before each."""
    texts = (group.answer, *group.texts)
    if not group.question:
        return list(texts)
    prefix = _PREFIX[language_of((group.question, *texts)) == CHINESE]
    return [prefix.format(group.question, text) for text in texts]


def _embedded(
    texts: Sequence[Sequence[str]], embed: Callable[[list[str]], NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """Return the embedding of each distinct text."""
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    return dict(zip(distinct, embed(distinct) if distinct else ()))


def _cosines(
    texts: Sequence[Sequence[str]], vectors_of: Mapping[str, NDArray[np.float64]]
) -> Iterator[_Similarities]:
    """Yield the cosines of groups of texts, the first of which is the answer."""
    for row in texts:
        vectors = np.stack([vectors_of[text] for text in row])
        answer, generations = vectors[0], vectors[1:]
        others = None
        if len(generations) > 1:
            total = generations.sum(axis=0)
            others = np.clip((generations @ total - 1) / (len(generations) - 1), -1, 1)
        yield np.clip(generations @ answer, -1, 1), others


def _pairs(group: _Group) -> Iterator[tuple[str, str]]:
    """Yield each generation's pairs: with the answer, then with each other generation."""
    before = f"{group.question}\n" if group.question else ""
    for row, text in enumerate(group.texts):
        others = group.texts[:row] + group.texts[row + 1 :]
        yield from ((before + premise, text) for premise in (group.answer, *others))
