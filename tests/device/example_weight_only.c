// Weight-only quantization, in the order of the flow: load, type, path, quantize, run.
// example_weight_only MODEL IMAGES TYPE QUANTIZED
#include "check.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 5);
  float input[kPixels], output[kClasses], before[kClasses];
  read_image(argv[2], 0, input);
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));

  // Load the float32 model. The buffers are set once, for both models.
  CHECK(session, anybit_load_model_from_file(session, argv[1]));
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));

  // Weights only, symmetric.
  CHECK(session, anybit_set_quantization_type(session, (anybit_quantization_type)atoi(argv[3])));

  // Set the path of the quantized model.
  CHECK(session, anybit_set_quantized_model_path(session, argv[4]));

  // Quantize without a run: weights need no ranges.
  CHECK(session, anybit_quantize(session));

  // Run the quantized model.
  CHECK(session, anybit_run(session));
  anybit_model_kind kind;
  CHECK(session, anybit_model_in_use(session, &kind));
  REQUIRE(kind == ANYBIT_MODEL_QUANTIZED);
  for (int i = 0; i < kClasses; ++i) printf("%.9g%c", (double)output[i], i + 1 < kClasses ? ' ' : '\n');

  // Activations stay float32, so the input has no quantized type.
  anybit_tensor_info info;
  CHECK(session, anybit_input_info(session, 0, &info));
  REQUIRE(info.quantized_type == ANYBIT_TYPE_NONE && info.scale == 0);
  CHECK(NULL, anybit_close_session(session));

  // Compare with the float model.
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_load_model_from_file(session, argv[1]));
  CHECK(session, anybit_prepare(session));
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, before, sizeof before));
  CHECK(session, anybit_run(session));
  REQUIRE(best_class(output) == best_class(before));
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
