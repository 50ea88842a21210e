"""``shroom list metrics``, and the documentation page that each metric has."""

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

DOCS = ROOT / "docs" / "metrics"
NAMES = [*METRICS, *others()]

each_name = pytest.mark.parametrize("name", NAMES)


def test_every_metric_has_a_page_and_no_page_is_without():
    assert {page.stem for page in DOCS.glob("*.md")} == {"index", *NAMES}


@each_name
def test_a_page_and_the_index_say_what_the_metric_states(name):
    found = describe(name)
    text = (DOCS / f"{name}.md").read_text("utf-8")
    assert text.startswith(f"# {name}\n")
    rows = {fact: value.replace("|", "\\|") for fact, value in found.facts().items()}
    rows |= {fact: f"`{rows[fact]}`" for fact in ("in Python", "command")}
    lines = ["| | |", "|---|---|", *(f"| {fact} | {value} |" for fact, value in rows.items())]
    table = "\n".join(lines)
    assert table in text, f"docs/metrics/{name}.md should have this table:\n{table}"
    assert f"\n{found.about[0].upper()}{found.about[1:]}.\n" in text
    assert "```pycon\n" in text
    assert "```sh\nshroom " in text
    assert f"\n- [{name}]({name}.md): {found.about}\n" in (DOCS / "index.md").read_text("utf-8")


def test_a_share_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="near: share is a function of the statistics, or None"):
        mean_of("near", lambda p, gold_p: abs(p - gold_p) < 0.2, share=True)


@each_name
def test_the_words_are_complete_and_follow_from_the_parts(name):
    found, words = describe(name), describe(name).to_dict()
    assert words["name"] == name
    assert all(value not in ("", None) for value in words.values())
    assert found.bounds[0] < found.bounds[1]
    assert all(np.isfinite(found.bounds))
    assert not re.search(r"[\n\t]|\.$", found.about)
    assert json.loads(json.dumps(words, allow_nan=False)) == words
    of_votes = found.inputs == ("votes",)
    assert (found.intervals == ("Wilson",)) == (found.share is not None)
    assert (found.intervals == ()) == found.is_biased
    assert (found.paired_tests == ()) == of_votes
    if not found.is_biased and found.share is None:
        assert ("normal" in found.intervals) == (found.influence is not None)
        assert ("BCa" in found.intervals) == (not of_votes)
    assert ("McNemar's exact test" in found.paired_tests) == (name == "accuracy")
    module, _, attribute = found.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    for section in ("Parameters", "Returns", "Examples"):
        assert f"\n{section}\n---" in inspect.getdoc(function)
    assert len(found.inputs) <= len(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AUROC", "auroc"),
        ("average-precision", "average_precision"),
        ("kappa", "fleiss_kappa"),
        ("", ""),
        ("\x1b[31mred", ""),
    ],
)
def test_an_unknown_name_gets_the_nearest_and_the_list(shroom, name, meant):
    code, out, err = shroom("list", "metrics", name)
    assert (code, out) == (2, "")
    assert "\x1b" not in err
    assert "the metrics are accuracy, rho," in err
    assert ("did you mean" in err) == bool(meant)
    assert not meant or f"no metric '{name}'; did you mean '{meant}'?" in err


def test_a_figure_of_annotators_is_no_metric_of_systems(shroom):
    with pytest.raises(ShroomError, match="of annotators"):
        metric("fleiss_kappa")
    code, _, err = shroom("score", "shroom/sample", "shroom/sample", "--metrics", "fleiss_kappa")
    assert code == 2
    assert "shroom gold agreement GOLD" in err
