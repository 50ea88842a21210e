"""``python -m shroom``: the ``shroom`` command."""

from shroom.cli import main

if __name__ == "__main__":
    main()
