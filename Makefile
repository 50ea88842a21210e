# Everything a newcomer or CI needs; `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help setup baseline test lint bench bundle docs clean

PYTHON ?= python3
BIN := .venv/bin
# Real data where there are any, else the sample that ships with the kit.
SHROOM_DATA ?= $(wildcard ../shared/data)
DATA := $(or $(wildcard $(SHROOM_DATA:%=%/semeval2024)),shroom/sample)
export SHROOM_DATA

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

setup: .venv/ready  ## make .venv with everything that is pinned in constraints.txt

.venv/ready: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	@# setuptools warns of every editable install; there is nothing in it to act on
	PYTHONWARNINGS=ignore $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	$(BIN)/python -m compileall -q shroom  # so that the first command starts as fast as the next
	@touch $@

baseline: setup  ## run the lexical baseline: write submissions/lexical, check it, score it
	@rm -rf submissions/lexical
	@case $(DATA) in shroom/sample) echo "no real data found: this is the sample, for trying the tools only";; esac
	$(BIN)/shroom predict lexical $(DATA) -o submissions/lexical
	$(BIN)/shroom check submissions/lexical --data $(DATA)
	$(BIN)/shroom score submissions/lexical $(DATA)

test: setup  ## run every test
	$(BIN)/python -m pytest

lint: setup  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup  ## measure speed and memory beside peers (minutes)
	$(BIN)/python benchmarks/scoring.py
	$(BIN)/python benchmarks/resampling.py

bundle: setup  ## build the competition bundle into bundle/
	$(BIN)/shroom bundle -o bundle $(if $(findstring sample,$(DATA)),,--gold $(DATA))

docs: setup  ## build the documentation into site/
	$(BIN)/mkdocs build --strict -q

clean:  ## remove what the other targets made
	rm -rf .venv build bundle site submissions/lexical *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
