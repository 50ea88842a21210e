"""Made-up questions with generations, and the scores that a scorer gives them."""

from __future__ import annotations

import random

from shroom.annotate.base import Work
from shroom.datasets.dreamcatcher import Generation, Question
from shroom.inference.run_settings import RUN

TYPES = ("normal", "normal", "uncertainty", None)


def random_questions(n, words, seed=0, *, joint=" ", longest=12, most=6):
    draw = random.Random(seed)  # noqa: S311 - no secret

    def text():
        return joint.join(draw.choices(words, k=draw.randint(1, longest)))

    def generations():
        return tuple(Generation(text(), draw.choice(TYPES)) for _ in range(draw.randint(1, most)))

    return [Question(text(), text(), None, generations()) for _ in range(n)]


def asked(answer, *said, question="?"):
    return Question(question, answer, None, tuple(Generation(text, "normal") for text in said))


def scores_of(scorer, *questions, run=RUN):
    """Return the scores of each generation by its places; every wanted one comes once."""
    work = [Work(one, scorer.places(one)) for one in questions]
    found = [((place, g), scores) for place, g, scores in scorer.score(work, run)]
    assert sorted(key for key, _ in found) == [
        (p, g) for p, w in enumerate(work) for g in w.pending
    ]
    assert all(tuple(scores) == scorer.fields for _, scores in found)
    return dict(found)
