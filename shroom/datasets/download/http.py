"""Bringing what a URL gives into an open file, and going on where it broke off before."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Callable
from urllib.parse import urlsplit

from shroom.core.append_only import append
from shroom.core.problems import ShroomError, printable, show
from shroom.datasets.download import partial_file as parts

if TYPE_CHECKING:
    from io import FileIO

    #: Told the number of bytes that are there, that of all of them, and where they are from.
    Report = Callable[[int, int, str], None]

#: Seconds that a server may be silent, unless another time is given.
TIMEOUT = 30.0
#: What a file of unknown size may have at most.
MOST_BYTES = 1 << 30
#: How often one server is asked to go on, as long as each time something more has come.
ATTEMPTS = 4
_AT_ONCE = 1 << 16
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class NotBrought(Exception):  # noqa: N818 - it names what has happened
    """A URL did not give its file; ``reached`` tells whether a server answered at all."""

    def __init__(self, what: str, *, reached: bool = True) -> None:
        super().__init__(what)
        self.reached = reached


class _BrokeOff(NotBrought):
    """The beginning came, the rest did not; what came is kept."""


def bring(url: str, part: FileIO, *, size: int | None, timeout: float, report: Report) -> None:
    """Complete a file that holds nothing yet, or the beginning of what a URL gives.

    Only what is missing is asked for; a server that gives all of it all the same starts it anew.
    Redirects are followed.

    Parameters
    ----------
    url : str
        Of http or https.
    part : FileIO
        Open for reading and writing.
    size : int or None
        In bytes, where it is known.
    timeout : float
        Seconds that a server may be silent.
    report : callable
        Told how far it is.

    Raises
    ------
    NotBrought
        Where the server refuses, cannot be reached or breaks off; what came is kept.
    ShroomError
        Where the file cannot be written.
    """
    if size is not None and parts.length(part) > size:
        parts.empty(part)
    most = 0
    for attempt in range(ATTEMPTS):
        if parts.length(part) == size:
            return
        try:
            _continue(url, part, size, timeout, report)
        except _BrokeOff:
            came = parts.length(part)
            if came <= most or attempt == ATTEMPTS - 1:
                raise
            most = came
        else:
            return


def base_url(url: str) -> str:
    """Return a URL of a folder without a slash at its end.

    Raises
    ------
    ShroomError
        Where it is none.

    Examples
    --------
    >>> base_url("http://localhost:8000/data/")
    'http://localhost:8000/data'
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ShroomError(
            f"mirror {show(url)}: is no URL of a server; it is like http://localhost:8000/data"
        )
    return url.rstrip("/")


def _continue(url: str, part: FileIO, size: int | None, timeout: float, report: Report) -> None:
    have = parts.length(part)
    response = _open(url, have, timeout)
    if response is None:  # the server says that there is no more than what we have
        return
    with response:
        packed = response.headers.get("Content-Encoding") or "identity"
        if packed != "identity":
            raise NotBrought(f"sent it packed ({printable(packed)})")
        start = _start(response)
        if start not in (0, have):
            raise NotBrought(f"sent what follows byte {start}, asked for what follows {have}")
        if start != have:
            parts.empty(part)
            have = 0
        part.seek(have)
        length = _whole(response.headers.get("Content-Length") or "")
        total = size if length is None else have + length
        most = MOST_BYTES if size is None else size
        while True:
            report(have, max(total or 0, have), url)
            chunk = _received(response, have, total, timeout)
            if not chunk:
                break
            have += len(chunk)
            if have > most:
                parts.empty(part)
                raise NotBrought(f"sent more than {most} bytes")
            append(part, chunk)
    if total is not None and have < total:
        raise _BrokeOff(f"broke off after {have} of {total} bytes")


def _open(url: str, have: int, timeout: float) -> Any:
    """Return the response with what follows the first bytes, or ``None`` if nothing does."""
    headers = {"User-Agent": "shroom-kit", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - see base_url
    # A server on this machine is behind no proxy.
    local = urlsplit(url).hostname in _LOOPBACK
    opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))
    try:
        return opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
                reason = str(error.reason).partition("\n")[0]
                raise NotBrought(printable(f"said {error.code} {reason}".strip())) from None
            given = re.fullmatch(r"bytes \*/(\d+)", error.headers.get("Content-Range") or "")
        return None if given and _whole(given[1]) == have else _open(url, 0, timeout)
    except urllib.error.URLError as error:
        raise _unreached(error.reason, timeout) from error
    except (OSError, http.client.HTTPException) as error:
        raise _unreached(error, timeout) from error


def _start(response: Any) -> int:
    """Return which byte of the file is the first that a response has."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    given = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
    start = _whole(given[1]) if given else None
    if start is None:
        raise NotBrought("sent a part without saying which")
    return start


def _whole(digits: str) -> int | None:
    """Return a number of bytes; ``None`` of what is none, or has more digits than any file."""
    return int(digits) if re.fullmatch(r"[0-9]{1,18}", digits) else None


def _received(response: Any, have: int, total: int | None, timeout: float) -> bytes:
    """Return the next bytes, none at the end."""
    of = f"{have} of {total} bytes" if total is not None else f"{have} bytes"
    try:
        chunk: bytes = response.read1(_AT_ONCE)
    except (TimeoutError, socket.timeout) as error:  # two things until Python 3.10
        raise _BrokeOff(f"fell silent for {timeout:g} seconds after {of}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _BrokeOff(f"broke off after {of}") from error
    return chunk


def _unreached(reason: object, timeout: float) -> NotBrought:
    if isinstance(reason, (TimeoutError, socket.timeout)):
        return NotBrought(f"gave no answer within {timeout:g} seconds", reached=False)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return NotBrought(f"has a certificate that cannot be verified ({reason.verify_message})")
    if isinstance(reason, socket.gaierror):
        return NotBrought("cannot be reached (host not found)", reached=False)
    if isinstance(reason, http.client.HTTPException) or (
        isinstance(reason, ConnectionError) and not isinstance(reason, ConnectionRefusedError)
    ):
        return NotBrought("closed the connection without an answer")
    text = getattr(reason, "strerror", None) or str(reason)
    return NotBrought(f"cannot be reached ({printable(text)})", reached=False)
