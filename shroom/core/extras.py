"""The extras of the kit: optional packages, and how to install them."""

from __future__ import annotations

import importlib.util

from shroom.core.problems import ShroomError

#: Module names that differ from the package names.
_MODULES = {
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
    "text2num": "text_to_num",
}


def install_hint(extra: str) -> str:
    """Return the instruction to install an extra of the kit."""
    return f"run pip install -e '.[{extra}]' in your clone of the kit"


def require(extra: str, *packages: str) -> None:
    """Raise an error if a package of an extra, given by its PyPI name, is missing."""
    missing = [name for name in packages if not importlib.util.find_spec(_MODULES.get(name, name))]
    if missing:
        raise ShroomError(f"this command requires {' and '.join(missing)}: {install_hint(extra)}")
