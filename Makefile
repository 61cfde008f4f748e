# make bench   set up and run the main job: on the GPU if there is one, else on the CPU
# make test    set up and run the tests
# make docs    write the README's tables from results/
# make check   ruff, mypy and the docs check
# make verify  every variant against exact results, on the CPU device
# make clean   remove the virtual environment and caches

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
GPU    := $(wildcard /proc/driver/nvidia/version)
export PATH := $(PATH):/usr/local/cuda/bin

# The variants in some folders.
names = $(sort $(basename $(notdir $(wildcard $(addsuffix /*.cu,$(1)) $(addsuffix /*.cpp,$(1))))))

.PHONY: bench test docs check verify verify-ladder verify-posts verify-narrow clean

bench: $(VENV)/.bench
	$(BIN)/gemmbench run

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

docs: $(VENV)/.test
	$(BIN)/python tools/readme.py

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/readme.py --check

# In f32 every shape and layout; the other precisions, which are the same text, at one odd shape. In three
# parts, which `make -j` runs at once.
verify: verify-ladder verify-posts verify-narrow

verify-ladder: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --precision f32 openblas $(call names,cuda cuda/sgemm)

verify-posts: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --precision f32 $(call names,cuda/posts)

verify-narrow: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --precision f64,f16,bf16 --sizes 33x65x17 --layout nn

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "make: Python 3.10 or newer is needed; name one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "make: the venv module is missing: apt-get install python3-venv"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null \
	  || echo "make: no C++ compiler: apt-get install g++ (the CPU device needs it)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# With an NVIDIA driver the extra `cuda` is wanted; where it does not build, the CPU does the job.
$(VENV)/.bench: $(VENV)/.venv pyproject.toml
ifneq ($(GPU),)
	@echo "an NVIDIA driver is here: installing with the cuda extra (pycuda is compiled, about a minute)"
	@$(PIP) --editable '.[cuda]' 2>$(VENV)/cuda.log \
	  || { echo "make: the cuda extra does not install, so this runs on the CPU. What pip said:"; \
	       grep -iE 'error|not found|no such file' $(VENV)/cuda.log | head -n 5; \
	       echo "make: pycuda needs python3-dev, g++ and a CUDA toolkit (nvcc on the PATH); see $(VENV)/cuda.log"; \
	       $(PIP) --editable .; }
else
	@$(PIP) --editable .
endif
	@touch $@

$(VENV)/.test: $(VENV)/.bench
	@$(PIP) --editable '.[dev]'
	@touch $@
