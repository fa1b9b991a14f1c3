# oneDNN, as the target anybit_onednn; empty without it. Its own CMake package requires OpenCL's development files, which
# the CPU does not need. Debian builds it with GNU OpenMP, which is limited to one thread (src/kernels/conv/onednn_engine.cpp).
add_library(anybit_onednn INTERFACE)
if(ANYBIT_ONEDNN AND NOT ANYBIT_CODECS_ONLY)
  find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
  find_library(ONEDNN_LIBRARY dnnl REQUIRED)
  target_include_directories(anybit_onednn SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
  target_compile_definitions(anybit_onednn INTERFACE ANYBIT_ONEDNN)
  target_link_libraries(anybit_onednn INTERFACE ${ONEDNN_LIBRARY} gomp)
endif()
