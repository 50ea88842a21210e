"""What other libraries load from integrations/; ``make integrations`` runs the larger of them."""

import math
import runpy

import pytest
import yaml
from conftest import ROOT, SAMPLE, gold, write_json

import shroom
from shroom.core.problems import ShroomError
from shroom.datasets.registry import DATA_SETS, data_set

LM_EVAL = ROOT / "integrations" / "lm_eval"
GOLD = shroom.read(SAMPLE / "val.model-aware.json")


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    import evaluate

    folder = ROOT / "integrations" / "evaluate" / "shroom_metrics"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_EVALUATE_CACHE", "HF_METRICS_CACHE", "HF_MODULES_CACHE"):
            patch.setattr(evaluate.config, name, tmp_path_factory.mktemp(name))
        patch.setattr("socket.getaddrinfo", None)  # no network
        yield evaluate.load(str(folder))


def test_evaluate_computes_the_kits_scores(metrics):
    p = [(7 * i % 60) / 60 for i in range(60)]
    rows = [
        {"label": "Hallucination" if x > 0.5 else "Not Hallucination", "p(Hallucination)": x}
        for x in p
    ]
    (ours,) = shroom.score(rows, SAMPLE / "val.model-aware.json").results
    theirs = metrics.compute(
        predictions=p,
        references=[point.p for point in GOLD],
        gold_labels=[point.label.value == "Hallucination" for point in GOLD],
    )
    assert theirs == ours.whole
    one = metrics.compute(predictions=p, references=p, metrics=["brier"], resamples=0)
    assert one.keys() == {"brier", "brier_ci"}


def test_evaluate_refuses_what_are_no_shares(metrics):
    for given, message in (
        ({"predictions": [0.5, math.nan]}, "predictions: expected numbers"),
        ({"predictions": [0.5, 2]}, "predictions: expected numbers"),
        ({"predictions": [0, 1], "labels": [1]}, "labels: expected 0 or 1 for each of 2 items"),
        ({"predictions": [0, 1], "metrics": ["rhoo"]}, "did you mean 'rho'"),
    ):
        with pytest.raises(ShroomError, match=message):
            metrics.compute(references=[0, 1], **given)


def test_each_data_set_with_datapoints_is_a_task_of_lm_eval():
    class Loader(yaml.SafeLoader):
        """Reads a function as its name."""

    Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    paths = sorted(LM_EVAL.glob("*.yaml"))
    shared, *tasks = (yaml.load(path.read_text(), Loader) for path in paths)  # noqa: S506
    names = {task["dataset_kwargs"]["name"] for task in tasks}
    assert names == {name for name in DATA_SETS if data_set(name).views}
    assert {task["task"] for task in tasks} == {f"shroom_{name}" for name in names}
    assert {task["include"] for task in tasks} == {paths[0].name}
    functions = runpy.run_path(str(LM_EVAL / "shroom_tasks.py"))
    named = [value for value in shared.values() if str(value).startswith("shroom_tasks.")]
    named += [entry["aggregation"] for entry in shared["metric_list"]]
    assert len(named) == 6
    assert {name.removeprefix("shroom_tasks.") for name in named} <= functions.keys()


def test_lm_eval_scores_each_datapoint_by_the_context_that_supports_it_best(tmp_path):
    functions = runpy.run_path(str(LM_EVAL / "shroom_tasks.py"))
    path = write_json(tmp_path / "val.model-aware.json", gold(12))
    rows = functions["datapoints"]("semeval2024", [path])["test"]
    assert (len(set(rows["datapoint"])), len(rows)) == (12, 15)
    assert "hypothesis 2" in rows["prompt"][2]
    process = functions["process_results"]
    assert process(rows[0], [(-1.0, True), (-3.0, False)])["rho"][1] == pytest.approx(
        1 / (1 + math.exp(2))
    )
    results = [process(row, [(0.5, False), (row["p"], True)])["rho"] for row in rows]
    other = [(item, 1.0, label, p) for item, _, label, p in results]
    assert functions["accuracy"](other + results) == functions["rho"](results + other) == 1
    assert math.isnan(functions["rho"](results[:1]))


def test_every_defined_figure_has_a_name_that_trackers_take():
    rows = [{**row, "model": name} for row, name in zip(gold(2), ("a/b", "a(b"))]
    numbers = shroom.score(rows, rows, by=("model",)).numbers()
    assert numbers["model-aware/model/a_b/n"] == numbers["model-aware/model/a_b/n_"] == 1
    assert numbers["model-aware/accuracy"] == 1
    assert "model-aware/model/a_b/rho" not in numbers  # of one item
