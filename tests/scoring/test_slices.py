"""Slices by the values of the gold's rows, and by the annotators' agreement."""

import json

import numpy as np
import pytest
from conftest import SAMPLE, gold, predictions, write_json, write_lines

from shroom.core.problems import UnknownName
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho
from shroom.metrics.intervals import FEWEST, Intervals
from shroom.scoring import quick_reader
from shroom.scoring.rows import Role
from shroom.scoring.scores import score
from shroom.scoring.slices import group_of

P = "p(Hallucination)"
NO_CI = Intervals(0)


@pytest.mark.usefixtures("both_readers")
def test_slices_are_scores_of_the_items_with_a_value(tmp_path):
    told, truth = predictions(40, first_id=100), gold(40, first_id=100)
    for i, row in enumerate(truth):
        row.update(lang="ru" if i % 3 else "", layer=i % 4, long=i % 2 == 0, score=0.5)
        if i % 5 == 0:
            del row["lang"], row["layer"]
    found = score(
        write_json(tmp_path / "p.json", told[::-1]),
        write_json(tmp_path / "g.json", truth),
        by=("lang", "layer", "long", "score"),
        intervals=Intervals(50),
    ).results[0]
    value = {
        "lang": lambda row: row.get("lang") or "none",
        "layer": lambda row: str(row.get("layer", "none")),
        "long": lambda row: "true" if row["long"] else "false",
        "score": lambda _: "0.5",
    }
    assert list(found.slices) == list(value)
    for by, slices in found.slices.items():
        assert set(slices) == {value[by](row) for row in truth}
        for word, part in slices.items():
            rows = [i for i, row in enumerate(truth) if value[by](row) == word]
            assert part["n"] == len(rows)
            for name, metric, key in (("accuracy", accuracy, "label"), ("rho", rho, P)):
                said, meant = (np.array([side[i][key] for i in rows]) for side in (told, truth))
                assert part[name] == metric(said, meant)
            low, high = part["accuracy_ci"] or (0, 1)
            assert low <= part["accuracy"] <= high
            assert (part["accuracy_ci"] is None) == (len(rows) < FEWEST)


def test_gold_of_spans_is_sliced_by_its_rows_that_can_be_used(tmp_path):
    rows = [
        {"id": f"en-val-{i}", "model_output_text": "abc", "hard_labels": [[0, 1]]}
        | {"soft_labels": [{"start": 0, "end": 1, "prob": 1.0}], "model_id": f"model {i % 2}"}
        for i in range(5)
    ]
    rows[1]["model_output_text"] = 7
    files = (
        write_lines(tmp_path / "p.jsonl", [rows[0], *rows[2:]]),
        write_lines(tmp_path / "g.jsonl", rows),
    )
    found = score(*files, by="model_id", edition="mushroom2025", intervals=NO_CI).results[0]
    sizes = {word: part["n"] for word, part in found.slices["model_id"].items()}
    assert sizes == {"model 0": 3, "model 1": 1}


@pytest.mark.parametrize("votes", [1, 2, 3, 5, 8, 10])
@pytest.mark.parametrize("digits", [2, 3, 16])
def test_shares_of_a_few_votes_slice_by_agreement(votes, digits):
    shares = [round(count / votes, digits) for count in range(votes + 1)]
    rows = [{**row, P: share} for row, share in zip(gold(votes + 1), shares)]
    table = quick_reader.read(json.dumps(rows).encode(), Role.GOLD, "g.json")
    expected = {round(max(share, 1 - share), 3) for share in shares}
    assert {float(word) for word in group_of(table, "agreement").words} == expected


def test_a_continuous_p_makes_no_slices_by_agreement(tmp_path):
    truth = [{**row, P: (place * 17 % 40 + 0.37) / 40} for place, row in enumerate(gold(40))]
    files = write_json(tmp_path / "p.json", predictions(40)), write_json(tmp_path / "g.json", truth)
    usual = score(*files, intervals=NO_CI)
    assert set(usual.results[0].slices) == {"task", "ref"}
    assert usual.unsliced == []
    (sentence,) = score(*files, by=("task", "agreement"), intervals=NO_CI).unsliced
    assert sentence.endswith(
        "g.json: in some items, p(Hallucination) cannot be a share of 10 or fewer votes, so there "
        "are no slices by agreement"
    )


def test_a_key_that_one_gold_lacks_is_told(tmp_path, shroom):
    for track, more in (("agnostic", {}), ("aware", {"lang": "en"})):
        rows = [{"label": row["label"], P: row[P], **more} for row in gold()]
        write_json(tmp_path / "p" / f"val.model-{track}.json", predictions())
        write_json(tmp_path / "g" / f"val.model-{track}.json", rows)
    files = tmp_path / "p", tmp_path / "g"
    found = score(*files, by=("lang", "ref"), intervals=NO_CI)
    assert [list(result.slices) for result in found.results] == [[], ["lang"]]
    told = [sentence.partition(": ")[2] for sentence in found.unsliced]
    no_ref = "no item has ref, so there are no slices by ref"
    assert told == ["no item has lang, so there are no slices by lang", no_ref, no_ref]
    assert found.to_dict()["warnings"] == found.unsliced
    _, _, err = shroom("score", *files, "--by", "lang", "--no-ci")
    assert err.endswith("agnostic.json: no item has lang, so there are no slices by lang\n")
    assert score(*files, intervals=NO_CI).unsliced == []  # nobody has asked


def test_one_key_and_one_metric_need_no_list():
    result = score(SAMPLE, SAMPLE, by="task", metrics="brier", intervals=NO_CI).results[0]
    assert list(result.slices) == ["task"]
    assert result.whole["brier"] is not None
    with pytest.raises(UnknownName, match="did you mean 'task'"):
        score(SAMPLE, SAMPLE, by=["tasks"])
