# What users get: libanybit.so, the program, and the files that let other builds find them.
find_package(CLI11 REQUIRED)

anybit_objects(objects)
add_library(anybit SHARED ${objects})
target_include_directories(anybit INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(anybit INTERFACE cxx_std_20)
anybit_links(links)
target_link_libraries(anybit PRIVATE ${links} protobuf::libprotobuf-lite)
# Never unloaded: the handler of SIGBUS (src/base/sigbus_guard.cpp) stays installed as long as the process lives.
target_link_options(anybit PRIVATE -Wl,-z,nodelete -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/anybit.map)
set_target_properties(anybit PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/anybit.map)
set_target_properties(anybit PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                        EXPORT_NAME anybit)

file(GLOB cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
include(cli_commands)
add_executable(anybit_cli ${cli_sources})
set_target_properties(anybit_cli PROPERTIES OUTPUT_NAME anybit EXPORT_NAME program BUILD_RPATH "\$ORIGIN/../lib"
                                            INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
# Parsing options and printing tables is over in a millisecond either way, and compiles in half the time.
target_compile_options(anybit_cli PRIVATE ${ANYBIT_WARNINGS} $<$<CONFIG:Release>:-O0>)
target_include_directories(anybit_cli PRIVATE ${PROJECT_SOURCE_DIR}/cli)
# The two header libraries take most of the program's build time: compiled once.
target_precompile_headers(anybit_cli PRIVATE <CLI/CLI.hpp> <fmt/format.h> <nlohmann/json.hpp>)
target_link_libraries(anybit_cli PRIVATE anybit fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json)

include(plugins)
include(install)
