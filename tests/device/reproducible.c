// Makes ranges and a quantized model whose bytes do not depend on the CPU.
// reproducible MODEL IMAGES RUNS QUANTIZED WANTED: 0 or 1; ranges are saved beside the model.
#include "check.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 6);
  float input[kPixels];
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  EXPECT(session, ANYBIT_INVALID_ARGUMENT, anybit_set_reproducible(session, 2));
  CHECK(session, anybit_set_reproducible(session, atoi(argv[5])));
  CHECK(session, anybit_load_model_from_file(session, argv[1]));
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_prepare(session));
  EXPECT(session, ANYBIT_INVALID_STATE, anybit_set_reproducible(session, 1));
  CHECK(session, anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
  for (int i = 0; i < atoi(argv[3]); ++i) {
    read_image(argv[2], i, input);
    CHECK(session, anybit_run(session));
  }
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_I8_ASYM));
  CHECK(session, anybit_set_quantized_model_path(session, argv[4]));
  CHECK(session, anybit_quantize(session));
  CHECK(session, anybit_reset_execute_config(session));
  CHECK(session, anybit_run(session));
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
