"""The detector's model behind an endpoint: p(Hallucination) of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.detectors.judge import answers
from shroom.detectors.judge.answers import Judgement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.detectors.judge.budget import Estimate
    from shroom.detectors.judge.prompts import Prompt
    from shroom.detectors.judge.responses import Reply
    from shroom.detectors.judge.service import Request, Service
    from shroom.detectors.judge.settings import ScoringSettings
    from shroom.inference.run_settings import Run

#: Version of :mod:`answers`: replies that were read by another version are requested again.
READING = 2


class Remote:
    """Computes p(Hallucination) of prompts by a model behind an endpoint.

    Parameters
    ----------
    service : Service
        The model.
    scoring : ScoringSettings
        How p is computed.
    """

    def __init__(self, service: Service, scoring: ScoringSettings) -> None:
        self.service, self.scoring = service, scoring

    @property
    def identity(self) -> str:
        """The model's name and revision; a server does not report its weights."""
        return "@".join(filter(None, (str(self.service.body["model"]), self.service.revision)))

    def judgements(self, prompts: Sequence[Prompt], run: Run) -> list[Judgement]:
        """Return the judgement on each prompt."""
        replies = self.service.replies(self._requests(prompts), run)
        self._note(replies, run)
        if samples := self.scoring.samples:
            starts = range(0, len(replies), samples)
            return [Judgement(answers.from_samples(replies[at : at + samples])) for at in starts]
        if self.scoring.official:
            return [Judgement(answers.official(r), answers.official_word(r.text)) for r in replies]
        return [Judgement(answers.from_reply(reply)) for reply in replies]

    def estimate(self, prompts: Sequence[Prompt]) -> Estimate:
        """Return the cost of the prompts, without sending them."""
        return self.service.estimate(self._requests(prompts))

    def _note(self, replies: Sequence[Reply], run: Run) -> None:
        """Note that the server gives no log-probabilities."""
        # An unfinished thought has no first token, whether or not the server gives probabilities.
        answered = [reply for reply in replies if answers.first_word(reply.text)]
        bare = answered and all(reply.first is None for reply in answered)
        if bare and not (self.scoring.samples or self.scoring.official):
            run.note(
                f"{self.service.endpoint.url} gives no log-probabilities, so p is 0 or 1, as "
                "answered; samples = 10 gives finer values for ten times the requests"
            )

    def _requests(self, prompts: Sequence[Prompt]) -> list[Request]:
        """Return the requests for prompts: one for each, or one for each sample of each."""
        if not self.scoring.samples:
            return [self.service.request(str(prompt)) for prompt in prompts]
        seeds = range(self.scoring.seed, self.scoring.seed + self.scoring.samples)
        return [self.service.request(str(p), seed=seed) for p in prompts for seed in seeds]
