"""The organisers' own programs, by edition, where they differ from what is right."""

from __future__ import annotations

import importlib
from types import ModuleType

from shroom.core.problems import ShroomError
from shroom.scoring.editions.edition import Edition

#: The editions with a module ``official_NAME`` that has ``check``, ``score`` and ``scores_txt``.
OFFICIAL = ("semeval2024", "cap2025", "visions2026")


def rules_of(edition: Edition) -> ModuleType:
    """Return the module with the rules of an edition's organisers.

    Raises
    ------
    ShroomError
        If the kit has none.
    """
    if edition.name not in OFFICIAL:
        raise ShroomError(
            f"--official is for {', '.join(OFFICIAL[:-1])} and {OFFICIAL[-1]}; the kit has no "
            f"other rules of the organisers of {edition.name}"
        )
    return importlib.import_module(f"shroom.scoring.editions.official_{edition.name}")
