# tracegen: `make` lists what there is to do.

VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
RUN    := $(BIN)/tracegen
LAID    = $(wildcard templates/assets/scripts/*.js tests/js/*.mjs native/*/*.c native/*/*.h native/*/*.cpp)

.PHONY: help demo sample test test-all test-quick check bench docs fuzz server vulkan aarch64 macos upstream wheel \
    llama-matrix lock clean
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # hundreds of tests start tracegen, which would be compiled each time

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

demo: $(VENV)/ready ## from a clone to a site: build llama.cpp, run and publish the demo experiments
	@$(BIN)/python -m tracegen.cli.commands.demo

sample: $(VENV)/ready ## the site of the published sample run alone; needs no compiler
	@rm -rf tracegen-sample
	@$(RUN) sample tracegen-sample

test: $(VENV)/ready ## everything that protects what a user relies on: native, Python, integration, browser
	@$(BIN)/python tests/chromium.py
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not attack and not nightly and not alone"
	@$(BIN)/python -m pytest -m alone

test-all: test vulkan aarch64 macos wheel upstream ## the same, more of the trained model, and the attack: some 900 tries to break a command (two hours)
	@$(BIN)/python -m pytest -m nightly
	@$(BIN)/python -m pytest -n 2 --dist load -m attack tests/attack

test-quick: $(VENV)/ready ## while you work: what needs no llama.cpp, no browser and not long; three minutes
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not llama and not browser and not slow and not attack and not alone"

check: $(VENV)/ready ## lint, types and layout of Python, scripts and C
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(LAID)
	$(BIN)/oxlint --deny-warnings templates/assets/scripts tests/js
	@$(MAKE) --no-print-directory -C native check
	$(BIN)/mypy

bench: $(VENV)/ready ## the benchmark suite, with its limits
	@$(BIN)/python -m benchmarks

docs: $(VENV)/ready ## write docs/commands.md and docs/settings.md from the code
	@$(BIN)/python -m tracegen.cli.docs

fuzz: $(VENV)/ready ## ten minutes of coverage-guided fuzzing for each reader (installs atheris)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	@$(BIN)/python -m tests.fuzz native 600
	@$(BIN)/python -m tests.fuzz gguf 600
	@$(BIN)/python -m tests.fuzz ggmlviz 600
	@$(BIN)/python -m tests.fuzz foreign 600
	@$(BIN)/python -m tests.fuzz records 600

server: $(VENV)/ready ## build llama-server (four minutes of processor time) and trace it with several clients
	@TRACEGEN_SERVER=1 $(BIN)/python -m pytest tests/integration/test_server.py

vulkan: $(VENV)/ready ## trace a model on a GPU in software (installs a wheel, which takes Python 3.12, and as root Mesa's driver)
	@$(BIN)/python tests/vulkan.py
	@$(BIN)/python -m pytest tests/integration/test_vulkan.py

aarch64: $(VENV)/ready ## the tracer's tests and a traced model on an emulated processor (installs a cross compiler and qemu, as root)
	@$(BIN)/python -m tests.aarch64
	@$(BIN)/python -m pytest tests/integration/test_aarch64.py

macos: $(VENV)/ready ## compile and link the tracer and llama.cpp for macOS; none of it is run (installs zig)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[wheel]" --no-build-isolation
	@$(BIN)/python -m tests.macos

upstream: $(VENV)/ready ## does tracegen record the newest packages with llama.cpp: hooked, built, run; attached (half an hour)
	@$(BIN)/python -m tests.upstream

wheel: $(VENV)/ready ## a wheel with the library to attach, an sdist, and a run of it where there is no compiler
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[wheel]" --no-build-isolation
	@$(BIN)/python -m tests.wheel

llama-matrix: $(VENV)/ready ## do the hooks fit each pinned llama.cpp: applied, compiled, reversed (MATRIX=--run: models and knobs too; --architectures: a model of each)
	@$(BIN)/python -m tests.llama_matrix $(MATRIX)

lock: ## make requirements.lock again (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    --extra dev --extra build pyproject.toml --output-file requirements.lock

clean: ## remove what make made, the cache of llama.cpp aside
	rm -rf $(VENV) site tracegen-sample .tracegen native/build
