"""Made-up gold and systems that know a part of it."""

import importlib
import sys

import numpy as np
from conftest import ROOT, gold, write_json

sys.path.append(str(ROOT / "benchmarks"))
#: The benchmarks' model of systems whose truth is known.
latent = importlib.import_module("latent")
sys.path.pop()

#: What a test may ask for by name, as the files have it.
AGNOSTIC, AWARE = "val.model-agnostic.json", "val.model-aware.json"


def answers(rows: list[dict], noise: float, seed: int = 0) -> list[dict]:
    """Return what a system says of gold rows: their p with noise, rounded to three digits."""
    generator = np.random.default_rng(seed)
    p = np.array([row["p(Hallucination)"] for row in rows])
    said = np.round((1 - noise) * p + noise * generator.random(len(rows)), 3)
    words = ("Not Hallucination", "Hallucination")
    found = []
    for row, value in zip(rows, said.tolist()):
        own = {"label": words[value > 0.5], "p(Hallucination)": value}
        found.append({"id": row["id"], **own} if "id" in row else own)
    return found


def contest(folder, noises: dict[str, float], n: int = 60, files: tuple[str, ...] = (AWARE,)):
    """Write gold and a folder for each system; return the folder of systems and the gold's."""
    for file in files:
        truth = gold(n)
        write_json(folder / "gold" / file, truth)
        for seed, (system, noise) in enumerate(noises.items()):
            write_json(folder / "systems" / system / file, answers(truth, noise, seed))
    return folder / "systems", folder / "gold"


def drawn(n=60, seed=0, steps=None):
    """Return columns of a system that is mostly right, and of gold; ``steps`` makes p tied."""
    generator = np.random.default_rng(seed)
    gold_p = generator.integers(0, 6, n) / 5
    gold_p[:2] = 0, 1  # both classes, however small n is
    p = np.clip(gold_p * 0.6 + 0.2 + generator.normal(0, 0.25, n), 0.001, 0.999)
    p = np.round(p * steps) / steps if steps else p
    return p > 0.5, p, gold_p > 0.5, gold_p
