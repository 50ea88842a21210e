"""The competition bundle: what an organiser uploads to Codabench."""

from shroom.bundle.building import PACKAGES, build, labelled, scorer_folder, write
from shroom.bundle.checking import Findings, check

__all__ = ["PACKAGES", "Findings", "build", "check", "labelled", "scorer_folder", "write"]
