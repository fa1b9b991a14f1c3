# libnnfw-anybit.so: onert's C API over libanybit.so (nnfw/, include/nnfw). A file of its own and other names than onert's
# libraries have: both may be installed.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/nnfw/*.cpp)
add_library(nnfw-anybit SHARED ${sources})
anybit_compile_together(nnfw-anybit)
target_compile_options(nnfw-anybit PRIVATE ${ANYBIT_WARNINGS})
target_include_directories(nnfw-anybit INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/nnfw>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/nnfw>)
target_link_libraries(nnfw-anybit PRIVATE anybit nlohmann_json::nlohmann_json Threads::Threads)
set(nnfw_map ${PROJECT_SOURCE_DIR}/cmake/nnfw.map)
target_link_options(nnfw-anybit PRIVATE -Wl,--version-script=${nnfw_map})
# The headers are plain C without attributes; the map decides what is exported.
set_target_properties(nnfw-anybit PROPERTIES CXX_VISIBILITY_PRESET default LINK_DEPENDS ${nnfw_map}
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME nnfw
                      INSTALL_RPATH "\$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
