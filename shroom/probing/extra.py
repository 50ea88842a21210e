"""What the probe needs besides the core of the kit."""

from __future__ import annotations

import importlib.util

from shroom.problems import ShroomError


def require() -> None:
    """Raise :class:`ShroomError` if a package of the extra is missing."""
    needed = {"safetensors": "safetensors", "sklearn": "scikit-learn"}
    missing = [name for module, name in needed.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ShroomError(
            f"the probe needs {' and '.join(missing)}: pip install 'shroom-kit[models]'"
        )
