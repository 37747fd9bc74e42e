# Everything runs in .venv. The first target that needs it makes it; it is renewed when
# pyproject.toml or constraints.txt change, and otherwise left alone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready
ARGS ?=
BENCHMARKS ?= passes latency cpu

.PHONY: help install lab test slow check format bench clean
.PHONY: check-rules check-format check-types check-imports
.DEFAULT_GOAL := help

help:
	@echo "make lab      open JupyterLab on notebooks/ (options: make lab ARGS='--no-browser --port 8899')"
	@echo "make test     run the test suite            (options: make test ARGS='-k expand')"
	@echo "make slow     run the tests marked slow"
	@echo "make check    ruff, formatting, types, import rules"
	@echo "make format   let ruff rewrite what it can"
	@echo "make bench    run benchmarks/    (one of them: make bench BENCHMARKS=cpu)"
	@echo "make clean    remove .venv and all caches"

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

lab: $(READY)
	$(BIN)/explorer lab $(ARGS)

test: $(READY)
	$(BIN)/pytest $(ARGS)

slow: $(READY)
	$(BIN)/pytest -m slow $(ARGS)

check: check-rules check-format check-types check-imports

check-rules: $(READY)
	$(BIN)/ruff check

check-format: $(READY)
	$(BIN)/ruff format --check

check-types: $(READY)
	$(BIN)/basedpyright

check-imports: $(READY)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name || exit 1; done

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -prune -exec rm -rf {} +
