"""No verb imports a module because it lies in a folder or because a file names it.

Canaries lie in the working folder and beside every input, under the names of modules that the kit
imports and as ``canary``, which an edition, a recipe, a config and models name. Each writes down
that it was imported.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import click
import pytest
from conftest import ROOT, SAMPLE, annotate_inputs
from tiny_models import causal_model, change, encoder, write_modules

import shroom as kit
from shroom.cli import shroom as verbs
from shroom.core.problems import ShroomError

#: A command line for each verb. RECIPE stands for a detector, LM and ENCODER for a model.
LINES = {
    "check": "sub --gold gold --fix fixed.zip",
    "score": "sub gold --metrics all --no-ci",
    "compare": "sub sub2 gold --trials 9 --no-ci",
    "leaderboard": "systems gold --trials 9 --no-ci",
    "report": "sub sub2 gold -o report.html --trials 9 --no-ci",
    "predict": "RECIPE data -o predicted",
    "fit": "RECIPE data -o fitted.json --folds 2",
    "evaluate": "RECIPE --on data --runs runs --no-ci",
    "explain": "RECIPE data/val.model-aware.json --index 0",
    "calibrate": "sub gold -o calibrator.json",
    "ensemble": "sub sub2 --data gold -o combined",
    "rate": "data --labelled gold --detector RECIPE",
    "datasets describe": "semeval2024 gold --no-ci",
    "datasets convert": "semeval2024 gold -o converted.zip",
    "datasets fetch": "felm --to fetched --timeout 1 --yes",
    "datasets corrupt": "data/val.model-aware.json -o corrupted.json",
    "annotate run": "annotate.yaml",
    "annotate generate answers": "questions.jsonl --model LM -n 1 --max-tokens 3 -o answers.jsonl",
    "annotate generate queries": "seeds.jsonl -n 1 --model LM --dry-run -o queries.jsonl",
    "annotate probe train": "labelled.jsonl --model LM --folds 2 --no-ci -o probe",
    "annotate probe score": "questions.jsonl --probe probe -o probed.jsonl",
    "annotate probe report": "probe",
    "edition init": "-o new.toml",
    "edition show": "EDITION",
    "edition check": "EDITION",
    "edition schema": "",
    "gold check": "gold --no-ci",
    "gold agreement": "gold --no-ci",
    "gold rescore": "gold data systems --no-ci",
    "bundle": "--gold gold -o bundle --no-predictions",
    "list": "detectors",
}
#: Verbs that cannot end well here: no server is asked for files.
FAILS = ("datasets fetch",)
#: What the kit imports, some of it before the first line of a verb, some only where it is needed.
NAMESAKES = """
    __future__ typing json dataclasses hashlib pathlib csv html tomllib zipfile difflib email numpy
    click msgspec yaml jinja2 markupsafe jsonschema scipy sklearn torch transformers tokenizers
    onnxruntime sentence_transformers sacrebleu matplotlib pooch requests jieba scorer cli core
    metrics scoring
"""
EDITION = 'name = "own"\ntitle = "Own"\nyear = 2027\nmetrics = ["canary:METRIC"]\n'
COLUMN = "[[columns]]\nkey = 'a'\nmetric = 'canary.inside:METRIC'\n"


def leaves(command=verbs, name=""):
    """Yield the name of each verb, those in groups too, and its parameters by name."""
    if not isinstance(command, click.Group):
        yield name.strip(), {parameter.name: parameter.opts for parameter in command.params}
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        yield from leaves(command.get_command(context, word), f"{name} {word}")


VERBS = dict(leaves())


def write_canary(folder, *names):
    for name in ("canary", *names):
        (folder / f"{name}.py").write_text(
            "import os\nwith open(os.environ['CANARIES'], 'a') as file:\n"
            "    file.write(f'{__file__}\\n')\nMETRIC = Thing = None\n"
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with inputs for every verb, and canaries wherever one could be found."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("gold", "data", "sub", "sub2", "systems/one", "systems/two"):
        shutil.copytree(SAMPLE, folder / name)
    annotate_inputs(folder, "similarity")
    model = causal_model(folder / "lm")
    change(model, "config.json", auto_map={"AutoModelForCausalLM": "canary.Thing"})
    change(model, "tokenizer_config.json", auto_map={"AutoTokenizer": ["canary.Thing", None]})
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        write_canary(place, *NAMESAKES.split())
    return folder


@pytest.fixture
def canaries(tmp_path, monkeypatch):
    """Return a function that lists the canaries that were imported."""
    path = tmp_path / "canaries"
    monkeypatch.setenv("CANARIES", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Return a copy of the folder, in which modules could be imported, as the working folder."""
    # In this process, nothing but the kit keeps the namesakes from being imported.
    namesakes = shutil.ignore_patterns(*(f"{name}.py" for name in NAMESAKES.split()))
    copy = shutil.copytree(made, tmp_path / "copy", ignore=namesakes)
    monkeypatch.chdir(copy)
    monkeypatch.syspath_prepend(copy)
    monkeypatch.delitem(sys.modules, "canary", raising=False)
    return copy


def words(verb, **replaced):
    return [*verb.split(), *(replaced.get(word, word) for word in LINES[verb].split())]


def test_every_verb_has_a_line():
    assert sorted(LINES) == sorted(VERBS)


