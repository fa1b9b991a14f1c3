# One GoogleTest program per folder in tests/unit, linked with that folder and its dependencies.
find_package(GTest REQUIRED)
include(GoogleTest)
# _FORTIFY_SOURCE requires optimization, which tests are compiled without.
add_compile_options(-U_FORTIFY_SOURCE)

get_property(folders GLOBAL PROPERTY ANYBIT_FOLDERS)
foreach(folder IN LISTS folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${folder}/*.cpp)
  if(sources)
    add_executable(unit_${folder} ${sources})
    # The tested code is optimized; tests compile faster without optimization, except where they loop over much data.
    if(folder IN_LIST ANYBIT_HOT_FOLDERS)
      set(optimisation -O1)
    else()
      set(optimisation -O0)
    endif()
    target_compile_options(unit_${folder} PRIVATE ${ANYBIT_WARNINGS} $<$<CONFIG:Release>:${optimisation}>)
    target_include_directories(unit_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(unit_${folder} PRIVATE ANYBIT_SOURCE="${PROJECT_SOURCE_DIR}")
    # Programs with the same options share precompiled headers.
    if(TARGET precompiled_by${optimisation})
      get_target_property(donor precompiled_by${optimisation} DONOR)
      target_precompile_headers(unit_${folder} REUSE_FROM ${donor})
    else()
      target_precompile_headers(unit_${folder} PRIVATE ${PROJECT_SOURCE_DIR}/tests/unit/precompiled.hpp)
      add_custom_target(precompiled_by${optimisation})
      set_target_properties(precompiled_by${optimisation} PROPERTIES DONOR unit_${folder})
    endif()
    target_link_libraries(unit_${folder} PRIVATE anybit_with_${folder} GTest::gmock GTest::gtest_main)
    gtest_discover_tests(unit_${folder} TEST_PREFIX ${folder}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endforeach()

# The codecs, for tests in Python.
add_library(codec_library SHARED ${PROJECT_SOURCE_DIR}/tests/formats/codec_library.cpp)
target_compile_options(codec_library PRIVATE ${ANYBIT_WARNINGS})
target_link_libraries(codec_library PRIVATE anybit_with_kernels)

# The executor, for tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  add_library(executor_library SHARED ${PROJECT_SOURCE_DIR}/tests/runtime/executor_library.cpp)
  target_compile_options(executor_library PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(executor_library PRIVATE anybit_with_train anybit_with_io)
endif()

# The image decoders, for tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  add_library(image_library SHARED ${PROJECT_SOURCE_DIR}/tests/images/image_library.cpp)
  target_compile_options(image_library PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(image_library PRIVATE anybit_with_images)
endif()

# Code generation, for tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  add_library(codegen_library SHARED ${PROJECT_SOURCE_DIR}/tests/codegen/codegen_library.cpp)
  target_compile_options(codegen_library PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(codegen_library PRIVATE anybit)
endif()

# The functions of ai.anybit as models, for tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  add_library(portable_library SHARED ${PROJECT_SOURCE_DIR}/tests/portable/portable_library.cpp)
  target_compile_options(portable_library PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(portable_library PRIVATE anybit_with_portable anybit_with_io anybit_with_kernels)
endif()

# Code generators that print their input, for tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  foreach(view IN ITEMS fused written)
    string(TOUPPER ${view} upper)
    add_library(${view}_dump MODULE ${PROJECT_SOURCE_DIR}/tests/codegen/dump_gen.cpp)
    target_compile_options(${view}_dump PRIVATE ${ANYBIT_WARNINGS})
    target_compile_definitions(${view}_dump PRIVATE DUMP_NAME="${view}-gen" DUMP_VIEW=ANYBIT_VIEW_${upper})
    target_include_directories(${view}_dump PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${view}_dump PRIVATE nlohmann_json::nlohmann_json)
    set_target_properties(${view}_dump PROPERTIES PREFIX lib OUTPUT_NAME ${view}-gen
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/test-generators)
  endforeach()
endif()

# Small programs that load and save models, run by tests in Python.
if(NOT ANYBIT_CODECS_ONLY)
  file(GLOB tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tools/*.cpp)
  foreach(source IN LISTS tools)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE ${ANYBIT_WARNINGS})
    target_link_libraries(${name} PRIVATE anybit_with_io)
  endforeach()
endif()
# Sends mutated models through all stages; run by scripts/campaign.
if(NOT ANYBIT_CODECS_ONLY)
  add_executable(campaign EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/campaign/campaign.cpp
                 ${PROJECT_SOURCE_DIR}/tests/campaign/mutate.cpp)
  target_compile_options(campaign PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(campaign PRIVATE anybit_with_device)
endif()
# tests/fault: shims that make system calls and allocations fail, and a program to try them on.
foreach(shim IN ITEMS failing_io failing_memory)
  add_library(${shim} MODULE ${PROJECT_SOURCE_DIR}/tests/fault/${shim}.c)
  target_compile_options(${shim} PRIVATE ${ANYBIT_WARNINGS} -fno-builtin)
  target_link_libraries(${shim} PRIVATE ${CMAKE_DL_LIBS})
endforeach()
add_executable(save_tool ${PROJECT_SOURCE_DIR}/tests/fault/save_tool.cpp)
target_compile_options(save_tool PRIVATE ${ANYBIT_WARNINGS})
target_link_libraries(save_tool PRIVATE anybit_with_base)
