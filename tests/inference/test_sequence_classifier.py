"""Which models change themselves by the length of what they read."""

import json
from types import SimpleNamespace

import pytest
from transformers import ModernBertConfig

from shroom.inference.sequence_classifier import _changes

LONG = {"short_factor": [1.0], "long_factor": [2.0], "original_max_position_embeddings": 64}


def config(**told):
    told = {"model_type": "llama", **told}
    return SimpleNamespace(to_json_string=lambda **_: json.dumps(told))


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"rope_scaling": None},
        {"rope_scaling": {}},
        {"rope_scaling": "dynamic"},
        {"rope_scaling": ["dynamic"]},
        {"rope_scaling": 2.0},
        {"rope_scaling": {"factor": 2.0}},
        {"rope_scaling": {"type": None, "rope_type": ["x"]}},
        {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "yarn"}, "rope_scaling": None},
        {"rope_parameters": {"sliding_attention": None, "full_attention": {"rope_type": "llama3"}}},
        {"text_config": None, "encoder": {"model_type": "bert"}},
    ],
    ids=str,
)
def test_most_do_not(told):
    assert not _changes(config(**told))


@pytest.mark.parametrize(
    "told",
    [
        {"model_type": "big_bird"},
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
        {"rope_scaling": {"type": "longrope", "rope_type": "default", **LONG}},
        {"rope_scaling": {"type": "linear"}, "rope_parameters": {"rope_type": "dynamic"}},
        {"rope_parameters": {"rope_type": "longrope", **LONG}, "rope_scaling": None},
        {"rope_parameters": {"sliding_attention": {}, "full_attention": {"type": "dynamic"}}},
        {"text_config": {"rope_scaling": {"type": "dynamic"}}},
        {"encoder": {"text_config": {"rope_parameters": {"main": {"rope_type": "longrope"}}}}},
        {"encoder": {"model_type": "bigbird_pegasus"}},
    ],
    ids=str,
)
def test_some_do(told):
    assert _changes(config(**told))


@pytest.mark.parametrize("kind", ["default", "dynamic"])
def test_a_config_of_transformers_with_layer_types(kind):
    told = {"rope_type": kind, "rope_theta": 10000.0, "factor": 2.0}
    made = ModernBertConfig(
        rope_parameters={"full_attention": told, "sliding_attention": dict(told)}
    )
    assert _changes(made) == (kind == "dynamic")
