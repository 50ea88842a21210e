"""The settings of judges in groups, each validated when a group is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.judge.cache import folder_of

MODES = ("chat", "completion")
SCORINGS = ("probability", "official")
#: Maximum number of answers that are sampled for one prompt.
MOST_SAMPLES = 100


def setting(default: Any, check: Callable[..., Any], *bounds: Any) -> Any:
    """Return a field of a group; its value becomes ``check(name, value, *bounds)``."""
    return field(default=default, metadata={"check": check, "bounds": bounds})


def _rule(_name: str, value: Any) -> Rule:
    return settings.rule(value)


def _cache(_name: str, value: Any) -> Any:
    folder_of(value)
    return value


@dataclass(frozen=True)
class Settings:
    """A group of settings. ``None`` is valid where it is the default."""

    def __post_init__(self) -> None:
        for attribute in fields(self):
            value = getattr(self, attribute.name)
            if value is not None or attribute.default is not None:
                value = attribute.metadata["check"](
                    attribute.name, value, *attribute.metadata["bounds"]
                )
                object.__setattr__(self, attribute.name, value)


@dataclass(frozen=True)
class PromptSettings(Settings):
    """Which model is asked, and for what.

    Attributes
    ----------
    model : str, optional
        Name of the model at the endpoint, or of a causal model on the hub or in a folder. Every
        judge needs one.
    revision : str, optional
        Revision of a model on the hub. With an endpoint, it only distinguishes cached answers.
    template : str, optional
        Name of a built-in template, a file, or a folder of files.
    mode : str, optional
        ``"chat"`` or ``"completion"``. The default is a chat, unless a model on this machine has
        no chat template.
    temperature : float, optional
        Sampling temperature of the endpoint's model.
    max_tokens : int, optional
        Maximum length of an answer.
    top_logprobs : int, optional
        Number of alternatives of a token that are requested.

    Examples
    --------
    >>> PromptSettings(model="any", max_tokens="8").max_tokens
    8
    >>> PromptSettings(temperature=3)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: temperature: expected a number from 0 to 2, got 3
    """

    model: str | None = setting(None, settings.text)
    revision: str | None = setting(None, settings.text)
    template: str | None = setting(None, settings.text)
    mode: str | None = setting(None, settings.one_of, MODES)
    temperature: float | None = setting(None, settings.number, 0, 2)
    max_tokens: int | None = setting(None, settings.integer, 1)
    top_logprobs: int | None = setting(None, settings.integer)

    def request(
        self,
        *,
        mode: str | None,
        temperature: float,
        max_tokens: int,
        top_logprobs: int | None,
        samples: int = 1,
    ) -> dict[str, Any]:
        """Return the fields of every request, with defaults for the settings that are not given.

        Without ``top_logprobs`` no log-probabilities are requested.

        Raises
        ------
        ShroomError
            If several samples at temperature 0 are requested.

        Examples
        --------
        >>> prompt = PromptSettings(model="any", temperature=0.5)
        >>> prompt.request(mode="chat", temperature=0.0, max_tokens=8, top_logprobs=None)
        {'model': 'any', 'temperature': 0.5, 'max_tokens': 8}
        """
        body = {
            "model": self.model,
            "temperature": temperature if self.temperature is None else self.temperature,
            "max_tokens": max_tokens if self.max_tokens is None else self.max_tokens,
        }
        if samples > 1 and not body["temperature"]:
            raise ShroomError("samples at temperature 0 are all alike; give a temperature above 0")
        if top_logprobs is None:
            return body
        top_logprobs = top_logprobs if self.top_logprobs is None else self.top_logprobs
        if mode == "completion":
            return {**body, "logprobs": top_logprobs}
        return {**body, "logprobs": True, "top_logprobs": top_logprobs}


@dataclass(frozen=True)
class EndpointSettings(Settings):
    """Where requests are sent, and how.

    Attributes
    ----------
    endpoint : str, optional
        URL of an OpenAI-compatible API, such as ``http://localhost:8080/v1``. Without one, the
        model runs on this machine.
    api_key_env : str
        Environment variable with the API key.
    concurrency : int
        Number of requests at the same time.
    retries : int
        Maximum number of retries of a request.
    per_minute : float, optional
        Maximum number of requests per minute.
    timeout : float
        Seconds to wait for the server.
    cache : path or bool, optional
        Folder of answers, by default ``shroom/judge`` in the user's cache. ``False`` keeps none.
    """

    endpoint: str | None = setting(None, settings.text)
    api_key_env: str = setting("OPENAI_API_KEY", settings.text)
    concurrency: int = setting(8, settings.integer, 1, 256)
    retries: int = setting(5, settings.integer, 0, 100)
    per_minute: float | None = setting(None, settings.number, 1e-3)
    timeout: float = setting(60.0, settings.number, 0.001, 86_400)
    cache: str | Path | bool | None = setting(None, _cache)  # noqa: RUF009 - a field

    @property
    def folder(self) -> Path | None:
        """The folder of answers, or ``None`` if none are kept."""
        return folder_of(self.cache)


@dataclass(frozen=True)
class BudgetSettings(Settings):
    """What the requests may cost.

    Attributes
    ----------
    price_in, price_out : float, optional
        Prices of a million input and output tokens.
    max_cost : float, optional
        Requests that might raise the total cost above this are not sent. Needs both prices.

    Examples
    --------
    >>> BudgetSettings(max_cost=1)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: max_cost needs price_in and price_out: the prices of a ...
    """

    price_in: float | None = setting(None, settings.number)
    price_out: float | None = setting(None, settings.number)
    max_cost: float | None = setting(None, settings.number)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cost is not None and not self.priced:
            raise ShroomError(
                "max_cost needs price_in and price_out: the prices of a million tokens"
            )

    @property
    def priced(self) -> bool:
        """Whether both prices are given."""
        return None not in (self.price_in, self.price_out)


@dataclass(frozen=True)
class ContextSettings(PromptSettings):
    """What the detector asks, and how it computes p(Hallucination) and the label.

    Attributes
    ----------
    shots : int
        Number of labelled examples before the question.
    examples : path, optional
        Labelled data that the examples are drawn from.
    multilingual : bool
        Whether the source of a translation may be the context.
    context_chars : int
        Maximum number of characters of a context.
    reference : str
        A value of :class:`shroom.core.datapoint.Rule`.
    scoring : str
        ``"probability"``, or ``"official"``: the baseline of the organisers, with its context (the
        source for PG, else the target), template, mode and arithmetic. It uses one context.
    samples : int
        If positive, p comes from so many sampled answers; at most 100.
    seed : int
        Seed of the examples, the samples, and the random labels of the official baseline.
    threshold : float
        The label is Hallucination where p is greater.
    """

    shots: int = setting(0, settings.integer)
    examples: Path | None = setting(None, settings.path)  # noqa: RUF009 - a field
    multilingual: bool = setting(default=False, check=settings.flag)
    context_chars: int = setting(20_000, settings.integer, 1)
    reference: Rule = setting(Rule.GIVEN, _rule)  # noqa: RUF009 - a field
    scoring: str = setting("probability", settings.one_of, SCORINGS)
    samples: int = setting(0, settings.integer, 0, MOST_SAMPLES)
    seed: int = setting(0, settings.integer)
    threshold: float = setting(0.5, settings.share)

    @property
    def official(self) -> bool:
        """Whether p is that of the organisers' baseline."""
        return self.scoring == "official"
