"""The competition bundle that an organiser uploads to Codabench."""

from shroom.bundle.building import build, write
from shroom.bundle.checking import Findings, check

__all__ = ["Findings", "build", "check", "write"]
