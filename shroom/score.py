"""``python -m shroom.score SUBMISSION GOLD``: ``shroom score``, or the organisers' own call.

Importing this module replaces the function ``shroom.score`` by the module, so the module can be
called like the function.
"""

import sys

from shroom.__main__ import leave_working_folder

if __name__ == "__main__":
    leave_working_folder()  # before anything else is imported
    from shroom.cli import main
    from shroom.cli.score import with_organisers_call

    main(with_organisers_call, "python -m shroom.score")
else:
    from types import ModuleType
    from typing import Any

    from shroom.scoring.results import Score
    from shroom.scoring.scores import score

    class _Callable(ModuleType):
        def __call__(self, *args: Any, **settings: Any) -> Score:
            """Return :func:`shroom.scoring.scores.score` of the same arguments."""
            return score(*args, **settings)

    sys.modules[__name__].__class__ = _Callable
