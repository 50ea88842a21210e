"""Made-up questions with generations, and the scores that a scorer gives them."""

import random

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


def prompt_of(body):
    """Return the prompt of a request in chat form."""
    return body["messages"][0]["content"]


def scores_of(scorer, *questions, run=RUN):
    """Return the scores of each generation by its places, with all fields of the scorer."""
    found = results_of(scorer, *questions, run=run)
    assert all(tuple(scores) == scorer.fields for scores in found.values())
    return found


def results_of(scorer, *questions, run=RUN):
    """Return the scores or the failure of each generation by its places; an item comes once."""
    items = {
        (place, g): scorer.item(one, g)
        for place, one in enumerate(questions)
        for g in scorer.places(one)
    }
    distinct = list(dict.fromkeys(items.values()))
    found = list(scorer.score(distinct, run))
    assert sorted(map(repr, (item for item, _ in found))) == sorted(map(repr, distinct))
    scores_by = dict(found)
    return {key: scores_by[item] for key, item in items.items()}
