# Each target sets up what it needs. PYTHON names the interpreter (3.11 or newer) the environment is made from.
PYTHON ?= python3
DERIVE_FUZZ ?= 20
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

.DEFAULT_GOAL := help
.PHONY: help setup report test quick slow mutants fuzz coq coq-mutants bench lint clean picture

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "derive needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: $(STAMP)  ## make the environment .venv

report: $(STAMP)  ## check the catalogue and write reports/
	@$(BIN)/derive report

test: $(STAMP)  ## run the tests
	@$(BIN)/python -m pytest -n auto -m 'not slow'

slow: $(STAMP)  ## run the tests that take long: browsers, pdflatex, builds
	@$(BIN)/python -m pytest -m slow

quick: $(STAMP)  ## run the tests of the terms, the kernel and the language
	@$(BIN)/python -m pytest -q tests/test_term.py tests/test_kernel.py tests/test_language_accepts.py tests/test_language_printer.py tests/test_layers.py

mutants: $(STAMP)  ## damage proofs step by step and see that the kernel refuses each
	@$(BIN)/python -m tests.mutants

fuzz: $(STAMP)  ## search for something false that is proved, with DERIVE_FUZZ (20) times the claims
	@DERIVE_FUZZ=$(DERIVE_FUZZ) $(BIN)/python -m pytest tests/test_soundness_fuzz.py

coq: $(STAMP)  ## have Coq check the catalogue's proofs again, if it is installed
	@$(BIN)/python -m derive.cli_recheck

bench: $(STAMP)  ## measure generated code beside NumPy, SciPy, PyTorch and JAX, as far as they are installed
	@$(BIN)/python -m benchmarks.run

picture: $(STAMP)  ## draw the picture of the README, docs/report.png
	@$(BIN)/python -m tests.picture

coq-mutants: $(STAMP)  ## damage proofs and statements and see that Coq refuses each
	@$(BIN)/python -m tests.coq_mutants

lint: $(STAMP)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

clean:  ## remove what the other targets made, reports excepted
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find derive tests -name __pycache__ -prune -exec rm -rf {} +
