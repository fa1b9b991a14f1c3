// Prints the status of each call of a session under a limit. The first input is zeros.
// limits MODEL LIMIT VALUE QUANTIZED
#include "check.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 5);
  static float input[1 << 16];
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_workspace(session, ""));
  CHECK(session, anybit_set_threads(session, 1));
  EXPECT(session, ANYBIT_INVALID_ARGUMENT, anybit_set_limit(session, ANYBIT_LIMIT_NODES, -1));
  EXPECT(session, ANYBIT_INVALID_ARGUMENT, anybit_set_limit(session, (anybit_limit)0, 1));
  if (atoi(argv[2]) > 0)
    CHECK(session, anybit_set_limit(session, (anybit_limit)atoi(argv[2]), atoll(argv[3])));
  const anybit_status loaded = anybit_load_model_from_file(session, argv[1]);
  printf("load %d\n", (int)loaded);
  if (loaded == ANYBIT_OK) {
    printf("prepare %d\n", (int)anybit_prepare(session));
    CHECK(session, anybit_set_quantized_model_path(session, argv[4]));
    CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_U8_ASYM));
    anybit_tensor_info info;
    CHECK(session, anybit_input_info(session, 0, &info));
    size_t bytes = sizeof(float);
    for (int32_t i = 0; i < info.rank; ++i) bytes *= (size_t)info.dims[i];
    REQUIRE(bytes <= sizeof input);
    CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, bytes));
    CHECK(session, anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
    printf("run %d\n", (int)anybit_run(session));
    printf("quantize %d\n", (int)anybit_quantize(session));
  }
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
