"""A model behind an endpoint: its requests, their answers, and what should be told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.detectors.judge import answers
from shroom.detectors.judge.answers import Verdict
from shroom.detectors.judge.asking import Question, ask, estimate
from shroom.detectors.judge.cache import Cache, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shroom.detectors.judge.answers import Reply
    from shroom.detectors.judge.budget import Budget, Estimate
    from shroom.detectors.judge.prompting import Prompt
    from shroom.inference.endpoint.client import Endpoint
    from shroom.inference.run import Run

#: How answers are read, by number: what was read otherwise, and kept, is asked for again.
READING = 2


class Remote:
    """Asks an endpoint about prompts.

    Parameters
    ----------
    endpoint : Endpoint
        Where requests go.
    body : dict
        What all requests have in common, the model's name among it.
    version : str or None
        What else tells cached answers apart.
    samples, seed : int
        How many answers are sampled of each prompt, if any, and the first one's seed.
    official : bool
        Whether p is that of the organisers' baseline.
    budget : Budget
        What all requests may cost.
    folder : path or None
        Where answers are kept.
    concurrency : int
        Requests at once.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        body: dict[str, Any],
        *,
        version: str | None,
        samples: int,
        seed: int,
        official: bool,
        budget: Budget,
        folder: Path | None,
        concurrency: int,
    ) -> None:
        self.endpoint, self.body, self.version = endpoint, body, version
        self.samples, self.seed, self.official = samples, seed, official
        self.budget, self.folder, self.concurrency = budget, folder, concurrency

    @property
    def identity(self) -> str:
        """What tells the model from others, as far as a server tells."""
        return "@".join(filter(None, (str(self.body["model"]), self.version)))

    def verdicts(self, prompts: Sequence[Prompt], run: Run) -> list[Verdict]:
        """Return the verdict on each prompt."""
        before = len(self.endpoint.concessions)
        replies = ask(
            self._questions(prompts),
            self.endpoint,
            self._cache(),
            self.budget,
            concurrency=self.concurrency,
            run=run,
        )
        self._tell(replies, before, run)
        if self.samples:
            starts = range(0, len(replies), self.samples)
            return [
                Verdict(answers.from_samples(replies[start : start + self.samples]))
                for start in starts
            ]
        if self.official:
            return [Verdict(answers.official(r), answers.official_word(r.text)) for r in replies]
        return [Verdict(answers.from_reply(reply)) for reply in replies]

    def estimate(self, prompts: Sequence[Prompt]) -> Estimate:
        """Return what asking about the prompts would take."""
        return estimate(self._questions(prompts), self._cache(), self.budget)

    def _tell(self, replies: Sequence[Reply], before: int, run: Run) -> None:
        url = self.endpoint.url
        for refused in self.endpoint.concessions[before:]:
            if "log-probabilities" in self.endpoint.concessions and "log-prob" in refused:
                continue  # what follows says it
            run.note(f"{url} does not take {refused}: it was asked without")
        # A thought without end leaves no first token, whatever the server gives.
        answered = [reply for reply in replies if answers.said(reply.text)]
        bare = answered and all(reply.first is None for reply in answered)
        if bare and not (self.samples or self.official):
            run.note(
                f"{url} gives no log-probabilities, so p is 0 or 1, as answered; samples = 10 "
                "gives finer values for ten times the requests"
            )

    def _questions(self, prompts: Sequence[Prompt]) -> list[Question]:
        """Return the requests for prompts: one for each, or one for each sample of each."""
        questions = []
        for prompt in map(str, prompts):
            asked = self.endpoint.prompt(prompt)
            for sample in range(max(1, self.samples)):
                seed = {"seed": self.seed + sample} if self.samples else {}
                body = {**self.body, **asked, **seed}
                key = key_of(READING, self.endpoint.url, self.version, body)
                questions.append(Question(key, prompt, body))
        return questions

    def _cache(self) -> Cache:
        return Cache(self.folder, f"{self.endpoint.url} {self.body['model']}")
