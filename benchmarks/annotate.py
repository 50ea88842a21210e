"""Speed of the scorers unigram and similarity beside scoring one text at a time.

200 questions with ten generations each: the Dreamcatcher data where they are at hand, else put
together from the texts of the sample. All is in one process, after start-up: what is loaded once
(jieba's dictionary, an encoder) is not counted. The peers call jieba and the embedding for one
text. "A generation at a time" is a function of a question and the place of a generation, which
reads every text that its scores depend on; "a question at a time" goes as the source's program
does, which shares what it can between the generations of a question. Ratios are of processor
time, which other work on the machine hardly touches.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

# Idle threads of numpy's BLAS would count as processor time; it reads this when it is imported.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from common import Beside, progress, save, show

from shroom.annotate import words as chinese
from shroom.annotate.base import normal
from shroom.annotate.run_scorers import score
from shroom.annotate.scorers.similarity import Similarity, embed
from shroom.annotate.scorers.unigram import Unigram, least_average, overlap, surprises
from shroom.annotate.words import CHINESE, LANGUAGES, language, language_of
from shroom.datasets.dreamcatcher import reader as dreamcatcher
from shroom.datasets.dreamcatcher.records import Generation, Question
from shroom.inference.run_settings import RUN
from shroom.scoring import datapoint_files
from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

ROOT = Path(__file__).parent.parent
PREFIX = {CHINESE: "问题：{}\n回答：{}"}
OTHERS_PREFIX = "Question: {}\nAnswer: {}"
FIELDS = (Unigram.fields[0], Unigram.fields[2], *Similarity.fields)
#: How far scores may differ: an encoder's batches change the last digits of single precision.
TOLERANCE, ENCODERS_TOLERANCE = 1e-12, 1e-5
Embed = Any


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="(default 3)")
    parser.add_argument("--encoder", help="a sentence encoder's folder, to be measured as well")
    parser.add_argument("--questions", type=int, default=20, help="for the encoder (default 20)")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    questions = _questions()
    figures = [_measured("no model", questions, Similarity(), embed, options.rounds)]
    if options.encoder:
        from shroom.detectors.sentence_encoder import SentenceEncoder

        encoder = SentenceEncoder(options.encoder)
        figures.append(
            _measured(
                Path(options.encoder).name,
                questions[: options.questions],
                Similarity(options.encoder),
                lambda texts: encoder.embed(texts, RUN),
                1,
            )
        )
    rows: list[tuple[str, ...] | None] = [
        ("", "questions", "scored", "seconds", "cpu s", "it / kit"),
        None,
    ]
    for found in figures:
        for name, seconds in found["seconds"].items():
            ratio = "" if name == "kit" else f"{found['ratios'][name]:.1f}"
            counts = str(found["questions"]), str(found["scored"])
            rows.append(
                (
                    f"{found['embedding']}: {name}",
                    *counts,
                    f"{seconds:.2f}",
                    f"{found['cpu'][name]:.2f}",
                    ratio,
                )
            )
    show(align(rows))
    for found in figures:
        show([f"{found['embedding']}: scores differ by at most {found['difference']:.1g}"])
    save(options.json, {"rows": figures}, _beside(figures))
    return 0 if all(found["same"] for found in figures) else 1


def _measured(
    name: str, questions: list[Question], similarity: Similarity, embed: Embed, rounds: int
) -> dict[str, Any]:
    """Return the medians of times and ratios of ways that run in turn, and how far they agree."""
    ways: dict[str, Callable[[], list[list[float | None]]]] = {
        "kit": lambda: _by_kit(questions, similarity),
        "a generation at a time": lambda: _by_generations(questions, embed),
        "a question at a time": lambda: _by_questions(questions, embed),
    }
    score(questions[:2], [Unigram(), similarity])
    _jieba()
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    tables = {}
    for number in range(rounds):
        for way, run in ways.items():
            progress(f"{name}, round {number + 1} of {rounds}: {way}")
            chinese.cut.cache_clear()  # what a round before has cut
            start, cpu = time.perf_counter(), time.process_time()
            tables[way] = np.array(run(), np.float64)
            times[way].append((time.perf_counter() - start, time.process_time() - cpu))
    apart = max(float(np.nanmax(np.abs(tables["kit"] - tables[way]))) for way in ways)
    ratios = {
        way: median(b / a for (_, a), (_, b) in zip(times["kit"], times[way])) for way in ways
    }
    return {
        "embedding": name,
        "questions": len(questions),
        "scored": len(tables["kit"]),
        "seconds": {way: median(one for one, _ in found) for way, found in times.items()},
        "cpu": {way: median(one for _, one in found) for way, found in times.items()},
        "ratios": ratios,
        "difference": apart,
        "same": apart <= (TOLERANCE if embed is embed else ENCODERS_TOLERANCE),
    }


def _beside(figures: list[dict[str, Any]]) -> Iterator[Beside]:
    for found in figures:
        work = f"scoring {found['scored']} generations, {found['embedding']}"
        ours, *peers = found["cpu"].items()
        for name, seconds in peers:
            yield Beside(work, name, ours[1], seconds, found["ratios"][name], "cpu s")


def _by_kit(questions: list[Question], similarity: Similarity) -> list[list[float | None]]:
    made = score(questions, [Unigram(), similarity]).questions
    answers = [one.generation[place] for one in made for place in normal(one)]
    return [[getattr(each, field) for field in FIELDS] for each in answers]


def _by_generations(questions: list[Question], embed: Embed) -> list[list[float | None]]:
    """Score each generation as if it were the only one that is to be scored."""
    return [_scores(one, [place], embed)[0] for one in questions for place in normal(one)]


def _by_questions(questions: list[Question], embed: Embed) -> list[list[float | None]]:
    return [row for one in questions for row in _scores(one, list(normal(one)), embed)]


def _scores(question: Question, places: list[int], embed: Embed) -> list[list[float | None]]:
    """Return the scores of some generations of a question, one text after another."""
    texts = [question.answer, *(each.text for each in question.generation)]
    name = language_of([question.question, *texts])
    keywords = [_keywords(name, text, 20) for text in texts]
    count = Counter(keyword for each in keywords for keyword in each)
    places = normal(question)
    prefix = PREFIX.get(name, OTHERS_PREFIX)
    compared = [question.answer, *(question.generation[place].text for place in places)]
    answer, *vectors = [embed([prefix.format(question.question, text)])[0] for text in compared]
    rows: list[list[float | None]] = []
    for place in places:
        vector = vectors[places.index(place)]
        others = None
        if len(places) > 1:
            others = (sum(float(vector @ other) for other in vectors) - 1) / (len(places) - 1)
        average = least_average(surprises(keywords[place + 1], count), 5)
        share = overlap(_tokens(name, question.answer), _known(name, texts[place + 1]))
        rows.append([share, average, float(vector @ answer), others])
    return rows


WAYS = {name: language(name) for name in LANGUAGES}


def _tokens(name: str, text: str) -> list[str]:
    return list(_jieba().cut(text)) if name == CHINESE else WAYS[name].words(text).tokens


def _known(name: str, text: str) -> Collection[str]:
    return _keywords(name, text, 100) if name == CHINESE else WAYS[name].words(text).vocabulary


def _keywords(name: str, text: str, most: int) -> list[str]:
    if name == CHINESE:
        found: list[str] = _jieba().analyse.extract_tags(text, topK=most)
        return found
    return WAYS[name].words(text).keywords


@lru_cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.analyse

        jieba.initialize()
    return jieba


def _questions() -> list[Question]:
    real = Path(os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data")
    path = real / "dreamcatcher" / "test_generated.jsonl"
    if path.is_file():
        return [one for one in dreamcatcher.read(path).records if isinstance(one, Question)]
    points = datapoint_files.read(ROOT / "shroom" / "sample")
    sentences = [
        Generation(point.hyp, ("normal", "uncertainty")[n % 2]) for n, point in enumerate(points)
    ]
    return [
        Question(
            points[n % len(points)].src,
            points[n % len(points)].tgt or points[n % len(points)].src,
            None,
            tuple(sentences[(7 * n + row) % len(sentences)] for row in range(10)),
        )
        for n in range(200)
    ]


if __name__ == "__main__":
    sys.exit(main())