@pytest.mark.parametrize("module", ["shroom", "shroom.score"])
def test_python_m_imports_nothing_of_the_working_folder(module, made, canaries):
    line = [module, *(["score"] if module == "shroom" else []), "sub", "gold", "--no-ci"]
    done = run_in(made, "-m", *line)
    assert (done.returncode, canaries()) == (0, []), done.stderr


def run_in(folder, *line):
    """Run Python in a new process, in which no server can be reached."""
    closed = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    return subprocess.run(
        [sys.executable, *line],
        cwd=folder,
        env={**os.environ, **closed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


#: Runs each command line as ``python -m shroom`` does, in one process, and prints its exit code.
RUN = """
import sys
path = sys.path[:]
del sys.path[0]
import json, runpy
for line in json.loads(sys.argv[1]):
    sys.path[:], sys.argv = path, ["shroom", *line]
    print("#", *line, file=sys.stderr, flush=True)
    try:
        runpy.run_module("shroom", run_name="__main__")
    except SystemExit as done:
        print("exit code", done.code or 0, flush=True)
"""


def test_no_module_beside_an_input_is_imported(made, canaries):
    (made / "good.toml").write_text('name = "good"\ntitle = "Good"\nyear = 2027\n')
    lines = [words(verb, RECIPE="lexical", LM="lm", EDITION="good.toml") for verb in LINES]
    done = run_in(made, "-c", RUN, json.dumps(lines))
    assert canaries() == [], done.stderr
    codes = re.findall(r"^exit code (.*)", done.stdout, re.MULTILINE)
    failed = [verb for verb, code in zip(LINES, codes, strict=True) if code != "0"]
    assert failed == [*FAILS], done.stderr


@pytest.mark.parametrize(
    "text", [EDITION, EDITION.partition("metrics")[0] + COLUMN], ids=["metric", "column"]
)
@pytest.mark.parametrize("verb", [v for v in LINES if "LM" not in LINES[v] and v not in FAILS])
def test_no_edition_names_code(verb, text, folder, canaries, shroom):
    for place in ("gold", "data", "sub", "systems", "systems/one", "."):
        (folder / place / "edition.toml").write_text(text)
    line = words(verb, RECIPE="lexical", EDITION="edition.toml")
    by = VERBS[verb].get("edition", [])
    for further in [[], ["--edition", "edition.toml"]][: 2 if "--edition" in by else 1]:
        code, _, err = shroom(*line, *further)
        assert canaries() == []
        if by or verb == "edition check":
            assert (code, "Files cannot contain import paths" in err) == (1, True), err


@pytest.mark.parametrize("verb", [verb for verb in VERBS if "RECIPE" in LINES[verb]])
def test_no_recipe_names_code(verb, folder, canaries, shroom):
    (folder / "own.toml").write_text('detector = "canary:Thing"\n')
    code, _, err = shroom(*words(verb, RECIPE="own.toml"))
    assert canaries() == []
    assert (code, "own.toml: the detector 'canary:Thing' is an import path" in err) == (1, True)


def test_no_config_of_annotate_names_code(folder, canaries, shroom):
    config = {"data": "questions.jsonl", "output": "scored.jsonl"}
    config["scorers"] = [{"similarity": {"detector": "canary:Thing"}}]
    (folder / "annotate.yaml").write_text(json.dumps(config))
    code, _, err = shroom("annotate", "run", "annotate.yaml")
    assert (code, canaries()) == (1, [])
    assert "scorers[0]: the detector 'canary:Thing' is an import path" in err


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("canary.Thing", "own"),
        ("sentence_transformers.models.Router", "router"),  # which has a router with the canary
        ("sentence_transformers.SentenceTransformer", "inner"),
        ("sentence_transformers.models.Sentence", "inner"),
    ],
)
def test_no_model_folder_names_code(kind, place, folder, canaries, shroom):
    model = encoder(folder / "encoder")
    write_canary(model)
    write_modules(model, ("Transformer", ""), (kind, place))
    write_canary(encoder(model / "inner"))
    write_modules(model / "inner", ("Transformer", ""), ("canary.Thing", "own"))
    (model / "router" / "query_0").mkdir(parents=True)
    types = {"query_0": "sentence_transformers.models.Router", "document_0": "x.Y"}
    (model / "router" / "router_config.json").write_text(json.dumps({"types": types}))
    types = {"inner_0": "canary.Thing"}
    (model / "router" / "query_0" / "config.json").write_text(json.dumps({"types": types}))
    code, _, err = shroom("predict", "similarity", "data", "--model", model, "-o", "predicted")
    assert (code, canaries()) == (1, [])
    assert f'the module "{kind}" is not a plain module of sentence-transformers, and the kit' in err


def test_files_name_no_code_in_python_but_the_caller_may(folder, canaries):
    (folder / "gold" / "edition.toml").write_text(EDITION)
    (folder / "own.toml").write_text('detector = "canary:Thing"\n')
    for call in (
        lambda: kit.check("sub", "gold"),
        lambda: kit.score("sub", "gold"),
        lambda: kit.score("sub", "sub", edition="gold/edition.toml"),
        lambda: kit.leaderboard("systems", "gold"),
        lambda: kit.predict("own.toml", "data"),
    ):
        with pytest.raises(ShroomError, match="is an import path"):
            call()
    assert canaries() == []
    with pytest.raises(ShroomError, match="canary:"):
        kit.score("sub", "sub", metrics=["canary:METRIC"])
    with pytest.raises(ShroomError, match="canary:"):
        kit.detector("canary:Thing")
    assert len(canaries()) == 1
