"""Corpora to learn from: labelled sentence pairs in files, as examples.

A table of the recipe states what a corpus is, which of its rows count and what their labels mean
(see ``baselines/training/``), so that what a model has learnt from can be read in one place.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import Task
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.training import Example
from shroom.detectors.recipe import from_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

#: p(Hallucination) of the labels that corpora use: a little short of certain, since people err.
LABELS = {
    "entailment": 0.03,
    "paraphrase": 0.03,
    "not_hallucination": 0.03,
    "neutral": 0.9,
    "not_entailment": 0.95,
    "contradiction": 0.97,
    "hallucination": 0.97,
}
#: Pairs of more characters are left out: they cost much, and SHROOM's are short.
MAX_CHARACTERS = 330


@dataclass(frozen=True)
class Corpus:
    """A file of labelled pairs, and how to read it.

    Attributes
    ----------
    file : str
        Its path below the data folder: ``.jsonl``, ``.csv``, either of them gzipped.
    task : str
        The task of SHROOM that its pairs are most like.
    n : int
        The most pairs that are taken, drawn at random.
    only, without : tuple of str
        Rows count whose ``task`` begins with one of ``only`` and with none of ``without``.
    premise, hypothesis : str
        The columns of the texts.
    labels : mapping
        p(Hallucination) by label, over ``LABELS``.
    score : str
        The column of a score; p falls in a line from 1 at ``one_at`` to 0 at ``zero_at``.
    p : float or None
        p of every row, instead of its label.
    headword : float
        The share of rows of ``word: gloss`` that keep the word.
    swap : float
        The share of rows whose premise and hypothesis change places.
    rare : mapping
        For a column and value as ``{"hter": 0}``, rows that have it are kept with a chance of 15%.
    below : mapping
        Rows count whose column is below a value.
    licence : str
        As its source states it; the model's card lists it.
    """

    file: str
    task: str
    n: int
    only: tuple[str, ...] = ("",)
    without: tuple[str, ...] = ()
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
    licence: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Corpus:
        """Return the corpus that a table of a recipe describes.

        Raises
        ------
        ShroomError
            If a key is unknown, one is missing, or the task is not one of SHROOM's.
        """
        return from_table(cls, table, "corpus")

    def __post_init__(self) -> None:
        Task(self.task)

    def examples(self, folder: Path, seed: int, leave_out: set[str]) -> list[Example]:
        """Return examples in random order, without those that have a text of ``leave_out``."""
        chance = random.Random(f"{seed} {self.file} {self.only}")  # noqa: S311 - an order
        rows = [row for row in _rows(folder / self.file) if self._counts(row, chance)]
        chance.shuffle(rows)
        found: dict[tuple[str, str], Example] = {}
        for row in rows:
            if len(found) == self.n:
                break
            ref, hyp = self._texts(row, chance)
            fits = ref and hyp and len(ref) + len(hyp) <= MAX_CHARACTERS
            if fits and not leave_out & {normalised(ref), normalised(hyp)}:
                found.setdefault((ref, hyp), Example(self.task, ref, hyp, self._p(row)))
        return list(found.values())

    def _counts(self, row: Mapping[str, Any], chance: random.Random) -> bool:
        task = str(row.get("task", ""))
        named = task.startswith(self.only) and not task.startswith(self.without or "\0")
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
        label = str(row["label"])
        known = {**LABELS, **self.labels}
        if label not in known:
            raise ShroomError(
                f"{self.file}: the label {label!r} has no p; say it in the corpus' labels"
            )
        return known[label]


def mixture(
    corpora: Iterable[Corpus], folder: Path, seed: int, leave_out: set[str]
) -> list[Example]:
    """Return the examples of several corpora, in random order."""
    found = [x for corpus in corpora for x in corpus.examples(folder, seed, leave_out)]
    random.Random(seed).shuffle(found)  # noqa: S311 - an order, not a secret
    return found


def normalised(text: str) -> str:
    """Return a text's words in lower case, to know it again whatever its punctuation.

    Examples
    --------
    >>> normalised("It's  A cat!")
    'it s a cat'
    """
    return " ".join(re.findall(r"\w+", text.lower()))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise ShroomError(f"{path}: a corpus that the recipe names is not there")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        if path.name.removesuffix(".gz").endswith(".csv"):
            yield from csv.DictReader(stream)
        else:
            yield from map(json.loads, stream)
