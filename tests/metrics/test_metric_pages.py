"""``shroom list metrics``, and the description that each metric has."""

import importlib
import inspect
import json
import re

import numpy as np
import pytest
from conftest import ROOT

from shroom.core.problems import ShroomError
from shroom.metrics.base import mean_of
from shroom.scoring.metric_registry import METRICS, describe, metric, others

NAMES = [*METRICS, *others()]

each_name = pytest.mark.parametrize("name", NAMES)


def test_each_metric_has_one_section_on_the_page_of_metrics():
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    assert sorted(re.findall("^### (.*)", page, re.MULTILINE)) == sorted(NAMES)


def test_a_share_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="near: share must be a function of the statistics"):
        mean_of("near", lambda p, gold_p: abs(p - gold_p) < 0.2, share=True)


@each_name
def test_the_words_are_complete(name):
    found, words = describe(name), describe(name).to_dict()
    assert words["name"] == name
    assert all(value not in ("", None) for value in words.values())
    assert found.bounds[0] < found.bounds[1]
    assert all(np.isfinite(found.bounds))
    assert not re.search(r"[\n\t]|\.$", found.about)
    assert json.loads(json.dumps(words, allow_nan=False)) == words
    module, _, attribute = found.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    for section in ("Parameters", "Returns", "Examples"):
        assert f"\n{section}\n---" in inspect.getdoc(function)
    assert len(found.inputs) <= len(inspect.signature(function).parameters)


def test_a_figure_of_annotators_is_no_metric_of_systems(shroom):
    with pytest.raises(ShroomError, match="measures annotators, not systems"):
        metric("fleiss_kappa")
    code, _, err = shroom("score", "shroom/sample", "shroom/sample", "--metrics", "fleiss_kappa")
    assert code == 2
    assert "shroom gold agreement GOLD" in err
