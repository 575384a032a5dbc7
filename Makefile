PYTHON ?= python3
# Worker processes of the tests: a number, or auto for three to two cores.
JOBS ?= auto

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EQUIPPED := $(VENV)/.equipped
# Real tokenizers that tests count the budget of a context with, and the rules of accessibility for the dashboard.
NODE_PACKAGES := gpt-tokenizer@4.0.0 @anthropic-ai/tokenizer@0.0.4 axe-core@4.14.1
# What `make peers` measures beside memhub; the service needs a Python whose sqlite3 loads extensions.
PEER_NPM := @modelcontextprotocol/server-memory@2026.8.31
PEER_PIP := mcp-memory-service==12.4.0
PEER_PYTHON ?= $(firstword $(wildcard /usr/bin/python3) $(PYTHON))
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help install demo recording test bench soak conformance peers eval lint format schema lock clean

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(INSTALLED) ## .venv with memhub in it, without the tools of its tests

demo: $(INSTALLED) ## two clients share a memory, reverse a decision and find only the current one
	@$(BIN)/memhub demo

recording: $(INSTALLED) ## writes docs/demo.svg anew: a real run of the demo
	@$(BIN)/python -m ops.recording docs/demo.svg

test: $(EQUIPPED) ## every test; what this machine lacks is skipped and named
	@! command -v npm >/dev/null || npm install --prefix build/node --no-audit --no-fund --no-save --no-package-lock \
		--silent $(NODE_PACKAGES) || echo 'the npm packages could not be installed: the tests that need them are skipped'
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

conformance: $(EQUIPPED) ## the official MCP suite against a running server, both revisions; needs npm
	mkdir -p build/conformance
	cp tests/conformance/package.json build/conformance/
	npm install --prefix build/conformance --no-audit --no-fund --no-package-lock --silent
	$(BIN)/python -m tests.conformance build/conformance

bench: $(EQUIPPED) ## the benchmark: prints a table, fails on nothing
	$(BIN)/python -m tests.bench

peers: $(EQUIPPED) ## memhub beside the official server-memory and mcp-memory-service; needs npm
	npm install --prefix build/peers --no-audit --no-fund --no-save --no-package-lock --silent $(PEER_NPM)
	$(PEER_PYTHON) -m venv build/peers/python
	build/peers/python/bin/python -m pip --disable-pip-version-check --no-input install --quiet $(PEER_PIP)
	$(BIN)/python -m tests.bench.peers build/peers

soak: $(EQUIPPED) ## 200 clients of one server for five minutes, some of them stalled; fails on an error or growing memory
	$(BIN)/python -m tests.soak $(ARGS)

eval: $(EQUIPPED) ## search quality over the graded set, every strategy side by side; ARGS=--check holds the baseline
	$(BIN)/python -m tests.eval $(ARGS)

lint: $(EQUIPPED) ## formatter, linter, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(EQUIPPED) ## formats and mends what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: $(EQUIPPED) ## writes tests/schema.sql anew: what the migrations add up to
	$(BIN)/python -m tests.schema.dump

lock: ## resolves pyproject.toml again, for every platform and Python 3.11 or later
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip --disable-pip-version-check install --quiet uv
	build/lock/bin/uv pip compile pyproject.toml --group dev --output-file requirements.lock --upgrade --quiet \
		--universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
	build/lock/bin/uv pip compile pyproject.toml --constraint requirements.lock --output-file ops/deploy/requirements.lock \
		--quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
	build/lock/bin/uv pip compile --group build --constraint requirements.lock --output-file ops/deploy/build.lock \
		--quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url

clean: ## removes what was made here
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The build tools are locked too, so that installing ourselves downloads nothing that has no hash.
$(INSTALLED): ops/deploy/requirements.lock ops/deploy/build.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memhub needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv --clear $(VENV) || { echo 'On Debian: apt-get install python3-venv' >&2; exit 1; }
	@echo 'installing what memhub needs, some 450 MB: a minute or two the first time'
	$(PIP) install --quiet --require-hashes --requirement ops/deploy/requirements.lock --requirement ops/deploy/build.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(EQUIPPED): $(INSTALLED) requirements.lock
	@echo 'installing the tools of the tests, some 270 MB'
	$(PIP) install --quiet --require-hashes --requirement requirements.lock
	@touch $@
