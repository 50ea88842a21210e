"""The prompts of this room, from a file next to this module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_suffix(".toml")
_CONTENT: dict[str, Any] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
#: The prompts of a refusal by language.
REFUSALS: dict[str, str] = _CONTENT["refusals"]
#: The form of each example and the text around the examples, by the name of the prompt.
QUERIES: dict[str, dict[str, str]] = _CONTENT["queries"]
#: The texts that reward models read, and the forms of their questions, by the name of the prompt.
REWARDS: dict[str, dict[str, str]] = _CONTENT["reward"]
