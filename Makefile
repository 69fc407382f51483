# Thin names for the real commands; `make train ARGS="--run.seed 1"` passes flags on.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?=
ARGS ?=
BIN := $(VENV)/bin
LOCK ?=
TARGETS ?=
RECORD ?= runs/record-$(shell date +%Y%m%d-%H%M%S)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOWEST := $(VENV)-lowest/bin
# With a restart, --dist loadfile waits for ever after the crash of a worker.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

.PHONY: help train record test test-all faults lowest lock signature bench accelerators lint types format clean
.DEFAULT_GOAL := help

help:
	@echo "make train   install into $(VENV) and train (ARGS=\"--config configs/...\"; EXTRAS=cuda or tpu)"
	@echo "make record  train for an hour, and rate the network: docs/notebook/leaderboard.md (RECORD=FOLDER resumes one)"
	@echo "make test    install with the test tools and run pytest (ARGS=\"-m 'unit and not slow'\" for the quickest)"
	@echo "make test-all   make test, then the thorough and the slow tests"
	@echo "make faults  damage files, fill disks, send signals and kill processes: docs/reliability.md"
	@echo "make lowest  install the lowest versions that pyproject.toml allows, and test them: docs/notebook/dependencies.md"
	@echo "make lock    renew requirements.lock, the versions of CI (make LOCK=requirements.lock test installs them)"
	@echo "make signature  compare the behaviour of self-play and learning with the stored numbers"
	@echo "make bench   measure speed and memory against others, into benchmarks/README.md (ARGS=\"--preset gpu\")"
	@echo "make accelerators  compile for an H100 and for TPUs without one: docs/devices.md (TARGETS=\"h100 v5e\")"
	@echo "make lint    ruff check and ruff format --check; make format fixes"
	@echo "make types   mypy azo"
	@echo "make clean   remove $(VENV) and caches, not runs"

# A stamp is renewed only when pyproject.toml changes, so a second `make` installs nothing.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v >= (3, 11) or sys.exit("$(PYTHON) is Python %d.%d, but azo needs 3.11 or later: make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-run$(EXTRAS): pyproject.toml | $(BIN)/python
	$(PIP) -e ".$(if $(EXTRAS),[$(EXTRAS)])"
	@touch $@

# An editable installation has no hash: the lock has all that it needs, the build's packages too.
$(VENV)/.installed-test: pyproject.toml $(LOCK) | $(BIN)/python
ifdef LOCK
	$(PIP) --require-hashes -r $(LOCK)
	$(PIP) --no-deps --no-build-isolation -e .
else
	$(PIP) -e ".[test]"
endif
	@touch $@

train: $(VENV)/.installed-run$(EXTRAS)
	$(BIN)/azo train $(ARGS)

# An hour, then about as long for the matches; the machine should be idle otherwise.
record: RECORD := $(RECORD)
record: $(VENV)/.installed-run$(EXTRAS)
	$(BIN)/azo train --minutes 60 --run.folder $(RECORD) $(ARGS)
	$(BIN)/python -m scripts.leaderboard $(RECORD) --records docs/records.jsonl --page docs/notebook/leaderboard.md

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(WORKERS) $(ARGS)

test-all: test
	$(BIN)/python -m pytest $(WORKERS) -m "(thorough or slow) and not gpu and not faults" $(ARGS)

faults: $(VENV)/.installed-test
	timeout 5400 $(BIN)/python -m pytest tests/faults -m "faults or not faults" $(ARGS)

lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct -e ".[test]"
	$(LOWEST)/python -m pytest -m "unit and not slow and not gpu" $(ARGS)
	$(LOWEST)/python -m pytest tests/faults/test_damaged_checkpoints.py -k repeats_the_lost_iterations

lock: $(BIN)/python
	$(PIP) uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --extra test \
	  --generate-hashes --custom-compile-command "make lock" --upgrade -o requirements.lock pyproject.toml

signature: $(VENV)/.installed-test
	$(BIN)/python scripts/signature.py

bench: $(VENV)/.installed-run$(EXTRAS) $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.all $(ARGS)

# Half an hour on two cores; it downloads XLA's compilers for CUDA and for TPUs, 0.5 GB. Of small
# programs only, as in CI: TARGETS=check, three minutes; TARGETS="check --store" renews their figures.
accelerators:
	scripts/accelerators.sh $(TARGETS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-test
	$(BIN)/mypy azo

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist .cache .pytest_cache .mypy_cache .ruff_cache
	find azo tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
