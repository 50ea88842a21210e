"""Requests to an OpenAI-compatible API through the ``openai`` library, with errors as sentences."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any, Callable
from urllib.parse import urlsplit

from shroom.core.extras import require
from shroom.core.problems import ShroomError, printable

Body = dict[str, Any]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Maximum number of characters of a server's message.
_LONGEST = 300
#: Statuses below 500 that the library retries.
_RETRIED = (408, 409, 429)


class Interrupted(BaseException):  # a subclass of Exception would be retried by the library
    """Raised if the run is being stopped, so that a request was not sent."""


@dataclass
class Endpoint:
    """Sends requests to one URL. Many threads may use it at once."""

    # The library retries timeouts, broken connections and the statuses 408, 409, 429 and 5xx, after
    # increasing waits or ``Retry-After``.

    base: str
    mode: str = "chat"
    key_env: str = "OPENAI_API_KEY"
    timeout: float = 60.0
    retries: int = 5
    per_minute: float | None = None

    def __post_init__(self) -> None:
        require("judge", "openai")
        self.base, self.chat = _base(self.base), self.mode == "chat"
        self._path = "/chat/completions" if self.chat else "/completions"
        self.url = self.base + self._path
        self.stopped = threading.Event()
        self._next, self._lock = 0.0, threading.Lock()
        self._omitted: dict[str, bool] = {}  # by the names of _REFUSED: whether the user knows

    def notes(self) -> list[str]:
        """Return a note for each field of requests that was rejected since the last call."""
        names = [name for name, noted in self._omitted.items() if not noted]
        self._omitted = dict.fromkeys(self._omitted, True)
        return [
            f"{self.url} does not accept {name}, so requests no longer include {name}"
            for name in names
        ]

    def ask(self, body: Body) -> Any:
        """Return the JSON response to a request; raise ``Interrupted`` if it was not sent."""
        import openai

        # A local server may need no key.
        headers = {} if self._key else {"Authorization": openai.omit}
        while True:
            sent = body
            for name in tuple(self._omitted):
                sent = _REFUSED[name][1](sent)
            try:
                content = self._client.post(
                    self._path, cast_to=bytes, body=sent, options={"headers": headers}
                )
                return json.loads(content)
            except openai.APIStatusError as error:
                message = _message(error)
                if not self._omit(sent, error.status_code, message):  # a key may be any word
                    raise ShroomError(self._refusal(error, self._clean(message))) from error
            except openai.APIConnectionError as error:
                raise ShroomError(self._unreached(error)) from error
            except Exception as error:  # malformed headers may cause any error in the library
                reason = self._clean(str(error)) or type(error).__name__
                raise ShroomError(f"{self.url}: invalid response ({reason})") from error

    @cached_property
    def _client(self) -> Any:
        import openai

        return openai.OpenAI(
            base_url=self.base,
            api_key=self._key or "none",
            timeout=self.timeout,
            max_retries=self.retries,
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,  # a redirect would send the key to another server
                trust_env=urlsplit(self.url).hostname not in _LOOPBACK,  # no proxy for this machine
                event_hooks={"request": [self._before_sending]},
            ),
        )

    def _before_sending(self, _request: object) -> None:
        """Wait for the next turn of the rate limit; called for retries too."""
        with self._lock:
            now = monotonic()
            turn = max(now, self._next)
            self._next = turn + (60 / self.per_minute if self.per_minute else 0)
        self.stopped.wait(turn - now)
        if self.stopped.is_set():
            raise Interrupted

    @cached_property
    def _key(self) -> str:
        key = os.environ.get(self.key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ShroomError(
                f"the environment variable {self.key_env} contains characters that are not "
                "allowed in an HTTP header; set it to a valid key"
            )
        return key

    def _clean(self, message: str) -> str:
        """Return a message on one line, cut, and without the key, which some servers repeat."""
        line = " ".join((message.replace(self._key, "***") if self._key else message).split())
        return printable(line if len(line) <= _LONGEST else line[:_LONGEST] + "…")

    def _unreached(self, error: Any) -> str:
        import openai

        reason = f"cannot be reached ({self._clean(str(error.__cause__ or error))})"
        if isinstance(error, openai.APITimeoutError):
            reason = f"no answer within {self.timeout:g} seconds"
        return (
            f"{self.url}: {reason}; check that the server is running and that the URL is right "
            "(usually, it ends in /v1)"
        )

    def _refusal(self, error: Any, message: str) -> str:
        code = error.status_code
        key = f"; set the environment variable {self.key_env} to your API key"
        name = "; check the name of the model, and that the URL ends in /v1"
        hint = {401: key, 403: key, 404: name}.get(code, "")
        if code in _RETRIED or code >= 500:
            hint = (
                "; the answers received so far are stored, so run "
                "again later, perhaps with a lower concurrency or a longer timeout"
            )
        return f"{self.url}: HTTP {code}: {message}{hint}"

    def _omit(self, sent: Body, code: int, message: str) -> bool:
        """Return whether the server may accept the request without one of its fields."""
        for name, (word, without) in _REFUSED.items() if code in (400, 422, 501) else ():
            if re.search(word, message[:_LONGEST], re.IGNORECASE) and without(sent) != sent:
                self._omitted.setdefault(name, False)
                return True
        return False


def _base(url: str) -> str:
    """Return the URL without the path of a kind of request."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and not ("@" in parts.netloc or parts.query)
    except ValueError:  # such as a port beyond 65535
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ShroomError(
            "endpoint: expected a URL such as http://localhost:8080/v1, without a key; put the key "
            "into an environment variable, and set api_key_env to the variable's name"
        )
    return re.sub("(/chat)?/completions$", "", url.rstrip("/"))


def _message(error: Any) -> str:
    """Return the error message in a response; each server has its own form."""
    message = error.body
    for key in ("detail", "message"):
        if isinstance(message, dict) and key in message:
            message = message[key]
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    return text or str(error.response.reason_phrase)


def _fewer(body: Body) -> Body:
    """Return a request for at most five alternatives of a token."""
    key = "top_logprobs" if body.get("logprobs") is True else "logprobs"
    return {**body, key: 5} if int(body.get(key, 0) or 0) > 5 else body


def _renamed(body: Body) -> Body:
    new = "max_completion_tokens"
    return {new if key == "max_tokens" else key: value for key, value in body.items()}


def _without(*names: str) -> Callable[[Body], Body]:
    return lambda body: {key: value for key, value in body.items() if key not in names}


#: Parts of requests that some servers refuse, in the order in which they are given up, by their
#: names in notes: a pattern of the error message, and what returns the request without the part.
#: Compatible APIs differ: some give at most five alternatives of a token, or no log-probabilities;
#: newer models of OpenAI need ``max_completion_tokens`` and accept no temperature.
_REFUSED = {
    "more than 5 log-probabilities": ("logprob", _fewer),
    "log-probabilities": ("logprob", _without("logprobs", "top_logprobs")),
    "max_tokens": ("max_(completion_)?tokens", _renamed),
    **{name: (name, _without(name)) for name in ("temperature", "repeat_penalty", "seed")},
}
