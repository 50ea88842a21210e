"""Errors in plug-ins: a sentence for the user, and the traceback in a file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError
from shroom.core.registry import PLUG_INS

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def plug_in_errors() -> Iterator[None]:
    """Turn an exception in a plug-in into a :class:`ShroomError` with its place."""
    try:
        yield
    except ShroomError:
        raise
    except (Exception, SystemExit) as error:
        import traceback

        place = _place(error)
        if place is None:
            raise
        import tempfile

        reason = traceback.format_exception_only(type(error), error)[-1].strip()
        with tempfile.NamedTemporaryFile(
            "w", prefix="shroom-", suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.writelines(traceback.format_exception(type(error), error, error.__traceback__))
        message = f"{place} raised {reason}; the traceback is in {file.name}"
        raise ShroomError(message) from error


def _place(error: BaseException) -> str | None:
    """Return the last place in a plug-in's code in a traceback, if there is one."""
    import traceback

    places = [
        f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] in PLUG_INS
    ]
    return places[-1] if places else None
