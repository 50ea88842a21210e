"""The training examples of a stage of ``corpora.toml``: pairs of texts with p(Hallucination)."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.paths import data_folder
from shroom.detectors.cross_encoder.fitting import Example
from shroom.scoring.datapoint_files import read_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: p(Hallucination) of the labels in corpora: not quite 0 and 1, since annotators err.
LABELS = {
    "entailment": 0.03,
    "paraphrase": 0.03,
    "not_hallucination": 0.03,
    "neutral": 0.9,
    "not_entailment": 0.95,
    "contradiction": 0.97,
    "hallucination": 0.97,
}


@dataclass(frozen=True)
class Corpus:
    """A file of labelled pairs, and how to read it.

    Attributes
    ----------
    file : str
        Path below the data folder, or else from the current one: ``.jsonl`` or ``.csv``, perhaps
        gzipped.
    task : str
        The most similar task of SHROOM.
    n : int
        Maximum number of pairs, drawn at random.
    only, without : sequence of str
        Rows are used whose ``task`` begins with one of ``only`` and with none of ``without``.
    premise, hypothesis : str
        The columns of the texts.
    labels : mapping
        p(Hallucination) by label, overriding ``LABELS``.
    score : str
        The column of a score; p is linear in it, 1 at ``one_at`` and 0 at ``zero_at``.
    p : float or None
        p of every row, instead of that of its label.
    headword : float
        Share of rows of the form ``word: gloss`` that keep the word.
    swap : float
        Share of rows whose premise and hypothesis are swapped.
    rare : mapping
        Columns and values such as ``{"hter": 0}``; rows with them are kept with probability 0.15.
    below : mapping
        Rows are used whose column is below a value.
    longest : int
        Maximum number of characters of premise and hypothesis together: long pairs are expensive,
        and SHROOM's are short.
    licence : str
        As stated by the source.
    """

    file: str
    task: str
    n: int
    only: Sequence[str] = ("",)
    without: Sequence[str] = ()
    premise: str = "premise"
    hypothesis: str = "hypothesis"
    labels: Mapping[str, float] = field(default_factory=dict)
    score: str = ""
    zero_at: float = 1.0
    one_at: float = 0.0
    p: float | None = None
    headword: float = 1.0
    swap: float = 0.0
    rare: Mapping[str, float] = field(default_factory=dict)
    below: Mapping[str, float] = field(default_factory=dict)
    longest: int = 330
    licence: str = ""

    def examples(self, seed: int, leave_out: set[str]) -> list[Example]:
        """Return examples in random order, without those that have a text of ``leave_out``."""
        chance = random.Random(f"{seed} {self.file} {tuple(self.only)}")  # noqa: S311 - an order
        below = data_folder() / self.file
        rows = [
            row
            for row in rows_of(below if below.is_file() else Path(self.file))
            if self._counts(row, chance)
        ]
        chance.shuffle(rows)
        examples: dict[tuple[str, str], Example] = {}
        for row in rows:
            if len(examples) == self.n:
                break
            ref, hyp = self._texts(row, chance)
            fits = ref and hyp and len(ref) + len(hyp) <= self.longest
            if fits and not leave_out & {normalised(ref), normalised(hyp)}:
                examples.setdefault((ref, hyp), Example(self.task, ref, hyp, self._p(row)))
        return list(examples.values())

    def _counts(self, row: Mapping[str, Any], chance: random.Random) -> bool:
        task = str(row.get("task", ""))
        named = task.startswith(tuple(self.only)) and not task.startswith(tuple(self.without))
        low = all(float(row.get(key, 0)) < limit for key, limit in self.below.items())
        rare = any(row.get(key, None) == value for key, value in self.rare.items())
        return named and low and (not rare or chance.random() < 0.15)

    def _texts(self, row: Mapping[str, Any], chance: random.Random) -> tuple[str, str]:
        texts = [str(row[self.premise]).strip(), str(row[self.hypothesis]).strip()]
        if chance.random() >= self.headword:
            texts = [text.split(": ", 1)[-1] for text in texts]
        if chance.random() < self.swap:
            texts.reverse()
        return texts[0], texts[1]

    def _p(self, row: Mapping[str, Any]) -> float:
        if self.p is not None:
            return self.p
        if self.score:
            p = (self.zero_at - float(row[self.score])) / (self.zero_at - self.one_at)
            return min(max(p, 0.02), 0.98)
        return {**LABELS, **self.labels}[str(row["label"])]


def stage_examples(stage: Mapping[str, Any], seed: int) -> list[Example]:
    """Return the examples of all corpora of a stage in random order, at most its ``n``."""
    leave_out = texts_of_the_task()
    corpora = [Corpus(**table) for table in stage["corpora"]]
    examples = [example for corpus in corpora for example in corpus.examples(seed, leave_out)]
    random.Random(seed).shuffle(examples)  # noqa: S311 - an order, not a secret
    return examples[: stage["n"]]


def texts_of_the_task() -> set[str]:
    """Return all texts of trial, val and test, which no corpus may reveal."""
    folder = data_folder() / "semeval2024"
    if not folder.is_dir():  # nobody can evaluate the model on it either
        return set()
    files = read_files(
        folder, choose=lambda files: [file for file in files if "train" not in file.base]
    )
    texts = {
        normalised(text)
        for file in files
        for point in file.datapoints
        for text in (point.src, point.tgt, point.hyp)
    }
    # Short ones are common phrases, which reveal nothing.
    return {text for text in texts if text.count(" ") >= 3}


def normalised(text: str) -> str:
    """Return the words of a text in lower case, for comparisons that ignore punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a corpus' file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        if path.name.removesuffix(".gz").endswith(".csv"):
            yield from csv.DictReader(stream)
        else:
            yield from map(json.loads, stream)
