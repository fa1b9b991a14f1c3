// Full quantization, in the order of the flow: load, prepare, buffers, gather while running, quantize, run.
// example_full MODEL IMAGES RUNS QUANTIZED
#include "check.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 5);
  const int runs = atoi(argv[3]);
  float input[kPixels], output[kClasses], before[kClasses];
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));

  // Load the float32 model.
  CHECK(session, anybit_load_model_from_file(session, argv[1]));

  // Prepare it to run.
  CHECK(session, anybit_prepare(session));

  // Set the buffers.
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));

  // Gather ranges while it runs.
  CHECK(session, anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
  for (int i = 0; i < runs; ++i) {
    read_image(argv[2], i, input);
    CHECK(session, anybit_run(session));
  }
  memcpy(before, output, sizeof output);

  // Full quantization to 8 bits, asymmetric, unsigned.
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_U8_ASYM));
  CHECK(session, anybit_set_quantized_model_path(session, argv[4]));
  CHECK(session, anybit_quantize(session));

  // Stop gathering.
  CHECK(session, anybit_reset_execute_config(session));

  // The quantized model runs immediately, with the same buffers.
  CHECK(session, anybit_run(session));
  anybit_model_kind kind;
  CHECK(session, anybit_model_in_use(session, &kind));
  REQUIRE(kind == ANYBIT_MODEL_QUANTIZED);
  REQUIRE(best_class(output) == best_class(before));
  REQUIRE(memcmp(output, before, sizeof output) != 0);

  // Quantized input and output buffers, without a cast by the caller: the same bits.
  anybit_tensor_info in, out;
  CHECK(session, anybit_input_info(session, 0, &in));
  CHECK(session, anybit_output_info(session, 0, &out));
  REQUIRE(in.quantized_type == ANYBIT_TYPE_UINT8 && out.quantized_type == ANYBIT_TYPE_UINT8);
  REQUIRE(in.scale > 0 && out.scale > 0);
  uint8_t quantized[kPixels], scores[kClasses];
  for (int i = 0; i < kPixels; ++i) {
    const double steps = (double)input[i] / (double)in.scale;
    quantized[i] = (uint8_t)((int)(steps + (steps < 0 ? -0.5 : 0.5)) + in.zero_point);
  }
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_UINT8, quantized, sizeof quantized));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_UINT8, scores, sizeof scores));
  CHECK(session, anybit_run(session));
  for (int i = 0; i < kClasses; ++i) {
    REQUIRE((float)((int)scores[i] - out.zero_point) * out.scale == output[i]);
    printf("%d%c", (int)scores[i], i + 1 < kClasses ? ' ' : '\n');
  }
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
