"""The extras of the kit: optional packages, and how to install them."""

from __future__ import annotations

import importlib.util

from shroom.core.problems import ShroomError

#: Module names that differ from the package names.
_MODULES = {"pyyaml": "yaml", "scikit-learn": "sklearn", "text2num": "text_to_num"}


def install_hint(extra: str) -> str:
    """Return the instruction to install an extra of the kit."""
    return f"run pip install -e '.[{extra}]' in your clone of the kit"


def require(extra: str, *packages: str) -> None:
    """Raise an error if a package of an extra, given by its PyPI name, is missing."""
    modules = {name: _MODULES.get(name, name.replace("-", "_")) for name in packages}
    missing = [name for name, module in modules.items() if not importlib.util.find_spec(module)]
    if missing:
        raise ShroomError(f"this command requires {' and '.join(missing)}: {install_hint(extra)}")
