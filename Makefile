# make bench   set up, then run the default sweep: on the GPU if there is one, otherwise on the CPU
# make test    set up, then run the tests
# make docs    rewrite the generated parts of README.md and docs/ from results/ and the code
# make manual  build the manual of docs/ as HTML in build/manual
# make check   ruff, mypy, whether the generated parts are up to date, and results fit the revisions they name
# make arches  compile every kernel for each architecture that it claims, and check the limits on machine code
# make verify  check every variant against exact results, on the CPU device
# make dist    build the source archive and the wheel in dist/, and try the wheel in an empty environment
# make lock    write requirements/ anew, with the newest versions that pyproject.toml allows
# make clean   remove the virtual environment, caches, and what was built

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation
LOCKED := $(PIP) --require-hashes --requirement
GPU    := $(wildcard /proc/driver/nvidia/version)
export PATH := $(PATH):/usr/local/cuda/bin

# The names of the variants in the given folders.
names = $(sort $(basename $(notdir $(wildcard $(addsuffix /*.cu,$(1)) $(addsuffix /*.cpp,$(1))))))

ARCHES ?= 80 86 89 90a 100a 120a
NVCC   := $(shell command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)

.PHONY: bench test docs manual check arches verify verify-ladder verify-posts verify-shapes verify-precisions dist lock clean

bench: $(VENV)/.bench
	$(BIN)/gemmbench run

# Tests start many processes, so bytecode is written once for all of them.
test: $(VENV)/.test
	@$(BIN)/python -m compileall -q gemmbench
	$(BIN)/python -m pytest -n auto

docs: $(VENV)/.test
	$(BIN)/python -m tools.generate_docs

# A warning, such as a broken link, is an error.
manual: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs build/manual
	@echo "manual: build/manual/index.html"

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.generate_docs --check

arches: $(VENV)/.nvcc
	$(BIN)/python -m tools.compile_kernels $(ARCHES)

# In f32 with every small shape and layout; the other precisions, which compile the same text, with one odd shape: all
# configurations in one precision of each width of A, C and sums, and the defaults in the others, whose elements only
# have other types. (DEPTH, which only sgemm_outer has, gets a second value, because its default takes no such K in
# f16.) Kernels for narrow shapes are compiled separately for each kind of shape, so they get one shape of each kind:
# loads of one, two and four elements, few rows and few columns of C, and a short and a long K, some with both operands
# as they are and some with both transposed. SIZES replaces the shapes of the other kernels, and LAYOUTS the layouts.
# Several targets, so that `make -j` can run them in parallel.
SHAPES := sgemm_stream sgemm_outer sgemm_small
CHOSEN := $(if $(SIZES),--sizes $(SIZES))
LAYOUTS ?= nn,nt,tn,tt
verify: verify-ladder verify-posts verify-shapes verify-precisions

verify-ladder: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --no-watch --precision f32 --layout $(LAYOUTS) $(CHOSEN) openblas $(filter-out $(SHAPES),$(call names,cuda cuda/sgemm))

verify-shapes: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --no-watch --layout nn --sizes 1,33x65x17,3x1032x515,515x5x1032 $(SHAPES)
	$(BIN)/gemmbench verify --device cpu --no-watch --layout tt --sizes 34x65x17,300x40x8,515x5x1032 $(SHAPES)

verify-posts: $(VENV)/.bench
	$(BIN)/gemmbench verify --device cpu --no-watch --precision f32 --layout $(LAYOUTS) $(CHOSEN) $(call names,cuda/posts)

ODD := $(BIN)/gemmbench verify --device cpu --no-watch --sizes 33x65x17 --layout nn
verify-precisions: $(VENV)/.bench
	$(ODD) --precision f64,f16_f16,bf16,bf16_f32,e4m3
	$(ODD) --precision f16,f16_f32,e5m2 --param DEPTH=8,32

# The same sources give the same bytes: the wheel of the unpacked archive must be that of the clone.
dist: $(VENV)/.bench
	@rm -rf dist build/dist && mkdir -p build/dist/unpacked
	$(BIN)/hatchling build -d dist
	@tar -xzf dist/*.tar.gz --strip-components 1 -C build/dist/unpacked
	cd build/dist/unpacked && $(abspath $(BIN))/hatchling build -t wheel -d ..
	cmp build/dist/*.whl dist/*.whl
	PYTHON=$(abspath $(BIN))/python .ci/try-wheel dist/*.whl

clean:
	rm -rf $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "make: needs Python 3.10 or newer; choose one with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "make: the venv module is missing: apt-get install python3-venv"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null \
	  || echo "make: no C++ compiler: apt-get install g++ (the CPU device needs it)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# With an NVIDIA driver, install the extra `cuda`. If it does not build, everything runs on the CPU.
$(VENV)/.bench: $(VENV)/.venv pyproject.toml requirements/base.txt requirements/cuda.txt
	@$(LOCKED) requirements/base.txt
ifneq ($(GPU),)
	@echo "found an NVIDIA driver: installing the cuda extra (compiling pycuda takes about a minute)"
	@$(LOCKED) requirements/cuda.txt 2>$(VENV)/cuda.log \
	  || { echo "make: cannot install the cuda extra, so gemmbench will run on the CPU. pip reported:"; \
	       grep -iE 'error|not found|no such file' $(VENV)/cuda.log | head -n 5; \
	       echo "make: pycuda needs python3-dev, g++ and a CUDA toolkit (nvcc on the PATH); see $(VENV)/cuda.log"; }
endif
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.bench requirements/dev.txt
	@$(LOCKED) requirements/dev.txt
	@touch $@

# Without a CUDA toolkit, install NVIDIA's compiler from its wheels.
$(VENV)/.nvcc: $(VENV)/.test requirements/nvcc.txt
ifeq ($(NVCC),)
	@$(LOCKED) requirements/nvcc.txt
endif
	@touch $@

$(VENV)/.docs: $(VENV)/.test requirements/docs.txt
	@$(LOCKED) requirements/docs.txt
	@touch $@

# Packages that are installed together are resolved together first.
COMPILE := $(BIN)/uv pip compile pyproject.toml --group build --universal --python-version 3.10 --generate-hashes \
  --no-annotate --custom-compile-command 'make lock' --upgrade --quiet
lock: $(VENV)/.venv
	@$(PIP) uv
	@mkdir -p build requirements
	@$(COMPILE) --extra cuda --extra dev --extra docs --extra nvcc --output-file build/all.txt
	@$(COMPILE) --constraint build/all.txt --output-file requirements/base.txt
	@for extra in cuda dev docs nvcc; do \
	  $(COMPILE) --constraint build/all.txt --extra $$extra --output-file requirements/$$extra.txt || exit; done
