"""Reading the YAML file that describes a competition."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

from shroom.bundle.contents import Contents
from shroom.core.printing import show
from shroom.core.problems import ShroomError, printable

FILE = "competition.yaml"
#: The largest ``competition.yaml`` in bytes.
MAX_YAML = 1 << 20
#: The most values of a competition, repeated ones counted each time; few have a thousand.
MAX_VALUES = 20_000


def described(contents: Contents) -> tuple[dict[str, Any], list[str]]:
    """Return a competition as JSON values, and a warning for each time of day that is ignored."""
    if FILE not in contents.files:
        near = [name for name in contents.files if name.endswith(f"/{FILE}")]
        got = f"{show(near[0])}; zip the files, not their folder" if near else "none"
        raise ShroomError(f"expected this file at the top level of the bundle, got {got}")
    content = contents.files[FILE]() or b""
    if len(content) > MAX_YAML:
        raise ShroomError(f"expected at most {MAX_YAML} bytes, got {len(content)}")
    data = _parsed(content)
    if not isinstance(data, dict):
        raise ShroomError(f"expected keys and values, got {show(data)}")
    if data.get("version") not in (2, "2"):
        got = show(data["version"]) if "version" in data else "none"
        raise ShroomError(f"version: expected 2, got {got}; other versions are not checked")
    warnings = list(_dates_as_text(data.get("phases")))
    # The platform rejects dates elsewhere, so they must not be texts for the schema.
    text = json.dumps(data, default=lambda other: [str(other)], skipkeys=True)
    return json.loads(text), warnings


def _parsed(content: bytes) -> Any:
    import yaml

    try:
        text = content.decode("utf-8")
        _refuse_multiplied(yaml.compose(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise ShroomError("expected UTF-8, got other bytes") from error
    except yaml.YAMLError as error:
        reason = " ".join(printable(str(error)).split())
        raise ShroomError(f"expected YAML, got other text: {reason}") from error
    except RecursionError as error:
        raise ShroomError("expected YAML, got brackets that nest too deeply") from error
    except (ValueError, OverflowError) as error:  # dates and numbers out of range
        raise ShroomError(f"expected YAML, got a value that cannot be read: {error}") from error


def _refuse_multiplied(root: Any) -> None:
    """Raise an error if aliases multiply the number of values beyond ``MAX_VALUES``."""
    nodes, count = [root] if root else [], 1
    while nodes:
        children = nodes.pop().value
        if isinstance(children, list):
            count += len(children)
            if count > MAX_VALUES:
                raise ShroomError(f"expected at most {MAX_VALUES} values, got more")
            for child in children:  # an entry of a list, or the key and value of a mapping
                nodes += child if isinstance(child, tuple) else [child]


def _dates_as_text(phases: Any) -> Iterator[str]:
    """Convert starts and ends of phases to texts; yield a warning for each ignored time."""
    for index, phase in enumerate(phases if isinstance(phases, list) else ()):
        for key in ("start", "end") if isinstance(phase, dict) else ():
            value = phase.get(key)
            if isinstance(value, dt.date):
                phase[key] = str(value)[:10]
            if isinstance(value, dt.datetime) and value.time() != dt.time():
                got = f"{value}, of which Codabench reads only the day"
                yield f"phases[{index}].{key}: expected a time in quotation marks, got {got}"
