"""``python -m shroom.score SUBMISSION GOLD``: the same as ``shroom score``."""

from shroom.cli import main
from shroom.cli.score import command

if __name__ == "__main__":
    main(command, "python -m shroom.score")
