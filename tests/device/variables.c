// variables MODEL: writing a bias between runs changes the logits, and rejected writes change nothing.
#include <math.h>

#include "check.h"

static const char kBias[] = "head/linear.bias";

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  static float input[kPixels], first[kClasses], second[kClasses], bias[kClasses], read[kClasses];
  anybit_session *session = NULL, *other = NULL;
  anybit_tensor_info info;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_workspace(session, ""));
  CHECK(session, anybit_load_model_from_file(session, argv[1]));
  EXPECT(session, ANYBIT_NOT_FOUND, anybit_add_variable(session, "head/linear.bais"));
  REQUIRE(strstr(anybit_last_error(session), "'head/linear.bias'") != NULL);
  EXPECT(session, ANYBIT_INVALID_ARGUMENT, anybit_add_variable(session, NULL));
  CHECK(session, anybit_add_variable(session, kBias));
  CHECK(session, anybit_prepare(session));
  CHECK(session, anybit_variable_info(session, kBias, &info));
  REQUIRE(info.type == ANYBIT_TYPE_FLOAT32 && info.rank == 1 && info.dims[0] == kClasses);
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, first, sizeof first));
  CHECK(session, anybit_run(session));

  CHECK(session, anybit_get_variable(session, kBias, ANYBIT_TYPE_FLOAT32, bias, sizeof bias));
  for (int i = 0; i < kClasses; ++i) bias[i] += (float)i;
  CHECK(session, anybit_set_variable(session, kBias, ANYBIT_TYPE_FLOAT32, bias, sizeof bias));
  EXPECT(session, ANYBIT_INVALID_ARGUMENT, anybit_set_variable(session, kBias, ANYBIT_TYPE_FLOAT32, bias, 4));
  REQUIRE(strstr(anybit_last_error(session), "40 bytes of float32[10]") != NULL);
  EXPECT(session, ANYBIT_INVALID_ARGUMENT,
         anybit_set_variable(session, kBias, ANYBIT_TYPE_INT32, bias, sizeof bias));
  EXPECT(session, ANYBIT_INVALID_ARGUMENT,
         anybit_get_variable(session, kBias, ANYBIT_TYPE_FLOAT32, NULL, sizeof bias));
  EXPECT(session, ANYBIT_NOT_FOUND,
         anybit_get_variable(session, "image", ANYBIT_TYPE_FLOAT32, bias, sizeof bias));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, second, sizeof second));
  CHECK(session, anybit_run(session));
  for (int i = 0; i < kClasses; ++i) REQUIRE(fabsf(second[i] - first[i] - (float)i) < 1e-4F);

  // Calls that would ignore the variables' values are rejected, and the session stays usable.
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_WO_I8_SYM));
  EXPECT(session, ANYBIT_INVALID_STATE, anybit_quantize(session));
  EXPECT(session, ANYBIT_INVALID_STATE, anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
  EXPECT(session, ANYBIT_INVALID_STATE,
         anybit_run_with_auto_compilation(session, 1, NULL, ANYBIT_PREFER_DEFAULT));
  CHECK(session, anybit_run(session));

  // A session that shares the model shares its variables.
  CHECK(other, anybit_create_session(&other));
  CHECK(other, anybit_share_model(other, session));
  CHECK(other, anybit_get_variable(other, kBias, ANYBIT_TYPE_FLOAT32, read, sizeof read));
  REQUIRE(memcmp(read, bias, sizeof bias) == 0);
  CHECK(NULL, anybit_close_session(other));
  CHECK(NULL, anybit_close_session(session));

  // A quantized session has no variables.
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_workspace(session, ""));
  CHECK(session, anybit_load_model_from_file(session, argv[1]));
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_WO_I8_SYM));
  CHECK(session, anybit_set_quantized_model_path(session, getenv("QUANTIZED")));
  CHECK(session, anybit_quantize(session));
  EXPECT(session, ANYBIT_INVALID_STATE,
         anybit_get_variable(session, kBias, ANYBIT_TYPE_FLOAT32, read, sizeof read));
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
