"""The star behind figures of items that the detector was fitted on, and its footnote."""

from __future__ import annotations

from collections.abc import Iterable

from shroom.core.problems import printable

#: What stands behind an in-sample figure, and behind the name of a system that has one.
STAR = "*"


def starred(shown: str, in_sample: int) -> str:
    """Return a figure or a name as it is shown, with a star where it is in-sample.

    Parameters
    ----------
    shown : str
        The figure or the name.
    in_sample : int
        How many of the items the detector was fitted on.

    Examples
    --------
    >>> starred("0.922", 499), starred("0.814", 0)
    ('0.922*', '0.814')
    """
    return f"{shown}{STAR}" if in_sample else shown


def footnote(cases: Iterable[tuple[str, int, int]]) -> str:
    """Return what the star means, in one line; nothing where no figure is in-sample.

    Parameters
    ----------
    cases : iterable of (str, int, int)
        Each system or track that is shown: its name, the number of items that the detector was
        fitted on, and the number of all items. The names are left out where one is enough.

    Examples
    --------
    >>> footnote([("val model-agnostic", 499, 499), ("val model-aware", 0, 501)])
    '* in-sample: the detector was fitted on 499 of these 499 items'
    >>> footnote([("a", 499, 499), ("b", 20, 499)])
    '* in-sample: the detector was fitted on 499 of these 499 items (a), 20 of these 499 items (b)'
    """
    names: dict[str, list[str]] = {}
    for name, in_sample, n in cases:
        if in_sample:
            own = names.setdefault(f"{in_sample} of these {n} items", [])
            own += [] if name in own else [printable(name)]
    if not names:
        return ""
    if len(names) == 1:
        listed = next(iter(names))
    else:
        listed = ", ".join(f"{items} ({', '.join(own)})" for items, own in names.items())
    return f"{STAR} in-sample: the detector was fitted on {listed}"
