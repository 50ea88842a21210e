"""An OpenAI-compatible API: one request, with its retries and its refusals told in sentences."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shroom.core.problems import ShroomError, printable, show
from shroom.inference.endpoint.compatibility import CONCESSIONS
from shroom.inference.endpoint.rate_limit import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds: the first wait of a retry, its longest, and the longest that a server may ask for.
FIRST_WAIT, LONGEST_WAIT, MOST_PATIENCE = 0.5, 60.0, 600.0
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LARGEST = 1 << 24
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Interrupted(Exception):  # noqa: N818 - it names what has happened
    """The run is being stopped, so a request was not tried again."""


class Endpoint:
    """Sends requests to one URL. Many threads may use it at once.

    Parameters
    ----------
    url : str
        The base, such as ``http://localhost:8080/v1``.
    mode : str
        ``"chat"`` or ``"completion"``.
    key_env : str
        The environment variable that holds the key; where it is not set, none is sent.
    timeout : float
        Seconds that a server may be silent.
    retries : int
        How often a request is tried again after what may pass: 429, 5xx, a timeout, a reset.
    per_minute : float, optional
        The most requests in a minute, those that are tried again among them.
    shorter : str
        How the user makes a request shorter, told where a server refuses it as too long.
    pause : callable, optional
        Waits for so many seconds; by default until the run is stopped, at most.

    Raises
    ------
    ShroomError
        Where the URL is none.
    """

    def __init__(
        self,
        url: str,
        *,
        mode: str = "chat",
        key_env: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        retries: int = 5,
        per_minute: float | None = None,
        shorter: str = "lower context_chars",
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.url = _base(url) + ("/chat/completions" if mode == "chat" else "/completions")
        self.key_env, self.timeout, self.retries = key_env, timeout, retries
        self.shorter = shorter
        self.stopped = threading.Event()
        self._pause = pause or self.stopped.wait
        self._pace = Pace(per_minute)
        self._concessions: list[str] = []
        local = urlsplit(self.url).hostname in _LOOPBACK
        proxies = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)

    @property
    def concessions(self) -> tuple[str, ...]:
        """What the server did not take, so that it is asked without."""
        return tuple(self._concessions)

    def prompt(self, text: str) -> dict[str, Any]:
        """Return the part of a request that holds a prompt."""
        if self.url.endswith("/chat/completions"):
            return {"messages": [{"role": "user", "content": text}]}
        return {"prompt": text}

    def ask(self, body: dict[str, Any]) -> Any:
        """Return what the server answers to a request, as json has it.

        Raises
        ------
        ShroomError
            Where it refuses, or does not answer after all retries.
        Interrupted
            Where the run was stopped meanwhile.
        """
        failures = 0
        while True:
            sent = self._adapted(body)
            if wait := self._pace.wait():
                self._pause(wait)
                if self.stopped.is_set():
                    raise Interrupted
            try:
                return self._send(sent)
            except _Refused as refused:
                if not self._concede(sent, refused):
                    raise ShroomError(self._sentence(refused)) from refused
            except _MayPass as trouble:
                failures += 1
                if failures > self.retries:
                    raise ShroomError(
                        f"{self.url}: {trouble.what}; tried {failures} times; what is answered is "
                        "kept, so run again later, perhaps with a lower concurrency or a longer "
                        "timeout"
                    ) from trouble
                self._wait(failures, trouble)

    def _wait(self, failures: int, trouble: _MayPass) -> None:
        seconds = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1))
        if trouble.after is not None:
            seconds = max(seconds, trouble.after)
        if seconds > MOST_PATIENCE:
            raise ShroomError(
                f"{self.url}: {trouble.what}, and asks to wait for {seconds:.0f} seconds; what is "
                "answered is kept, so run again then"
            )
        self._pause(seconds)
        if self.stopped.is_set():
            raise Interrupted

    def _send(self, body: dict[str, Any]) -> Any:
        """Send one request once."""
        request = urllib.request.Request(  # noqa: S310 - http and https alone, see _base
            self.url, json.dumps(body).encode(), self._headers(), method="POST"
        )
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                content = response.read(_LARGEST)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except urllib.error.URLError as error:
            raise self._unreached(error.reason) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unreached(error) from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:  # the latter of brackets within each other
            found = show(content[:200].decode("utf-8", "replace"))
            raise _MayPass(f"sent something that is no JSON: {found}") from error

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "shroom-kit"}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _key(self) -> str:
        key = os.environ.get(self.key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ShroomError(
                f"the environment variable {self.key_env} holds something that is no key: it has "
                "characters that a header cannot have"
            )
        return key

    def _unreached(self, reason: object) -> Exception:
        if isinstance(reason, (TimeoutError, socket.timeout)):  # two things until Python 3.10
            return _MayPass(f"gave no answer within {self.timeout:g} seconds")
        broken = isinstance(reason, (ConnectionError, http.client.HTTPException))
        if broken and not isinstance(reason, ConnectionRefusedError):
            return _MayPass("closed the connection without an answer")
        return ShroomError(
            f"{self.url}: cannot be reached ({self._clean(str(reason))}); is the server started, "
            "and the endpoint right? It ends in /v1 as a rule"
        )

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        """Return what an HTTP error is: something that may pass, or a refusal."""
        try:
            content = error.read(_LARGEST)
        except (OSError, http.client.HTTPException):
            content = b""
        message = self._clean(_message(content) or error.reason)
        what = f"HTTP {error.code}: {message}"
        if error.code in _AGAIN:
            return _MayPass(what, _retry_after(error.headers.get("Retry-After")))
        return _Refused(what, error.code, message)

    def _clean(self, message: str) -> str:
        """Return a message on one line and without the key, which some servers repeat."""
        key = self._key()
        return printable(" ".join(message.replace(key, "***").split() if key else message.split()))

    def _sentence(self, refused: _Refused) -> str:
        hints = {
            401: f"; put the key into the environment variable {self.key_env}",
            403: f"; put the key into the environment variable {self.key_env}",
            404: "; check the model's name, and that the endpoint ends in /v1",
            413: f"; {self.shorter}",
        }
        return f"{self.url}: {refused.what}{hints.get(refused.code, '')}"

    def _adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        for name in self.concessions:
            body = CONCESSIONS[name].apply(body)
        return body

    def _concede(self, sent: dict[str, Any], refused: _Refused) -> bool:
        """Return whether the server may take the request once something is left out of it."""
        if refused.code not in (400, 422, 501):
            return False
        message = refused.message.lower()
        for name, concession in CONCESSIONS.items():
            if concession.word in message and concession.applies(sent):
                if name not in self._concessions:
                    self._concessions.append(name)
                return True
        return False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to whom it was not meant for."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _MayPass(Exception):  # noqa: N818 - it names what is the matter
    """Something that may be over when the request is sent again."""

    def __init__(self, what: str, after: float | None = None) -> None:
        super().__init__(what)
        self.what, self.after = what, after


class _Refused(Exception):  # noqa: N818 - it names what is the matter
    """The server does not take the request."""

    def __init__(self, what: str, code: int, message: str) -> None:
        super().__init__(what)
        self.what, self.code, self.message = what, code, message


def _base(url: str) -> str:
    """Return the URL without what belongs to one kind of request."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ShroomError(
            f"endpoint {show(url)}: is no URL of a server; it is like http://localhost:8080/v1"
        )
    if parts.username is not None or parts.password is not None or parts.query:
        raise ShroomError(
            f"endpoint of {parts.hostname}: a URL is no place for keys; put the key into an "
            "environment variable and name it in api_key_env"
        )
    base = url.rstrip("/")
    for ending in ("/chat/completions", "/completions"):
        base = base.removesuffix(ending)
    return base


def _message(content: bytes) -> str:
    """Return what a server says of an error: each has its own form."""
    text = content.decode("utf-8", "replace")
    try:
        found = json.loads(text)
        for key in ("error", "detail", "message"):
            if isinstance(found, dict) and key in found:
                found = found[key]
        text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    except (ValueError, RecursionError):
        pass
    return text if len(text) <= 300 else text[:300] + "…"


def _retry_after(value: str | None) -> float | None:
    """Return the seconds that a server asks to wait, given as a number or as a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError, OverflowError):  # no date, or an absurd year or zone
        return None
