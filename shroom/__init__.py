"""Check, score and rank hallucination detectors on SHROOM and its relatives.

The public face is here; everything else may be imported from its own module.

Examples
--------
>>> import shroom
>>> shroom.score("shroom/sample", "shroom/sample").results[1].accuracy
1.0
"""

from typing import TYPE_CHECKING, Any

from shroom.check import check
from shroom.datasets.semeval2024 import read
from shroom.detectors.base import detector
from shroom.problems import InvalidInput, ShroomError
from shroom.scoring import score
from shroom.version import __version__

if TYPE_CHECKING:
    from shroom.comparing import compare

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


def __getattr__(name: str) -> Any:
    """Return what is imported only when it is asked for, since scoring goes without it."""
    if name == "compare":
        from shroom.comparing import compare

        return compare
    raise AttributeError(f"module 'shroom' has no attribute '{name}'")
