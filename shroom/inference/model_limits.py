"""Bounds on the sizes that a model's config.json gives, checked before anything is made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The most layers, of which the largest public models have under 200.
LAYERS = 1000
#: The most of a layer's width, heads or classes; the widest public models have under 110,000.
WIDTH = 200_000
#: The most rows of a table: words, or positions, of which there are models with 10 million.
ROWS = 20_000_000

_BOUNDS = (
    (re.compile(r"layers?$|hidden_groups$|inner_group_num$"), LAYERS),
    (re.compile(r"(vocab_size|positions?|position_embeddings)$"), ROWS),
    (re.compile(r"((hidden|intermediate|embedding)_size|dim|heads?|labels)$"), WIDTH),
    (re.compile(r"^(d_\w+|n_embd|n_inner)$"), WIDTH),
)


def check_sizes(config: Mapping[str, Any], name: str) -> None:
    """Refuse a configuration whose sizes no model has.

    Making such a model could take all memory, or never end.

    Parameters
    ----------
    config : mapping
        What ``config.json`` says; mappings in it count, too.
    name : str
        How a message names the model.

    Raises
    ------
    ShroomError
        Of the first size that is too large.

    Examples
    --------
    >>> check_sizes({"hidden_size": 768, "num_hidden_layers": 12}, "a model")
    >>> check_sizes({"num_hidden_layers": 100_000_000}, "a model")
    Traceback (most recent call last):
        ...
    shroom.core.problems.ShroomError: a model: config.json: "num_hidden_layers": expected at most \
1000, got 100000000; no model has so many: get the file again from where the model is from
    """
    for key, value in config.items():
        if isinstance(value, dict):
            check_sizes(value, name)
        if not isinstance(value, (int, float)):
            continue
        most = next((bound for pattern, bound in _BOUNDS if pattern.search(str(key))), None)
        if most is not None and value > most:
            raise ShroomError(
                f"{name}: config.json: {show(key)}: expected at most {most}, got "
                f"{show(value)}; no model has so many: get the file again from where the "
                "model is from"
            )
