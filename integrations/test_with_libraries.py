"""The kit in lm_eval, MLflow and W&B: run by ``make integrations``, but not by ``make test``.

These libraries and their dependencies take about a gigabyte, and need versions other than those in
constraints.txt.
"""

import math
import os
import re
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
HERE = Path(__file__).parent
SAMPLE = HERE.parent / "shroom" / "sample"


def test_lm_eval_runs_a_task():
    import lm_eval
    from lm_eval.tasks import TaskManager

    tasks = TaskManager(
        include_path=str(HERE / "lm_eval"),
        include_defaults=False,
        metadata={"paths": [str(SAMPLE)]},
    )
    assert set(tasks.all_tasks) == {
        "shroom",
        *(f"shroom_{path.stem}" for path in (HERE / "lm_eval").glob("[a-z]*.yaml")),
    }
    done = lm_eval.simple_evaluate(
        "dummy", tasks=["shroom_semeval2024"], task_manager=tasks, bootstrap_iters=0
    )
    result = done["results"]["shroom_semeval2024"]
    assert result["sample_len"] == 135  # 15 of the 120 datapoints have two contexts
    metrics = ("accuracy", "rho", "balanced_accuracy", "auroc")
    assert all(math.isfinite(result[f"{name},none"]) for name in metrics)


def test_mlflow_and_wandb_log_the_numbers_of_a_score(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    import mlflow

    import shroom

    score = shroom.score(SAMPLE, SAMPLE)
    names = {"score": score}
    page = (HERE.parent / "docs" / "integrations.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import mlflow\n.*?)```", page, re.DOTALL)
    exec(code, names)  # noqa: S102 - our own page
    data = mlflow.last_active_run().data
    assert data.metrics == score.numbers()
    assert data.tags["shroom"] == score.signature
    (log,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    written = log.read_bytes()
    assert [name for name in score.numbers() if name.encode() not in written] == []
