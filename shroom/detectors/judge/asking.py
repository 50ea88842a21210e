"""The settings of detectors that ask a language model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from shroom.core.paths import cache_folder
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.settings import Count, Positive, Text, convert_fields
from shroom.inference.language_model.endpoint import Endpoint
from shroom.inference.language_model.local import Local
from shroom.inference.language_model.model import Sampling
from shroom.inference.language_model.served import Budget, Served

#: Maximum number of answers that are sampled for one prompt.
MOST_SAMPLES = 100


@dataclass(eq=False, repr=False, kw_only=True)
class Asking:
    """Base class of detectors that ask a language model.

    Parameters
    ----------
    model : str
        The name of a model at the endpoint, or a causal model on the hub or in a folder.
    revision : str, optional
        Revision of a model on the hub. With an endpoint, it only distinguishes cached answers.
    template : str, optional
        Name of a built-in template, a file, or a folder of files.
    mode : str, optional
        ``"chat"`` or ``"completion"``. The default is ``"chat"``. For a model on this machine
        without a chat template, it is ``"completion"``.
    temperature : float, optional
        Sampling temperature.
    max_tokens : int, optional
        Maximum length of an answer.
    endpoint : str, optional
        URL of an OpenAI-compatible API, such as ``http://localhost:8080/v1``. Without one, the
        model runs on this machine.
    api_key_env : str
        Environment variable with the API key.
    concurrency : int
        Number of concurrent requests.
    retries : int
        Maximum number of retries of a request.
    per_minute : float, optional
        Maximum number of requests per minute.
    timeout : float
        Seconds to wait for the server.
    cache : path or bool, optional
        The folder that stores answers, by default ``shroom/judge`` in the user's cache. With
        ``False``, no answers are stored.
    price_in, price_out : float, optional
        The price of a million input tokens, and of a million output tokens.
    max_cost : float, optional
        Maximum total cost, which requires both prices. Requests that might exceed it are not sent.

    Raises
    ------
    ShroomError
        If there is no model, a value is invalid, or settings contradict each other.
    """

    #: The message if there is no model.
    needs_model: ClassVar[str]

    model: Text | None = None
    revision: Text | None = None
    template: Text | None = None
    mode: Literal["chat", "completion"] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Count | None = None
    endpoint: Text | None = None
    api_key_env: Text = "OPENAI_API_KEY"
    concurrency: Annotated[int, Meta(ge=1, le=256)] = 8
    retries: Annotated[int, Meta(ge=0, le=100)] = 5
    per_minute: Annotated[float, Meta(ge=1e-3, le=sys.float_info.max)] | None = None
    timeout: Annotated[float, Meta(ge=0.001, le=86_400)] = 60.0
    cache: Annotated[str | bool, Meta(title="a folder, or true or false")] | None = None
    price_in: Positive | None = None
    price_out: Positive | None = None
    max_cost: Positive | None = None

    def __post_init__(self) -> None:
        convert_fields(self)
        if self.model is None:
            raise ShroomError(self.needs_model)
        self.budget = Budget(self.price_in, self.price_out, self.max_cost)
        if self.max_cost is not None and None in (self.price_in, self.price_out):
            raise ShroomError(
                "max_cost needs price_in and price_out, the prices per million tokens"
            )

    @property
    def folder(self) -> Path | None:
        """The folder of answers, or ``None`` if answers are not stored."""
        name = "true" if self.cache is None else str(self.cache)
        if name.lower() == "false":
            return None
        return cache_folder("judge") if name.lower() == "true" else Path(name).expanduser()

    def sampling(
        self, temperature: float, max_tokens: int, samples: int = 1, seed: int = 0, **more: Any
    ) -> Sampling:
        """Return how answers are sampled, with defaults for unset settings."""
        temperature = temperature if self.temperature is None else self.temperature
        if samples > 1 and not temperature:
            raise ShroomError("samples at temperature 0 are identical; set a temperature above 0")
        return Sampling(temperature, self.max_tokens or max_tokens, seed=seed, **more)

    def asked(
        self, sampling: Sampling, mode: str | None = None, *, words: Sequence[str] = (), **more: Any
    ) -> Local | Served:
        """Return the model: ``Served`` if there is an endpoint, otherwise ``Local``."""
        name, mode = str(self.model), mode or self.mode
        if self.endpoint is None:
            return Local(name, self.revision, mode, sampling, words)
        limits = self.timeout, self.retries, self.per_minute
        endpoint = Endpoint(self.endpoint, mode or "chat", self.api_key_env, *limits)
        served = name, self.revision, endpoint, sampling, self.budget, self.folder
        return Served(*served, self.concurrency, **more)


def longer_answers(unfinished: Sequence[bool]) -> str:
    """Return advice for answers without a verdict, if ``max_tokens`` cut off some of them."""
    answers = counted(sum(unfinished), "answer")
    return f"; increase max_tokens, because it cut off {answers}" if any(unfinished) else ""
