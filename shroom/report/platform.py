"""Scores as Codabench and CodaLab read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shroom.scoring import Score


def scores_txt(score: Score) -> str:
    """Return one ``key: value`` line for each of the four keys, as YAML reads it.

    Floats are written in full. A track that was not handed in and a rho that is undefined count
    as 0, since the platforms want finite numbers under every key.
    """
    return "".join(f"{key}: {value!r}\n" for key, value in score.platform_scores().items())
