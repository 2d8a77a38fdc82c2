# Every verb makes what it needs. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules
# the verbs start Python a thousand times, which without compiled files takes three times as long
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
TORCH ?= torch==2.13.0
WORKERS ?= auto

VENV := .venv
RIVALS := .venv-rivals
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
STAMPS := $(VENV)/stamps
CODE := engine service clients tests benchmarks examples deploy docs

# --- what the verbs need ------------------------------------------------------------------------

$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null || { echo "make: needs Python 3.11 or newer, and there is no $(PYTHON)." \
	  "Say which with PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: needs Python 3.11 or newer," \
	  "$(PYTHON) is $$($(PYTHON) -V). Say which with PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "make: $(PYTHON) has no venv module;" \
	  "on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# The pinned builder, then the pinned packages, then gradwire itself without asking for anything more.
$(STAMPS)/dev: $(STAMPS)/venv pyproject.toml requirements/build.txt requirements/dev.txt
	$(PIP) --require-hashes -r requirements/build.txt
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# torch comes apart from the lock: its builds (CPU, CUDA) are files of different names and hashes.
$(STAMPS)/torch: $(STAMPS)/dev requirements/parity.txt
	$(PIP) --require-hashes -r requirements/parity.txt
	$(PIP) '$(TORCH)'
	@touch $@

# The fuzzers stand beside what they try, since they watch its code run.
$(STAMPS)/fuzz: $(STAMPS)/dev requirements/fuzz.txt
	$(PIP) --require-hashes -r requirements/fuzz.txt
	@touch $@

$(RIVALS)/stamp: $(STAMPS)/venv requirements/rivals.txt
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/rivals.txt
	@touch $@

.venv: $(STAMPS)/dev ## the virtual environment, as locked

# --- the verbs ----------------------------------------------------------------------------------

.PHONY: demo serve test check crash fuzz load parity parity-full bench docs image-test lock clean help .venv

demo: $(STAMPS)/dev ## train on handwritten digits over HTTP, and draw the loss and a step's graph
	$(BIN)/python examples/digits.py

serve: $(STAMPS)/dev ## run the server on http://127.0.0.1:8000 (ARGS="--port 9000" for more)
	$(BIN)/gradwire serve $(ARGS)

test: $(STAMPS)/fuzz ## run the tests, but for those against torch (ARGS="-k name" to pick)
	$(BIN)/python -m tests.twice --numprocesses $(WORKERS) --dist worksteal --ignore tests/parity $(ARGS)

check: $(STAMPS)/dev ## lint, formatting, types, weaknesses, licences
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/bandit --quiet --recursive -ll -ii engine service clients
	$(BIN)/python -m deploy.supply

crash: $(STAMPS)/dev ## kill a server that keeps sessions 200 times, and look at everything (ARGS="--kills 1000")
	$(BIN)/python -m tests.service.crash $(ARGS)

fuzz: $(STAMPS)/fuzz ## a million broken bodies, requests made of OpenAPI's schemas, sessions against a model (ARGS="--seed 7")
	$(BIN)/python -m tests.fuzz $(ARGS)

load: $(STAMPS)/dev ## ask a server for twice what it can, then for 10,000 sessions and 100,000 lives (ARGS="flood --seconds 30")
	$(BIN)/python -m tests.service.load $(ARGS)

parity: $(STAMPS)/torch ## the same small programs on torch, gradwire embedded, gradwire over HTTP
	$(BIN)/python -m tests.twice --numprocesses $(WORKERS) --dist worksteal tests/parity $(ARGS)

parity-full: $(STAMPS)/torch ## random programs and torch's table of ops, all samples (ARGS="--seed 7" to repeat)
	@failed=0; \
	$(BIN)/python -m tests.parity.differential $(ARGS) || failed=1; \
	$(BIN)/python -m tests.parity.higher_order $(ARGS) || failed=1; \
	$(BIN)/python -m tests.parity.opinfo || failed=1; \
	exit $$failed

bench: $(STAMPS)/torch $(RIVALS)/stamp ## measure, and compare with torch, JAX, autograd, Tesseract and UM-Bridge
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(STAMPS)/dev ## write the pages made from the code again (ARGS=--pictures for the demo's too)
	$(BIN)/python -m docs.generate $(ARGS)

image-test: $(STAMPS)/fuzz ## build the image for real and try it (root, Debian's buildah and debootstrap)
	$(BIN)/python -m deploy.image_test

EXPORT := $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

lock: $(STAMPS)/venv ## resolve requirements/*.txt again (UPGRADE=--upgrade for newer releases)
	$(PIP) --require-hashes -r requirements/lock.txt
	$(EXPORT) requirements/lock.in -o requirements/lock.txt
	$(EXPORT) requirements/build.in -o requirements/build.txt
	$(EXPORT) pyproject.toml --extra dev -o requirements/dev.txt
	$(EXPORT) pyproject.toml --extra server -c requirements/dev.txt -o requirements/server.txt
	$(EXPORT) pyproject.toml --extra server --extra cuda -c requirements/dev.txt -o requirements/cuda.txt
	$(EXPORT) requirements/parity.in -o requirements/parity.txt
	$(EXPORT) requirements/rivals.in -o requirements/rivals.txt
	$(EXPORT) requirements/fuzz.in -o requirements/fuzz.txt

clean: ## remove what these verbs made
	rm -rf $(VENV) $(RIVALS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .image-test build dist demo
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help:
	@echo "make VERB, where VERB is one of"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14
