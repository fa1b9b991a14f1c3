# libanybit_ort.so, the custom operators for ONNX Runtime (docs/onnxruntime-library.md), beside libanybit.so. It needs nothing of
# ONNX Runtime to build, and calls nothing of it by name: the runtime passes its functions when it loads the library.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/ort/*.cpp)
add_library(anybit_ort MODULE ${sources})
target_include_directories(anybit_ort PRIVATE ${PROJECT_SOURCE_DIR}/plugins/ort)
target_compile_options(anybit_ort PRIVATE ${ANYBIT_WARNINGS})
target_link_libraries(anybit_ort PRIVATE anybit)
# Never unloaded: sessions keep pointers to the operators.
set(map ${PROJECT_SOURCE_DIR}/cmake/anybit_ort.map)
target_link_options(anybit_ort PRIVATE -Wl,-z,nodelete -Wl,--version-script=${map})
set_target_properties(anybit_ort PROPERTIES PREFIX lib LINK_DEPENDS ${map} BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN"
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
install(TARGETS anybit_ort LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
