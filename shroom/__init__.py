"""Check, score and rank hallucination detectors on SHROOM and its relatives.

The public face is here; everything else may be imported from its own module.

Examples
--------
>>> import shroom
>>> shroom.score("shroom/sample", "shroom/sample").results[1].accuracy
1.0
"""

from shroom.check import check
from shroom.datasets.semeval2024 import read
from shroom.detectors.base import detector
from shroom.problems import InvalidInput, ShroomError
from shroom.scoring import score
from shroom.version import __version__

__all__ = ["InvalidInput", "ShroomError", "__version__", "check", "detector", "read", "score"]
