# `make demo` and `make test` need only Python (3.11 or newer) and make; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
PROGRAMS := valgrind chromium postgresql
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Three processes for two cores, as tests often wait for others; who has done its own tests takes some of the others'.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 3 // 2)')
PYTEST := $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal
# Tests start hundreds of interpreters: where a shell forbids bytecode, each would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=
# Tests run in a process per core, where pools of more threads wait for each other and burn the cores meanwhile.
# Workers of a race have the threads that it gives them.
test test-all coverage quick: export OPENBLAS_NUM_THREADS := 1
test test-all coverage quick: export OMP_NUM_THREADS := 1

.PHONY: demo test test-all environments $(PROGRAMS) coverage quick mutants fuzz soak lint generated texts benchmarks examples documents clean

demo: $(VENV)/demo.ok
	$(BIN)/onnxperf demo

# What the checks of each commit need; `make test-all`, the check before a release, leaves nothing out.
test: lint environments $(PROGRAMS)
	$(PYTEST) -m "not thorough"

test-all: export ONNXPERF_HYPOTHESIS := all
test-all: lint environments $(PROGRAMS)
	$(PYTEST)

# What tests need of other versions of onnxruntime, kept in $(VENV); without a registry, those tests are skipped.
environments: $(VENV)/dev.ok
	@$(BIN)/python -m tests.environments.prepare

# Debian's packages, for tests that are skipped where they are missing. On a machine of CI, or if you ask for it, root installs them.
valgrind: PURPOSE := that count instructions
chromium: PURPOSE := in a browser
postgresql: PURPOSE := with PostgreSQL
$(PROGRAMS):
	@command -v $@ >/dev/null || ls /usr/lib/$@/*/bin/initdb >/dev/null 2>&1 || \
	if [ -n "$$ONNXPERF_INSTALL$$CI" ] && [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy $@; else \
	echo "tests $(PURPOSE) are skipped: $@ is not installed (apt-get install $@, or as root: make $(MAKECMDGOALS) ONNXPERF_INSTALL=1)"; fi

coverage: $(VENV)/dev.ok
	$(PYTEST) --cov=onnxperf

# While you work: what needs no process of its own; commands and public functions are left to `make test`.
LEFT_OUT := api cli serve cluster environments fuzz test_notebooks.py test_pytest_plugin.py
quick: $(VENV)/dev.ok
	$(PYTEST) -m "not slow and not thorough" $(addprefix --ignore=tests/,$(LEFT_OUT))

# Some hours for everything; one module: make mutants MUTANTS='onnxperf.analyze.judges.comparison*'. See docs/mutants.md.
mutants: $(VENV)/dev.ok
	$(PIP) install -c constraints.txt mutmut
	$(BIN)/mutmut run $(MUTANTS)
	$(BIN)/mutmut results

# About an hour; what breaks something is left in .fuzz. See CONTRIBUTING.md. One target: make fuzz FUZZED=trace
FUZZED ?= model trace profile equation plan input message stored
SECONDS_EACH ?= 240
fuzz: $(VENV)/dev.ok
	ONNXPERF_HYPOTHESIS=fuzz $(BIN)/python -m pytest -n logical tests/fuzz/test_fuzz.py -k '$(subst $() , or ,$(strip $(FUZZED)))'
	ONNXPERF_HYPOTHESIS=fuzz $(BIN)/python -m pytest -n logical tests/runtimes/numpy/test_operators_against_onnxruntime.py
	-$(PIP) install -c constraints.txt atheris
	for target in $(FUZZED); do $(BIN)/python -m tests.fuzz.guided $$target $(SECONDS_EACH) || exit 1; done

MINUTES ?= 30
soak: $(VENV)/dev.ok
	$(BIN)/python -m benchmarks.hardening soak=$(MINUTES)

lint: $(VENV)/dev.ok
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What is made from the code: signatures for mypy and editors, and the reference tables of the docs.
generated: $(VENV)/dev.ok
	$(BIN)/python docs/make_stubs.py
	$(BIN)/python docs/make_options.py
	$(BIN)/python docs/make_files.py
	$(BIN)/python docs/make_records.py

# Every text that a user can see, with file and line; of some files: make texts TEXTS=cli/
texts:
	@$(PYTHON) docs/make_texts.py $(TEXTS)

benchmarks: $(VENV)/dev.ok
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.fidelity
	$(BIN)/python -m benchmarks.numpy_runtime
	$(BIN)/python -m benchmarks.networks
	$(BIN)/python -m benchmarks.operators
	$(PIP) install -c constraints.txt memory-profiler onnx-array-api polars torch
	$(BIN)/python -m benchmarks.trace
	$(BIN)/python -m benchmarks.einsum
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.views
	$(BIN)/python -m benchmarks.profile
	$(BIN)/python -m benchmarks.roofline
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.gate
	$(BIN)/python -m benchmarks.tune_rates
	$(BIN)/python -m benchmarks.history
	$(BIN)/python -m benchmarks.history_rates
	$(BIN)/python -m benchmarks.scale

examples: $(VENV)/dev.ok
	$(BIN)/python examples/call_styles.py
	$(BIN)/python examples/profile_model.py
	$(BIN)/python examples/profile_kmeans.py
	$(BIN)/python examples/einsum.py
	$(BIN)/python examples/frameworks.py
	$(BIN)/python examples/memory.py

# The steps of the five documents on reduced sizes, in Python and on the command line (docs/documents.md); about ten minutes.
documents: $(VENV)/dev.ok
	$(BIN)/python -m examples.documents

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz hardening-found .coverage* mutants

$(VENV)/demo.ok: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[cpu]'
	touch $@

$(VENV)/dev.ok: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

# Debian ships venv apart from Python; it is installed only where it is missing and we are allowed to.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "onnxperf needs Python 3.11 or newer: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -qy python3-venv; } || { echo "install the package python3-venv first"; exit 1; }
	$(PYTHON) -m venv $(VENV)
