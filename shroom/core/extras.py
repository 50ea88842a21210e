"""The extras of the kit: the packages that some commands need, and the hint that installs them."""

from __future__ import annotations

import importlib.util

from shroom.core.problems import ShroomError

#: The modules whose names are not those of their packages.
_MODULES = {
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
    "text2num": "text_to_num",
}


def install_hint(extra: str) -> str:
    """Return how to install an extra of the kit, whose packages are optional."""
    return f"run pip install '.[{extra}]' in your clone of the kit"


def require(extra: str, *packages: str) -> None:
    """Raise an error if a package of an extra is missing, by its name on an index."""
    missing = [name for name in packages if not importlib.util.find_spec(_MODULES.get(name, name))]
    if missing:
        raise ShroomError(f"this command requires {' and '.join(missing)}: {install_hint(extra)}")
