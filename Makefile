# Every target sets itself up: Python >= 3.10 with venv, and g++ for what torch.compile builds. Nothing else.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP_FLAGS ?=
DEMO   ?= reproducers/decomp_nan_to_num_spectrum/script.py
CORPUS ?= reproducers
TEST_JOBS ?= auto
PYTEST = $(BIN)/python -m pytest -n $(TEST_JOBS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint types slow gpu bench docs clean

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv and install into it what constraints.txt pins

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "$(PYTHON) is older than Python 3.10. Next: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || \
		{ echo "No C++ compiler ($${CXX:-g++}): Inductor cannot build its kernels. Next: install g++." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_FLAGS) -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## Triage a bundled failing script and show where the results lie
	$(BIN)/triage run $(DEMO)
	@echo
	@echo "report:     triage-out/latest/report.md"
	@echo "reproducer: triage-out/latest/repro.py"

test: $(STAMP)  ## Run all tests but the long end-to-end ones, on all cores (TEST_JOBS=N)
	$(PYTEST) --dist worksteal -m "(quick or not e2e) and not slow and not gpu"

# Long tests race real processes on machines that others use: a failure counts if it comes twice, and is shown if it came once.
test-all: test  ## Run those and the long ones, but no test marked slow or gpu
	$(PYTEST) --dist loadgroup -m "e2e and not quick and not slow and not gpu" --reruns 1 --rerun-show-tracebacks -raR \
		--durations=40 --durations-min=10

lint: $(STAMP)  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## Check types
	$(BIN)/mypy

slow: $(STAMP)  ## Run the tests that download gigabytes or take very long
	$(BIN)/python -m pytest -m slow

gpu: $(STAMP)  ## Run the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu

bench: $(STAMP)  ## Run triage over a folder of cases (CORPUS=DIR) and print a table
	$(BIN)/python benchmarks/corpus.py $(CORPUS)

docs: $(STAMP)  ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site/index.html"

clean:  ## Remove the environment, caches and runs
	rm -rf $(VENV) triage-out benchmarks/out build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
