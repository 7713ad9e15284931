# make run | test | test-compiled | fuzz | fuzz-ops | contract | sweep | lint | build | bench | clean. Needs
# python3.11+, a C++20 compiler and make.
#
# TORCH picks the release to build and run against (2.13 or 2.14); it is installed first and
# pinned, because the index's newest torch may be another release, or a build of several GB.
PYTHON ?= python3
TORCH ?= 2.13.0
VENV ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := $(VENV)/.installed
SECOND_PLUGIN := $(VENV)/lib/python3*/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so
PYTHON_SOURCES := torch_neuronx tests benchmarks examples tools setup.py

# What the environment was made from: it is renewed when any of these change.
KEY = TORCH=$(TORCH) $(shell cat pyproject.toml setup.py | cksum)

.PHONY: run test test-compiled fuzz fuzz-ops contract sweep lint format build docs bench setup clean

run: build
	$(BIN)/python examples/train_gpt.py --device neuron $(ARGS)

# Everything on the default plugin; a sample of each of PyTorch's operators, eager, backward and
# compiled; then the runtime's tests on a plugin of another age.
SLICE := build/contract/slice.jsonl
# Two processes, and a thread in each for what the CPU computes.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile
test: build
	$(PYTEST) $(ARGS)
	rm -f $(SLICE)
	PYTHONPATH=tests $(BIN)/python -m contract.run --results $(SLICE) \
		--database op --dtype float32 --mode forward backward compiled --samples 1 --minutes 15
	TORCH_NEURONX_PLATFORM=$$(echo $(SECOND_PLUGIN)) $(PYTEST) tests/runtime

# 2,000 random programs of views and in-place writes; `make test` runs a few dozen, always the same.
fuzz: build
	NEURON_FUZZ_PROGRAMS=2000 $(BIN)/python -m pytest tests/fuzz/test_view_programs.py $(ARGS)

# Random programs of all kinds of operators, for instance with ARGS="--programs 20000 --workers 2".
fuzz-ops: build
	PYTHONPATH=tests $(BIN)/python -m fuzz.runner $(ARGS)

# All of PyTorch's own descriptions of its operators; less with ARGS="--only 'linalg.*' --mode out".
contract: build
	PYTHONPATH=tests $(BIN)/python -m contract.run $(ARGS)

# Every architecture of Transformers, timm and Diffusers, reduced, beside the CPU: hours for all, a
# few minutes for some, for instance with ARGS="--only 'transformers/llama/*' gpt2".
sweep: build
	$(BIN)/python -m torch_neuronx.sweep --html build/sweep/sweep.html $(ARGS)

# What the tests of ops and of training compare with the CPU, under torch.compile: 20 minutes.
test-compiled: build
	$(PYTEST) --compiled tests/ops tests/training $(ARGS)

lint: setup
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	find csrc -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)
	find csrc -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format -i

docs: build
	$(BIN)/python -m torch_neuronx.runtime.config > docs/environment.md
	PYTHONPATH=tests $(BIN)/python -m contract.page > docs/coverage.md
	$(BIN)/python -m torch_neuronx.sweep.summary tests/huggingface/last_sweep.json docs/sweep.md

bench: build
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/eager_overhead.py
	$(BIN)/python benchmarks/first_call.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/cache_crash.py
	$(BIN)/python benchmarks/compile.py
	$(BIN)/python benchmarks/generate.py
	$(BIN)/python benchmarks/sft.py

# Quick when nothing changed: ninja looks at the dependencies of every object file.
build: setup
	@$(BIN)/python setup.py --quiet build_ext --inplace

setup:
	@test "$$(cat $(STAMP) 2>/dev/null)" = "$(KEY)" || $(MAKE) --no-print-directory install

.PHONY: install
install:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile 'torch==$(TORCH)' 'setuptools>=77' wheel ninja xla-cpu-pjrt==0.0.1 jaxlib==0.10.2
	$(PIP) install --no-compile --no-build-isolation --editable '.[test,huggingface,lightning,examples,lint]'
	@echo "$(KEY)" > $(STAMP)

clean:
	rm -rf build $(VENV) *.egg-info torch_neuronx/_C*.so torch_neuronx/_build_info.py
