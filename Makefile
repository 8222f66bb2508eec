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
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings/overrides.d/fdlib.json
MAX_WORKERS := 8

export JUPYTER_PREFER_ENV_PATH = 1

# Jupyter refuses to run as root (containers) unless told; a PORT that you name is used or refused, never replaced.
LAB_FLAGS := --ServerApp.root_dir="$(CURDIR)" --ServerApp.port=$(PORT) \
  --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb
ifeq ($(shell id -u),0)
LAB_FLAGS += --allow-root
endif
ifeq ($(BROWSER),0)
LAB_FLAGS += --no-browser
endif
ifneq ($(origin PORT),file)
LAB_FLAGS += --ServerApp.port_retries=0
endif

# Lab asks whether it may fetch news, over every page, until its own setting says no.
define NO_NEWS
{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}
endef

ifneq ($(filter lab,$(MAKECMDGOALS)),)
ifneq ($(shell [ "$(PORT)" -ge 1 ] 2>/dev/null && [ "$(PORT)" -le 65535 ] && echo fits),fits)
$(error PORT: got '$(PORT)', takes a number from 1 to 65535)
endif
endif

# A .venv whose Python is gone (an upgrade, a moved folder) is made again, whatever its stamp says;
# so is one of another version than the PYTHON that you name.
VENV_VERSION := $(shell $(BIN)/python -V 2>/dev/null)
ifeq ($(VENV_VERSION),)
.PHONY: $(READY)
else ifneq ($(origin PYTHON),file)
ifneq ($(VENV_VERSION),$(shell "$(PYTHON)" -V 2>/dev/null || :))
.PHONY: $(READY)
OTHER_PYTHON := yes
endif
endif

.PHONY: help lab test gate course lint bench-course exercises clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.12   the Python to make .venv with (3.10 to 3.13)"
	@echo "  PORT=8888 BROWSER=0 where make lab serves, and whether it opens a browser"
	@echo "  PIP_ARGS=...        options for pip, such as --extra-index-url and an index that has torch for CPUs only"
	@echo "  PYTEST_ARGS=...     options for pytest"

# With .venv first on PATH, Lab's own terminals find fdlib and pytest.
lab: $(READY) $(LAB_SETTINGS) ## check this machine, then open JupyterLab at the first notebook
	@$(BIN)/fdlib doctor || echo "JupyterLab opens all the same. Notebook 00 shows this report again."
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m jupyterlab $(LAB_FLAGS)

test: $(READY) ## the whole test suite
	$(BIN)/python -m pytest -n auto --maxprocesses=$(MAX_WORKERS) --dist loadgroup $(PYTEST_ARGS)

gate: $(READY) ## prove the grader on skeletons, solutions, known mistakes and other answers
	$(BIN)/python -m pytest -n auto --maxprocesses=$(MAX_WORKERS) -m gate $(PYTEST_ARGS) tests/gate

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

$(LAB_SETTINGS): Makefile | $(READY)
	@mkdir -p $(@D) && echo '$(NO_NEWS)' > $@

define CHECK_PYTHON
import sys
found = sys.version_info[:2]
fits = (3, 10) <= found <= (3, 13)
print("fits" if fits else "This course needs Python 3.10 to 3.13; '$(PYTHON)' is %d.%d. $(NAME_ANOTHER)" % found)
endef
NAME_ANOTHER := Name another: make test PYTHON=python3.12
export CHECK_PYTHON

# The stamp is written last. An installation that was interrupted leaves the other file, and starts again from nothing.
$(READY): pyproject.toml constraints.txt
	@said=$$("$(PYTHON)" -c "$$CHECK_PYTHON" 2>/dev/null) && [ -n "$$said" ] \
	  || said="This course needs Python 3.10 to 3.13; '$(PYTHON)' does not run. $(NAME_ANOTHER)"; \
	  [ "$$said" = fits ] || { echo "$$said"; exit 1; }
	@if [ -e $(UNFINISHED) ] || [ -n "$(OTHER_PYTHON)" ]; then echo "Making $(VENV) anew."; rm -rf $(VENV); fi
	@mkdir -p $(VENV) && touch $(UNFINISHED)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV)
	@touch $(UNFINISHED)
	@echo "Installing torch, Triton, JupyterLab and what tests need into $(VENV): a download of some GB, several minutes."
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt $(PIP_ARGS) --editable '.[dev]'
	@rm -f $(UNFINISHED) && touch $@
