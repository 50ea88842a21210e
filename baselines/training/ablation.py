"""Measure what each group of corpora adds to the cross-encoder, without a label of SHROOM.

    python baselines/training/ablation.py OUT [SHARE]

The program trains a model on SHARE (by default, a tenth) of each corpus of ``corpora.toml``, and a
model without each group. It prints the accuracy and rho of each model on val, and how much each
group adds, with 95% intervals. Each model uses one core. Results in OUT are not computed again. The
corpora and val are read from SHROOM_DATA, and the encoder is the one that ``make train`` downloads.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import stage
from corpora import stage_examples

from shroom import compare, score
from shroom.core.paths import data_folder

ENCODER = ".venv/encoders/all-mpnet-base-v2"
FILES = ("val.model-agnostic.json", "val.model-aware.v2.json")
EDITS = ("hans", "summedits", "bump", "negation_nli", "breaking_nli", "cad_nli")
GROUPS = ("rules", "edits", "translations", "definitions", "inference")


def group_of(corpus: dict[str, Any]) -> str:
    """Return the group of a corpus: by its origin, or else by its task."""
    name = Path(corpus["file"]).name
    if name.startswith("rule_pairs"):
        return "rules"
    if name.startswith(EDITS):
        return "edits"
    return {"MT": "translations", "DM": "definitions", "PG": "inference"}[corpus["task"]]


def parts(without: str, share: float) -> list[dict[str, Any]]:
    """Return the recipe's stages, with a share of each corpus and without a group."""
    return [
        {
            **whole,
            "n": round(share * whole["n"]),
            "corpora": [
                {**corpus, "n": round(share * corpus["n"])}
                for corpus in whole["corpora"]
                if group_of(corpus) != without
            ],
        }
        for whole in stage.stages()[0]
    ]


def run(folder: Path, without: str, share: float) -> None:
    """Train the model without a group, and write its submission for val into a folder."""
    if all((folder / file).is_file() for file in FILES):
        return
    import torch

    from shroom.core.datapoint import Rule
    from shroom.detectors.cross_encoder.fitting import Fitting, train
    from shroom.detectors.cross_encoder.pair_model import TrainedModel
    from shroom.detectors.cross_encoder.schedule import Schedule
    from shroom.detectors.pairs import Pairs
    from shroom.scoring.datapoint_files import read

    torch.set_num_threads(1)
    seed = stage.stages()[1]
    fitting = Fitting(ENCODER, schedule=Schedule(seed=seed), device="cpu", work=folder)
    model, encoding = fitting.model(), fitting.encoding
    for part in parts(without, share):
        train(model, encoding, stage_examples(part, seed), stage.schedule_of(part, seed))
    trained = TrainedModel(model, encoding, fitting.tokenizer, "cpu", Rule.GIVEN)
    for file in FILES:
        gold = data_folder() / "semeval2024" / file
        pairs = Pairs.of(read(gold))
        arrays, _ = encoding(pairs.items)
        judged = [float(trained.probabilities(encoding.batch([a]))[0]) for a in arrays]
        rows = json.loads(gold.read_text(encoding="utf-8"))
        for row, p in zip(rows, pairs.best(np.array(judged))):
            row["label"] = "Hallucination" if p > 0.5 else "Not Hallucination"
            row["p(Hallucination)"] = float(p)
        (folder / file).write_text(json.dumps(rows), encoding="utf-8")


def main(out: Path, share: float = 0.1) -> None:
    """Train all models, and print a line for each."""
    folders = {"all": out / "all", **{f"no {group}": out / f"no-{group}" for group in GROUPS}}
    spawn = get_context("spawn")  # torch's threads do not survive a fork
    with ProcessPoolExecutor(os.cpu_count(), spawn) as pool:
        for done in [
            pool.submit(run, folder, name.partition(" ")[2], share)
            for name, folder in folders.items()
        ]:
            done.result()
    for file in FILES:
        gold = data_folder() / "semeval2024" / file
        print(file)
        for name, folder in folders.items():
            (result,) = score(folder / file, gold).results
            print(f"  {name}: {result.accuracy:.3f}/{result.rho:.3f}")
            if name != "all":
                pair = {"all": folders["all"] / file, name: folder / file}
                for each in compare(pair, gold).comparisons:
                    low, high = each.ci or (None, None)
                    print(f"    {each.metric}: adds {each.difference} ({low} to {high})")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
