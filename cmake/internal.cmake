# All folders as one static library, internals included: what tests, benchmarks and fuzzers link.
anybit_objects(objects)
add_library(anybit_internal STATIC EXCLUDE_FROM_ALL ${objects})
target_include_directories(anybit_internal PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
anybit_links(links)
target_link_libraries(anybit_internal PUBLIC ${links})
if(NOT ANYBIT_CODECS_ONLY)
  target_link_libraries(anybit_internal PUBLIC protobuf::libprotobuf-lite)
endif()
