# Everything a person needs: setup, dist, serve, demo, test, check, nightly, long, bench, docs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# How many tests run at once: many of them wait for a server.
WORKERS ?= 3

.PHONY: help setup dist walk faults soak simulate-scale serve test test-frameworks test-typescript test-mcp-conformance test-coding-agents check nightly long lint types contracts bench bench-profile bench-peers agentdojo conformance docs demo clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         two minutes with an agent that should not be left alone"
	@echo "make serve        start the gateway on 127.0.0.1:8000 (QWED_HOST, QWED_PORT, QWED_DATABASE change that)"
	@echo "make test         run the whole test suite, in small sizes (public vectors: QWED_VECTORS names their folder)"
	@echo "make test-frameworks  run the middleware inside the real agent frameworks"
	@echo "make test-typescript  check and run the TypeScript package against a real gateway"
	@echo "make test-mcp-conformance  the official MCP suite, against a server alone and behind the proxy"
	@echo "make test-coding-agents  run the real coding agents behind their hooks, against a scripted model"
	@echo "make check        lint, types, import contracts, tests"
	@echo ".ci/run           tier 1, before every change lands: make check on a busy machine and in a lone clone, frameworks"
	@echo "make nightly      tier 2: every test in larger sizes, faults again and again, a short soak, 200 000 rows"
	@echo "make long         tier 3: the full figures, hours of them; kept in docs/benchmarks/long-DATE.txt"
	@echo "make walk         print the path of one decision through the code"
	@echo "make bench        measure, and print one report"
	@echo "make bench-profile  where the time of a decision goes, by phase"
	@echo "make faults       kill, stop, pause and fill everything ten times, under load; what held, as a table"
	@echo "make simulate-scale  a year of a million agents in 500 cells, from measured costs; writes docs/scale.md"
	@echo "make soak         ten minutes of mixed traffic on two workers: does anything grow?"
	@echo "make bench-peers  measure QWED beside the packages one would pick instead"
	@echo "make agentdojo    replay AgentDojo's tasks through the gateway"
	@echo "make conformance  run the public vectors and the documents' snippets, and print a table"
	@echo "make docs         build the documentation into build/site; warnings are errors"
	@echo "make dist         build the wheel into dist/, to install anywhere"
	@echo "make setup        build $(VENV)"

setup: $(READY)

# uv fills the environment ten times faster than pip; where it cannot be had, pip does the same work.
$(READY): pyproject.toml constraints.txt
	@echo "building $(VENV), once: about a minute ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check uv 2>/dev/null || true
	@if $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt -e '.[all]' --group dev; then :; else \
	  echo "uv could not install; using pip" && \
	  $(BIN)/pip install --quiet --upgrade 'pip>=25.1' && \
	  $(BIN)/pip install --quiet -c constraints.txt -e '.[all]' --group dev; fi
	@touch $(READY)

serve: $(READY)
	@exec $(BIN)/qwed serve

test: $(READY)
	@scripts/install-browser
	@scripts/install-bubblewrap
	@scripts/install-proxies
	@scripts/install-softhsm
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# Three cached environments: see scripts/test-frameworks.
test-frameworks:
	scripts/test-frameworks

test-typescript:
	scripts/test-typescript

test-mcp-conformance:
	scripts/test-mcp-conformance

# The real coding agents from npm, kept in .coding-agents: see scripts/test-coding-agents.
test-coding-agents:
	scripts/test-coding-agents

lint: $(READY)
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports --no-cache

check: lint types contracts test

nightly long: $(READY)
	@scripts/install-browser
	scripts/run-tier $@

bench: $(READY)
	$(BIN)/python -m bench --json .bench/bench.json

bench-profile: $(READY)
	$(BIN)/python -m bench.phases

walk: $(READY)
	@$(BIN)/python -m bench.walk

# Ten times each: nothing approved twice, nothing answered and lost, no retry that ends otherwise.
FAULTS ?= 10
faults: $(READY)
	$(BIN)/python -m pytest -q --no-header --timeout 3600 --repetitions $(FAULTS) -p tests.support.fault_table \
	  tests/e2e/test_cluster_faults.py tests/e2e/test_crash.py tests/e2e/test_full_disk.py tests/contract/test_idempotency.py

# A year of a million agents in 500 cells, from measured costs; writes docs/scale.md.
simulate-scale: $(READY)
	$(BIN)/python -m bench.cells_simulation

soak: $(READY)
	$(BIN)/python -m bench.soak_run

bench-peers: $(READY)
	$(BIN)/python -m bench.peers

agentdojo: $(READY)
	$(BIN)/python -m bench.agentdojo

conformance: $(READY)
	$(BIN)/python -m pytest tests/conformance -q --no-header -p tests.support.conformance_table

docs: $(READY)
	$(BIN)/python scripts/generate-reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean --quiet
	@echo "read it: $(BIN)/python -m http.server -d build/site 8001, then http://127.0.0.1:8001"

# One wheel: the one that was built before would be installed by a pattern.
dist: $(READY)
	@rm -rf dist
	@$(BIN)/uv build --quiet --wheel --out-dir dist . || $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

demo: $(READY)
	@$(BIN)/python examples/demo.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
