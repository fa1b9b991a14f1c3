# The installed targets: libanybit.so, the program, and the files that let other builds find them.
find_package(CLI11 REQUIRED)

anybit_objects(objects)
add_library(anybit SHARED ${objects})
target_include_directories(anybit INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(anybit INTERFACE cxx_std_20)
anybit_links(links)
target_link_libraries(anybit PRIVATE ${links} protobuf::libprotobuf-lite)
# Never unloaded: the handler of SIGBUS (src/base/sigbus_guard.cpp) stays installed for the life of the process.
target_link_options(anybit PRIVATE -Wl,-z,nodelete -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/anybit.map)
set_target_properties(anybit PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/anybit.map)
set(tables -Wl,-T,${PROJECT_SOURCE_DIR}/cmake/tables.ld)
check_linker_flag(CXX ${tables} ANYBIT_CAN_PLACE_TABLES)
if(ANYBIT_CAN_PLACE_TABLES)
  target_link_options(anybit PRIVATE ${tables})
  set_property(TARGET anybit APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tables.ld)
endif()
set_target_properties(anybit PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                        EXPORT_NAME anybit)

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
include(cli_commands)
# Header-only libraries take most of the program's build time: each file uses those it needs, precompiled.
set(cli_text ${cli_sources})
list(FILTER cli_text EXCLUDE REGEX "/(main|[a-z_]*(_commands?|options|inputs))\\.cpp$")
set(cli_options ${cli_sources})
list(FILTER cli_options INCLUDE REGEX "(options|inputs)\\.cpp$")
list(REMOVE_ITEM cli_sources ${cli_text} ${cli_options})
add_library(anybit_cli_text OBJECT ${cli_text})
add_library(anybit_cli_options OBJECT ${cli_options})
set(cli_objects $<TARGET_OBJECTS:anybit_cli_text> $<TARGET_OBJECTS:anybit_cli_options>)
add_executable(anybit_cli ${cli_sources} ${cli_objects})
# onert's program over the code of `anybit run`.
file(GLOB onert_run_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/onert_run/*.cpp)
add_executable(onert_run ${onert_run_sources} ${PROJECT_SOURCE_DIR}/nnfw/package.cpp ${cli_objects})
target_include_directories(onert_run PRIVATE ${PROJECT_SOURCE_DIR}/nnfw)
foreach(target anybit_cli anybit_cli_text anybit_cli_options onert_run)
  anybit_compile_together(${target})
  # Compiles as fast as -O0, and the program starts in half the time; higher levels make no difference.
  target_compile_options(${target} PRIVATE ${ANYBIT_WARNINGS} $<$<CONFIG:Release>:-Og>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cli)
  target_link_libraries(${target} PRIVATE anybit fmt::fmt nlohmann_json::nlohmann_json)
endforeach()
target_precompile_headers(anybit_cli_options PRIVATE <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)
target_precompile_headers(anybit_cli PRIVATE <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)
target_precompile_headers(onert_run REUSE_FROM anybit_cli)
target_precompile_headers(anybit_cli_text PRIVATE <fmt/format.h> <nlohmann/json.hpp>)
foreach(target anybit_cli anybit_cli_options onert_run)
  target_link_libraries(${target} PRIVATE CLI11::CLI11)
endforeach()
set_target_properties(anybit_cli PROPERTIES OUTPUT_NAME anybit EXPORT_NAME program)
set_target_properties(onert_run PROPERTIES OUTPUT_NAME onert_run)
set_target_properties(anybit_cli onert_run PROPERTIES BUILD_RPATH "\$ORIGIN/../lib"
                                                      INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(CMAKE_INSTALL_LIBDIR STREQUAL "lib")
  # The build folder is laid out like the installed one. CMake's default build RPATH is padded, and would make the loader
  # search the current folder and a dozen others for every library.
  set_target_properties(anybit_cli onert_run PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endif()

include(nnfw)
include(plugins)
include(onnxruntime_library)
include(install)
