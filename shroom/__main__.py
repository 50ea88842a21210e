"""``python -m shroom``: the ``shroom`` command."""

import os
import sys


def leave_working_folder() -> None:
    """Remove the working folder from the import path, where ``python -m`` puts it first.

    Otherwise a file in a folder of submissions, such as ``click.py``, would be imported. The kit's
    own folder stays as the last entry, for a checkout that is not installed.
    """
    here = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib is not loaded yet
    try:
        folder = os.getcwd()  # noqa: PTH109
    except OSError:  # the folder was deleted
        folder = ""
    sys.path[:] = [path for path in sys.path if path not in ("", os.curdir, folder)]
    if here not in sys.path:
        sys.path.append(here)


if __name__ == "__main__":
    leave_working_folder()
    from shroom.cli import main

    main()
