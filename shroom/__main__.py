"""``python -m shroom``: the ``shroom`` command."""

import os
import sys


def leave_working_folder() -> None:
    """Have nothing imported from the working folder, which ``python -m`` puts before all others.

    A file there may be called like any module: ``click.py`` in a folder of submissions. The kit's
    own folder stays, as the last one, for a checkout that is not installed.
    """
    here = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib is not loaded yet
    try:
        folder = os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        folder = ""
    sys.path[:] = [path for path in sys.path if path not in ("", os.curdir, folder)]
    if here not in sys.path:
        sys.path.append(here)


if __name__ == "__main__":
    leave_working_folder()
    from shroom.cli import main

    main()
