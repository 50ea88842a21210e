"""The start of a package with a detector, which ``shroom new detector`` writes from templates."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path
from string import Template

from shroom.core.problems import ShroomError, printable
from shroom.detectors.registry import REGISTRY

_FOLDER = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def new_package(name: str) -> dict[str, str]:
    """Return the files of a package with a detector: their texts by their paths in its folder.

    Raises
    ------
    ShroomError
        If the name is not valid or taken, by a detector or by a module.

    Examples
    --------
    >>> list(new_package("my-detector"))
    ['pyproject.toml', 'README.md', 'my_detector.py', 'tests/test_my_detector.py']
    """
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(module):
        raise ShroomError(
            f"{printable(name)}: expected a name of small letters, digits and single hyphens, "
            "such as new-words, that is not a word of Python"
        )
    if name in REGISTRY:
        raise ShroomError(f"{name}: there is a detector of this name; choose another")
    if importlib.util.find_spec(module) is not None:
        raise ShroomError(f"{name}: there is a module {module} in this Python; choose another name")
    words = {
        "name": name,
        "module": module,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    paths = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        "module.py": f"{module}.py",
        "test_module.py": f"tests/test_{module}.py",
    }
    return {
        path: Template((_FOLDER / f"{file}.txt").read_text(encoding="utf-8")).substitute(words)
        for file, path in paths.items()
    }
