# Everything a fresh machine needs: Linux, Python 3.11+ with venv, git, make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -q

.PHONY: help install dev demo test test-crash bench lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed ## Rhumbline in .venv; leaves .venv/bin/rhumb

dev: $(VENV)/.installed-dev ## the same with the tools for tests

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Rhumbline needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml infra/install/runtime.lock | $(BIN)/python
	@echo "Installing Rhumbline into $(VENV) (about a minute on a fresh machine)"
	$(PIP) install --require-hashes -r infra/install/runtime.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed infra/install/dev.lock
	$(PIP) install --require-hashes -r infra/install/dev.lock
	@touch $@

demo: install ## one goal on a sample application, from nothing to a promoted commit
	@$(BIN)/rhumb doctor
	@$(BIN)/rhumb demo

test: dev ## everything that has to hold: style, types, layers, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-crash: dev ## every crash window and 100 random kills: takes half an hour, lists them in build/crash-windows.txt
	@rm -f build/crash-windows.txt
	CRASH_TESTS=all $(BIN)/python -m pytest tests/crash -n 2 --dist worksteal

bench: dev ## measures, as a table and as JSON in build/bench.json
	@$(BIN)/python -m infra.bench

lock: ## both lock files again, from pyproject.toml
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra build pyproject.toml -o infra/install/runtime.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --extra dev pyproject.toml -o infra/install/dev.lock

clean: ## the virtual environment and the caches
	rm -rf $(VENV) .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
