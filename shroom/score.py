"""``python -m shroom.score SUBMISSION GOLD``: ``shroom score``, or the organisers' own call.

The package has a function of this name, too. Importing a submodule binds it in its package, so
this one can be called like the function that it would hide.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shroom.cli import main, with_all_option
from shroom.cli.score import with_organisers_call
from shroom.scoring.scores import score

if TYPE_CHECKING:
    from shroom.scoring.results import Score


class _Callable(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Score:
        """Return :func:`shroom.scoring.scores.score` of the same arguments."""
        return score(*args, **settings)


if __name__ == "__main__":
    main(with_all_option(with_organisers_call), "python -m shroom.score")
else:
    sys.modules[__name__].__class__ = _Callable
