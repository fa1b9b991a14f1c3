# Generates C++ from src/io/onnx/onnx.proto. Lite runtime: smaller, and unknown fields are kept as bytes and written back.
set(generated ${PROJECT_BINARY_DIR}/generated/io/onnx)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/onnx.pb.cc ${generated}/onnx.pb.h
  COMMAND protobuf::protoc --cpp_out=${generated} -I ${PROJECT_SOURCE_DIR}/src/io/onnx onnx.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/src/io/onnx/onnx.proto)
add_library(anybit_onnx_proto OBJECT ${generated}/onnx.pb.cc ${generated}/onnx.pb.h)
target_include_directories(anybit_onnx_proto PUBLIC SYSTEM ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(anybit_onnx_proto PUBLIC protobuf::libprotobuf-lite)
set_property(GLOBAL APPEND PROPERTY ANYBIT_FOLDERS onnx_proto)

target_link_libraries(anybit_io PUBLIC protobuf::libprotobuf-lite)
target_include_directories(anybit_io SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/generated)
add_dependencies(anybit_io anybit_onnx_proto)
set_property(TARGET anybit_io APPEND PROPERTY ANYBIT_DEPENDS onnx_proto)
