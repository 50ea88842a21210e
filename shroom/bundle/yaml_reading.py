"""Reading the YAML file that describes a competition."""

from __future__ import annotations

from typing import Any

from shroom.core.problems import ShroomError, printable

#: Values of a competition, each counted as often as it is repeated; few have a thousand.
MAX_VALUES = 20_000


def parsed_yaml(text: str) -> Any:
    """Return what a YAML text describes, as ``yaml.safe_load`` does.

    Raises
    ------
    ShroomError
        If it is not YAML, or contains too many values or itself.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_multiplied(root)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(printable(str(error)).split())
        raise ShroomError(f"expected YAML, got other text: {reason}") from error
    except RecursionError as error:
        raise ShroomError("expected YAML, got brackets that nest too deeply") from error
    except (ValueError, OverflowError) as error:  # of Python's dates and numbers
        raise ShroomError(f"expected YAML, got a value that cannot be read: {error}") from error


def _refuse_multiplied(root: Any) -> None:
    """Raise an error if repeated lists contain each other, or themselves, beyond measure."""
    nodes, count = [root] if root else [], 1
    while nodes:
        children = nodes.pop().value
        if isinstance(children, list):
            count += len(children)
            if count > MAX_VALUES:
                raise ShroomError(f"expected at most {MAX_VALUES} values, got more")
            nodes += (node for child in children for node in _pair(child))


def _pair(child: Any) -> tuple[Any, ...]:
    """Return an entry of a list, or the key and value of a mapping."""
    return child if isinstance(child, tuple) else (child,)
