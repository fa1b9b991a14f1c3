# Generates C++ from src/tflite/tflite.fbs with Debian's flatc. Only src/tflite uses it; the library of flatbuffers is headers.
find_program(ANYBIT_FLATC flatc REQUIRED)
find_path(ANYBIT_FLATBUFFERS_HEADERS flatbuffers/flatbuffers.h REQUIRED)
set(generated ${PROJECT_BINARY_DIR}/generated/tflite)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/tflite_generated.h
  COMMAND ${ANYBIT_FLATC} --cpp --scoped-enums --cpp-std c++17 -o ${generated} ${PROJECT_SOURCE_DIR}/src/tflite/tflite.fbs
  DEPENDS ${PROJECT_SOURCE_DIR}/src/tflite/tflite.fbs)
add_custom_target(anybit_tflite_schema DEPENDS ${generated}/tflite_generated.h)
add_dependencies(anybit_tflite anybit_tflite_schema)
target_include_directories(anybit_tflite SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/generated ${ANYBIT_FLATBUFFERS_HEADERS})
