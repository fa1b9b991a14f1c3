# One program fuzz_NAME for each fuzz/NAME.cpp.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  target_compile_options(fuzz_${name} PRIVATE ${ANYBIT_WARNINGS})
  target_link_libraries(fuzz_${name} PRIVATE anybit_internal)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
