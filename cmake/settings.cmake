# Compiler settings of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CCACHE ${PROJECT_SOURCE_DIR}/cmake/cached_compiler ${CCACHE})
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Kernels and formats use a higher level below, folders that only rewrite graphs a lower one: this saves a third of the
# build time, and these folders hardly affect run time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(ANYBIT_HOT_FOLDERS formats kernels)
set(ANYBIT_COLD_FOLDERS portable passes lower refine quantize codegen api device)
# A hot loop that straddles lines of the CPU's decoded-instruction cache runs up to 1.5 times slower. With this, its speed does not
# depend on what else the library holds.
set(ANYBIT_HOT_ALIGNMENT $<$<CONFIG:Release>:-falign-functions=64> $<$<CONFIG:Release>:-falign-loops=32>)
# Loops over whole weights or tensors.
set(ANYBIT_HOT_FILES calibrate/second_moment.cpp
  refine/channel_sums.cpp refine/gptq.cpp refine/shift_estimate.cpp refine/sum_preserving_rounding.cpp refine/unit_factor.cpp
  quantize/quantize_constant.cpp
  ops/training/conv_gradient_blocked.cpp ops/training/resize_gradient.cpp ops/training/scatter_add.cpp)

# No fused multiply-add unless a kernel uses one explicitly: the same bits on every CPU and compiler.
add_compile_options(-ffp-contract=off)
set(ANYBIT_WARNINGS -Wall -Wextra -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Matches g++, whose -Wconversion does not include signs.
  list(APPEND ANYBIT_WARNINGS -Wno-sign-conversion)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # With -O3, g++ 12 wrongly reports overlaps in `"a" + std::string`, and reads of uninitialized members of variants.
  list(APPEND ANYBIT_WARNINGS -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects garbage less often: 5 % less time for 10 % more memory.
  add_compile_options(--param=ggc-min-expand=1000 --param=ggc-min-heapsize=400000)
endif()

# x86-64 requires SSE4.2, as in all CPUs since 2009.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
  add_compile_definitions(HWY_DISABLE_PCLMUL_AES)  # not part of x86-64-v2, and not used by kernels
endif()

# SIMD targets that are not built: vectors of unknown size (they cannot be class members), and AVX-512, which took a quarter
# of the kernels' build time. Its main benefit, VNNI, is used by src/kernels/gemm/dot4_vnni.cpp without a target; the files with
# exponentials turn it on for themselves.
add_compile_definitions(
  "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_AVX3|HWY_AVX3_DL)")

# Hardening; tests/rules/test_hardening.py checks the binaries.
include(CheckPIESupported)
check_pie_supported()
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
# Relative relocations in a sixteenth of the space: fewer pages to read when the program starts.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs ANYBIT_HAS_RELR)
if(ANYBIT_HAS_RELR)
  add_link_options(-Wl,-z,pack-relative-relocs)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # Needed because Debian's crt1.o and crti.o have no such notes, so the linker would drop ours. Shadow stacks need no
  # support in them.
  add_link_options(-Wl,-z,shstk)
endif()
if(NOT ANYBIT_SANITIZE)  # sanitizers have their own checks
  add_compile_options(-fstack-protector-strong -D_GLIBCXX_ASSERTIONS
                      "$<$<CONFIG:Release>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
  # Indices of loops over whole tensors are checked once, before the loop.
  set(ANYBIT_HOT_OPTIONS $<$<CONFIG:Release>:-U_GLIBCXX_ASSERTIONS>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection=full)
  endif()
endif()

if(ANYBIT_SANITIZE)
  add_compile_options(-fsanitize=${ANYBIT_SANITIZE} -fno-omit-frame-pointer)
  if(ANYBIT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  add_link_options(-fsanitize=${ANYBIT_SANITIZE})
endif()
