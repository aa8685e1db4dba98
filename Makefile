# Everything runs in .venv, which is made and brought up to date when it is needed; .venv-oldest has the oldest PySpark.

BIN := .venv/bin
READY := .venv/.ready
OLDEST := .venv-oldest
PEERS := .venv-peers
PYTEST_ARGS ?= -n 2
PYTEST := pytest --dist loadgroup --no-loadscope-reorder --durations 40 --durations-min 0.5

# Python keeps what it compiled, the tests included, also where it is told not to: that takes half a minute each time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo check quick test test-all prove test-spark-oldest bench bench-peers clean java

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## Make .venv with everything needed to work on Anabranch

demo: java .venv/.demo ## Version 200,000 orders on a local Spark: a first session
	@$(BIN)/ana demo

check: $(READY) ## Check format, lint, types and architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest --quiet tests/test_architecture.py

quick: $(READY) ## Run what needs neither Java nor a server: a minute and a half
	$(BIN)/$(PYTEST) --quick $(PYTEST_ARGS)

test: java $(READY) ## Run the tests; in two processes; PYTEST_ARGS="-n 4 -k commit" is handed on
	$(BIN)/$(PYTEST) $(PYTEST_ARGS)

test-all: java $(READY) ## Run also every proof, every step of a crash, and all that has a twin on the other engine or catalogue
	$(BIN)/$(PYTEST) --all $(PYTEST_ARGS)

prove: java $(READY) ## Compare the engines in all that DuckDB may compute, and note what that holds for
	$(BIN)/$(PYTEST) --all -m proof $(PYTEST_ARGS) tests/proven
	$(BIN)/python -m tests.proven.stamp

test-spark-oldest: java $(OLDEST)/.ready ## Run the contract of Spark sessions, classic and Connect, on PySpark 4.0
	$(OLDEST)/bin/$(PYTEST) --all -m contract $(PYTEST_ARGS)

bench: java $(READY) ## Measure
	$(BIN)/python -m benchmarks

bench-peers: java $(READY) $(PEERS)/.ready ## Do the ten tasks of a table's life beside doltlite, DuckLake, plain Spark, Iceberg and Delta
	$(BIN)/python -m benchmarks.peers process --rounds 3 $(PEERS_ARGS)
	$(BIN)/python -m benchmarks.peers spark $(PEERS_ARGS)

clean: ## Remove what tools left behind; the virtual environments stay
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

java:
	@scripts/check_java

# The demo needs what users need; .venv, once it has all tools, has that, too.
.venv/.demo: pyproject.toml scripts/make_venv
	@test -e $(READY) -a $(READY) -nt pyproject.toml || EXTRAS=spark scripts/make_venv .venv
	@touch $@

$(READY): pyproject.toml scripts/make_venv
	@scripts/make_venv .venv
	@touch $@

$(OLDEST)/.ready: pyproject.toml scripts/make_venv
	@scripts/make_venv $(OLDEST) 'pyspark>=4.0,<4.1'
	@touch $@

# What Anabranch is compared with, apart from it: DuckLake needs a DuckDB of its own, Iceberg and Delta an older PySpark.
$(PEERS)/.ready: scripts/make_peers
	@scripts/make_peers $(PEERS)
	@touch $@
