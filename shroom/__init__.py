"""Check, score and rank hallucination detectors on SHROOM and related data sets.

These are the public functions; import everything else from its own module.

Examples
--------
>>> import shroom
>>> shroom.score("shroom/sample", "shroom/sample").results[1].accuracy
1.0
"""

# Nothing is imported here: ``python -m shroom`` runs this module while the working folder is still
# on the import path, where a file may be called ``typing.py`` or even ``__future__.py``.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from shroom.core.problems import InvalidInput, ShroomError
    from shroom.core.version import __version__
    from shroom.datasets.description import describe
    from shroom.detectors.registry import detector
    from shroom.evaluation.comparison import compare
    from shroom.evaluation.leaderboard import leaderboard
    from shroom.evaluation.matrix.matrix import evaluate
    from shroom.prediction.calibration import calibrate
    from shroom.prediction.ensemble import ensemble
    from shroom.prediction.predictions import predict
    from shroom.scoring.annotator_agreement import agreement
    from shroom.scoring.check import check
    from shroom.scoring.datapoint_files import read
    from shroom.scoring.scores import score

__all__ = [
    "InvalidInput",
    "ShroomError",
    "__version__",
    "agreement",
    "calibrate",
    "check",
    "compare",
    "describe",
    "detector",
    "ensemble",
    "evaluate",
    "leaderboard",
    "predict",
    "read",
    "score",
]

#: The module of each name, imported at its first use.
_LATER = {
    "InvalidInput": "shroom.core.problems",
    "ShroomError": "shroom.core.problems",
    "__version__": "shroom.core.version",
    "agreement": "shroom.scoring.annotator_agreement",
    "calibrate": "shroom.prediction.calibration",
    "check": "shroom.scoring.check",
    "compare": "shroom.evaluation.comparison",
    "describe": "shroom.datasets.description",
    "detector": "shroom.detectors.registry",
    "ensemble": "shroom.prediction.ensemble",
    "evaluate": "shroom.evaluation.matrix.matrix",
    "leaderboard": "shroom.evaluation.leaderboard",
    "predict": "shroom.prediction.predictions",
    "read": "shroom.scoring.datapoint_files",
    "score": "shroom.scoring.scores",
}


def __getattr__(name: str) -> object:
    """Return a public name, and import its module, which the scoring program may not have."""
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'shroom' has no attribute '{name}'")


def __dir__() -> "list[str]":
    """Return all public names, so that notebooks complete them."""
    return sorted({*globals(), *__all__})
