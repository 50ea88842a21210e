# Everything a newcomer or CI needs; `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup models baseline table train test lint bench bundle docs clean

PYTHON ?= python3
BIN := .venv/bin
# Real data where there are any, else the sample that ships with the kit.
SHROOM_DATA ?= $(wildcard ../shared/data)
# What `make baseline` runs, and the recipes that need neither torch nor a download.
RECIPE ?= cross-encoder
LIGHT := cross-encoder lexical
# What `make train` begins from, and the labelled data that it ends with.
ENCODER ?= .venv/encoders/all-mpnet-base-v2
LABELLED := trial-v1.json val.model-agnostic.json val.model-aware.v2.json
# What `make bench` runs, in its order, and what ONLY alone asks for, as it takes an hour.
ENDURING := endurance
BENCHES := engine startup scoring resampling comparing coverage spans loading annotate scale
INSTALL = $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
DATA := $(or $(wildcard $(SHROOM_DATA:%=%/semeval2024)),shroom/sample)
export SHROOM_DATA

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: .venv/ready  ## make .venv with everything that is pinned in constraints.txt

.venv/ready: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	@# setuptools warns of every editable install; there is nothing in it to act on
	PYTHONWARNINGS=ignore $(INSTALL) -e '.[dev,docs]'
	$(BIN)/python -m compileall -q shroom  # so that the first command starts as fast as the next
	@touch $@

models: .venv/models  ## add torch and transformers, which the shipped model does without

.venv/models: .venv/ready
	PYTHONWARNINGS=ignore $(INSTALL) -e '.[models]'
	@touch $@

baseline: $(if $(filter $(LIGHT),$(RECIPE)),setup,models)  ## run RECIPE: write submissions/RECIPE, check it, score it
	@rm -rf submissions/$(RECIPE)
	@case $(DATA) in shroom/sample) echo "no real data found: this is the sample, for trying the tools only";; esac
	@# its record tells the time that it takes, so nothing may come out of the cache
	$(BIN)/shroom predict baselines/$(RECIPE).toml $(DATA) -o submissions/$(RECIPE) --no-cache
	$(BIN)/shroom check submissions/$(RECIPE) --data $(DATA)
	$(BIN)/shroom score submissions/$(RECIPE) $(DATA)

table: setup  ## write the records of all runs into the table of baselines/README.md
	$(BIN)/python baselines/table.py

train: models  ## make the shipped model again (hours on a CPU; needs the real data)
	$(BIN)/python baselines/training/encoder.py $(ENCODER)
	$(BIN)/shroom fit baselines/training/cross-encoder.toml $(LABELLED:%=$(DATA)/%) --model $(ENCODER) \
		--folds 5 -o shroom/models/cross-encoder

test: models  ## run every test (ARGS='-m models': those that compute with a model)
	$(BIN)/python -m pytest $(ARGS)

lint: setup  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: export SHROOM_NO_CACHE = 1
bench: models  ## measure speed and memory beside peers, write docs/benchmarks.md (ONLY=NAME: one of them)
	$(INSTALL) -e '.[bench]'
	@failed=; for name in $(or $(ONLY),$(BENCHES)); do \
		echo "== $$name"; \
		$(BIN)/python benchmarks/$$name.py --json benchmarks/results/$$name.json || failed="$$failed $$name"; \
	done; \
	$(BIN)/python benchmarks/page.py && test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

bundle: setup  ## build the competition bundle into bundle/
	$(BIN)/shroom bundle -o bundle $(if $(findstring sample,$(DATA)),,--gold $(DATA))

docs: setup  ## build the documentation into site/
	$(BIN)/mkdocs build --strict -q

clean:  ## remove what the other targets made
	rm -rf .venv build bundle site submissions/*/ *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
