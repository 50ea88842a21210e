"""Reading and writing the YAML file that describes a competition."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from typing import Any

from shroom.core.extras import require
from shroom.core.problems import ShroomError, printable

#: Keys that ``<<`` may take from other mappings, in all: nested, they multiply.
MAX_MERGED = 10_000
#: A word that YAML reads as a text, whatever its version.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
#: What YAML does not take unescaped, and Python's JSON leaves as it is.
_UNPRINTABLE = re.compile("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff\u2028\u2029\x85]")


def parsed_yaml(text: str) -> Any:
    """Return what a YAML text describes, as ``yaml.safe_load`` does.

    Raises
    ------
    ShroomError
        If it is not YAML, or grows beyond measure when it is read.
    """
    require("bundle", "pyyaml")
    import yaml

    class Loader(yaml.SafeLoader):
        merged = 0

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.merged += len(node.value)
            if self.merged > MAX_MERGED:
                raise yaml.YAMLError(f"it has more than {MAX_MERGED} keys")

    try:
        # The loader builds texts, numbers, dates, lists and mappings alone, as SafeLoader does.
        return yaml.load(text, Loader)  # noqa: S506
    except yaml.YAMLError as error:
        reason = " ".join(printable(str(error)).split())
        raise ShroomError(f"is not YAML: {reason}") from error
    except RecursionError as error:
        raise ShroomError("is not YAML: brackets that nest too deeply") from error
    except (ValueError, OverflowError) as error:  # of Python's dates and numbers
        raise ShroomError(f"is not YAML: {error}") from error


def yaml_text(value: Mapping[str, Any]) -> str:
    r"""Return a mapping of plain values as YAML in blocks.

    Examples
    --------
    >>> print(yaml_text({"title": "Is it?", "phases": [{"index": 0, "tasks": [0]}]}), end="")
    title: "Is it?"
    phases:
      - index: 0
        tasks:
          - 0
    """
    return "".join(f"{line}\n" for line in _mapping(value))


def _mapping(value: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, part in value.items():
        below = _below(part)
        if below is None:
            lines.append(f"{_scalar(key)}: {_scalar(part)}")
        else:
            lines += [f"{_scalar(key)}:", *(f"  {line}" for line in below)]
    return lines


def _below(part: Any) -> list[str] | None:
    """Return the lines of a list or mapping; ``None`` for an empty one and for any other value."""
    if not part or not isinstance(part, (list, Mapping)):
        return None
    if isinstance(part, Mapping):
        return _mapping(part)
    lines = []
    for entry in part:
        first, *others = _below(entry) or [_scalar(entry)]
        lines += [f"- {first}", *(f"  {line}" for line in others)]
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
