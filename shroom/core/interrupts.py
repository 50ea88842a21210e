"""Ctrl-C while the command is starting: it ends with a sentence, and not with a traceback.

Nearly all of a start goes into imports, where nothing catches what Ctrl-C raises. So this module
imports next to nothing itself. What Python does before it, no program can change.
"""

from __future__ import annotations

import os
import signal
import sys

#: What the command says when Ctrl-C ends it, early or late, and its exit code then.
INTERRUPTED = "shroom: interrupted; no result was written"
EXIT_CODE = 130


def is_command() -> bool:
    """Return whether this process is the ``shroom`` command, by its name, not one that imports it.

    A program's own script is not told from it if it is called ``shroom`` as well.
    """
    # Not argv, which the workers that a program starts have from it.
    script = getattr(sys.modules["__main__"], "__file__", None) or ""
    if script.endswith(f"{os.sep}shroom"):
        return True
    # While Python looks for the module that -m names, the option itself stands in argv.
    if sys.argv[:1] != ["-m"]:
        return False
    told: list[str] = getattr(sys, "orig_argv", [])  # from Python 3.10 on
    named = told[told.index("-m") + 1] if "-m" in told else ""
    return named.partition(".")[0] == "shroom"


def end_when_interrupted() -> None:
    """Have Ctrl-C end the process, unless it was started so that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_when_interrupted() -> None:
    """Have Ctrl-C raise KeyboardInterrupt again, where :func:`end_when_interrupted` was called."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    try:
        os.write(2, f"{INTERRUPTED}\n".encode())
    finally:  # stderr may be closed
        os._exit(EXIT_CODE)
