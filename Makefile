# Everything runs in .venv, which is made and brought up to date when it is needed.

BIN := .venv/bin
READY := .venv/.ready
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo check test bench clean java

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Make .venv with everything needed to work on Anabranch

demo: java $(READY) ## Version 200,000 orders on a local Spark: a first session
	@$(BIN)/ana demo

check: $(READY) ## Check format, lint, types and architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --quiet tests/test_architecture.py

test: java $(READY) ## Run all tests; PYTEST_ARGS="-n 4 -k commit" is handed on
	$(BIN)/pytest $(PYTEST_ARGS)

bench: java $(READY) ## Measure
	$(BIN)/python -m benchmarks

clean: ## Remove what tools left behind; .venv stays
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

java:
	@scripts/check_java

$(READY): pyproject.toml scripts/make_venv
	@scripts/make_venv .venv
	@touch $@
