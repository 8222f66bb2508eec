# make help lists the targets. Everything is installed into .venv, nothing outside this folder.

PYTHON ?= python3
PORT ?= 8888
BROWSER ?= 1
PIP_ARGS ?=
PYTEST_ARGS ?=
VENV ?= .venv

READY := $(VENV)/.ready
UNFINISHED := $(VENV)/.installing
BIN := $(VENV)/bin
MAX_WORKERS := 8

export JUPYTER_PREFER_ENV_PATH = 1

# Jupyter refuses to run as root (containers) unless told; a PORT that you name is used or refused, never replaced.
LAB_FLAGS := --ServerApp.root_dir="$(CURDIR)" --ServerApp.port=$(PORT) \
  --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb \
  --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate
ifeq ($(shell id -u),0)
LAB_FLAGS += --allow-root
endif
ifeq ($(BROWSER),0)
LAB_FLAGS += --no-browser
endif
ifneq ($(origin PORT),file)
LAB_FLAGS += --ServerApp.port_retries=0
endif

# A .venv whose Python is gone (an upgrade, a moved folder) is made again, whatever its stamp says;
# so is one of another version than the PYTHON that you name.
VENV_VERSION := $(shell $(BIN)/python -V 2>/dev/null)
ifeq ($(VENV_VERSION),)
.PHONY: $(READY)
else ifneq ($(origin PYTHON),file)
ifneq ($(VENV_VERSION),$(shell $(PYTHON) -V 2>/dev/null))
.PHONY: $(READY)
OTHER_PYTHON := yes
endif
endif

.PHONY: help lab test course lint bench-course exercises clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.12   the Python to make .venv with (3.10 to 3.13)"
	@echo "  PORT=8888 BROWSER=0 where make lab serves, and whether it opens a browser"
	@echo "  PIP_ARGS=...        options for pip, such as an index that has torch for CPUs only"
	@echo "  PYTEST_ARGS=...     options for pytest"

lab: $(READY) ## check this machine, then open JupyterLab at the first notebook
	@$(BIN)/fdlib doctor || echo "JupyterLab opens all the same. Notebook 00 shows this report again."
	$(BIN)/python -m jupyterlab $(LAB_FLAGS)

test: $(READY) ## the whole test suite
	$(BIN)/python -m pytest -n auto --maxprocesses=$(MAX_WORKERS) --dist loadgroup $(PYTEST_ARGS)

course: $(READY) ## execute every notebook headless
	$(BIN)/fdlib course

lint: $(READY) ## format, lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench-course: $(READY) ## seconds for import, grading and the notebooks
	$(BIN)/python tests/bench_course.py

exercises: $(READY) ## make exercises/ from solutions/
	$(BIN)/fdlib exercises build

clean: ## remove .venv and caches; your exercises stay
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define CHECK_PYTHON
import sys
found = sys.version_info[:2]
if not (3, 10) <= found <= (3, 13):
    sys.exit("This course needs Python 3.10 to 3.13; '$(PYTHON)' is %d.%d. Name another: make test PYTHON=python3.12" % found)
endef
export CHECK_PYTHON

# The stamp is written last. An installation that was interrupted leaves the other file, and starts again from nothing.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "'$(PYTHON)' was not found. Name a Python of 3.10 to 3.13: make test PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@if [ -e $(UNFINISHED) ] || [ -n "$(OTHER_PYTHON)" ]; then echo "Making $(VENV) anew."; rm -rf $(VENV); fi
	@mkdir -p $(VENV) && touch $(UNFINISHED)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@touch $(UNFINISHED)
	$(BIN)/python -m pip install --constraint constraints.txt $(PIP_ARGS) --editable '.[dev]'
	@rm -f $(UNFINISHED) && touch $@
