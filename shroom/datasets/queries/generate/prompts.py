"""Prompts for one more debate question, each with its own sample of examples."""

from __future__ import annotations

import hashlib
import json
import random
from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterable

TEMPLATE = """\
Here are questions for debate, one on each line:

{examples}

Write one more question for debate, about another matter than any of these.
It has the word "should" and ends with a question mark.
Answer with the question alone, on one line."""


class Prompts:
    r"""The prompt of each call.

    Parameters
    ----------
    seeds : iterable of str
        The texts that examples are drawn from, without repetitions.
    examples : int
        Number of examples in a prompt.
    seed : int
        Seed of the draws, together with the number of the call.

    Raises
    ------
    ShroomError
        If there are fewer distinct seeds than examples.

    Examples
    --------
    >>> prompts = Prompts(["Should zoos close?", "Should art be free?"], examples=1, seed=0)
    >>> print(prompts.of(0).split("\n")[2])
    Should art be free?
    """

    def __init__(self, seeds: Iterable[str], *, examples: int, seed: int) -> None:
        # A line break in a seed would split it into two examples.
        self.seeds = list(dict.fromkeys(" ".join(text.split()) for text in seeds))
        self.examples, self.seed = examples, seed
        if len(self.seeds) < examples:
            raise ShroomError(
                f"the seeds are {len(self.seeds)} distinct queries, and a prompt has {examples} "
                "examples; give fewer --examples, or more seeds"
            )

    @property
    def digest(self) -> str:
        """Digest of the template and the seeds."""
        content = json.dumps([TEMPLATE, self.seeds])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def of(self, call: int) -> str:
        """Return the prompt of a call, which does not depend on other calls."""
        # A string as seed gives the same draw in every version of Python.
        draw = random.Random(f"{self.seed} {call}")  # noqa: S311 - no secret
        return TEMPLATE.format(examples="\n".join(draw.sample(self.seeds, self.examples)))
