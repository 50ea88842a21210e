"""Check, score and rank hallucination detectors on SHROOM and its relatives.

The public face is here; everything else may be imported from its own module.

Examples
--------
>>> import shroom
>>> shroom.score("shroom/sample", "shroom/sample").results[1].accuracy
1.0
"""

from shroom.starting import end_when_interrupted, is_command

if is_command():
    end_when_interrupted()  # before anything else is imported, since that takes long

import importlib
from typing import TYPE_CHECKING, Any

from shroom.check import check
from shroom.problems import InvalidInput, ShroomError
from shroom.scoring import score
from shroom.version import __version__

if TYPE_CHECKING:
    from shroom.comparing import compare
    from shroom.datapoint_files import read
    from shroom.detectors.base import detector

__all__ = [
    "InvalidInput",
    "ShroomError",
    "__version__",
    "check",
    "compare",
    "detector",
    "read",
    "score",
]


_LATER = {
    "compare": "shroom.comparing",
    "detector": "shroom.detectors.base",
    "read": "shroom.datasets.semeval2024",
}


def __getattr__(name: str) -> Any:
    """Return what is imported only when it is asked for, since scoring goes without it."""
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'shroom' has no attribute '{name}'")
