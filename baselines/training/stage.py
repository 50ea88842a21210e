"""Train an encoder on the corpora of one stage, before it is trained on SHROOM's labels.

    python baselines/training/stage.py STAGE ENCODER OUT

STAGE is the name of a stage in ``corpora.toml``. The trained encoder and its head are
written to OUT, for the next stage or ``shroom fit cross-encoder``. An interrupted run continues
from the checkpoint in OUT. The corpora are read from SHROOM_DATA.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from corpora import stage_examples
from safetensors.torch import save_file

from shroom.detectors.cross_encoder.fitting import Fitting, Progress, train
from shroom.detectors.cross_encoder.pair_model import HEAD, PairModel
from shroom.detectors.cross_encoder.schedule import Schedule
from shroom.inference import hub

RECIPE = Path(__file__).with_name("corpora.toml")
SCHEDULE = ("epochs", "batch", "rate", "frozen", "bfloat16", "blend")


def stages() -> tuple[list[dict[str, Any]], int]:
    """Return the stages of the recipe, and the seed."""
    recipe = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    return recipe["stages"], recipe["seed"]


def schedule_of(stage: dict[str, Any], seed: int) -> Schedule:
    """Return how a stage learns."""
    return Schedule(seed=seed, **{key: stage[key] for key in SCHEDULE if key in stage})


def main(name: str, encoder: str, out: Path) -> None:
    """Train an encoder by the stage of a name, and write the result."""
    found, seed = stages()
    stage = next(stage for stage in found if stage["name"] == name)
    fitting = Fitting(encoder, schedule=schedule_of(stage, seed), work=out)
    model = fitting.model()
    train(
        model,
        fitting.encoding,
        stage_examples(stage, seed),
        fitting.schedule,
        device=str(fitting.device),
        report=show,
        checkpoint=out / "checkpoint",
    )
    fitting.tokenizer.unlink()
    write(model, encoder, out)


def write(model: PairModel, encoder: str, out: Path) -> None:
    """Write a trained model: the encoder as transformers has it, and the head beside it."""
    whole = hub.model("encoder", encoder, device="cpu")
    whole.load_state_dict(model.encoder.state_dict(), strict=False)  # the pooler is not trained
    whole.save_pretrained(out)
    hub.tokenizer(encoder).save_pretrained(out)
    state = model.state_dict().items()
    head = {name: value for name, value in state if not name.startswith("encoder.")}
    save_file(head, out / HEAD)


def show(at: Progress) -> None:
    """Print the progress, now and then."""
    if at.step % 50 == 0 or at.step == at.steps:
        print(f"step {at.step} of {at.steps}, loss {at.loss:.3f}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
