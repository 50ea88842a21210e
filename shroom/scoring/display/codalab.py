"""Scores as Codabench and CodaLab read them."""

from __future__ import annotations

from shroom.core.problems import Problem
from shroom.scoring.file_names import TRACKS
from shroom.scoring.scores import Score


def scores_txt(score: Score) -> str:
    """Return one ``key: value`` line for each of the four keys, as YAML reads it.

    Floats are written in full. A track that was not handed in and a rho that is undefined count
    as 0, since the platforms want finite numbers under every key.
    """
    return "".join(f"{key}: {_float(value)}\n" for key, value in score.platform_scores().items())


def _float(value: float) -> str:
    """Return all digits; YAML takes a power of ten only after a decimal point."""
    digits = repr(value)
    return digits if "e" not in digits or "." in digits else digits.replace("e", ".0e")


def missing_tracks(score: Score) -> list[Problem]:
    """Return a warning for each track that was not handed in, and so counts as 0."""
    present = {result.track for result in score.results}
    return [
        Problem("track-missing", "the submission", f"the {track} track", "none, which counts as 0")
        for track in TRACKS
        if track not in present
    ]
