// Many sessions at once: each thread creates, runs, quantizes and closes sessions on one model, one after the
// other. All ranges go to one file. threads MODEL FOLDER THREADS SESSIONS
#include <pthread.h>

#include "check.h"

enum { kRuns = 3, kInputs = 8, kOutputs = 4 };

static const char *model, *folder;
static int sessions;

static void use_session(const char* quantized, float first) {
  float input[kInputs] = {0}, output[kOutputs], other_output[kOutputs];
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_threads(session, 1));
  CHECK(session, anybit_load_model_from_file(session, model));
  CHECK(session, anybit_prepare(session));
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));
  CHECK(session, anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
  for (int i = 0; i < kRuns; ++i) {
    for (int k = 0; k < kInputs; ++k) input[k] = first + (float)(i * k) - 3;
    CHECK(session, anybit_run(session));
  }
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_I8_ASYM));
  CHECK(session, anybit_set_quantized_model_path(session, quantized));
  CHECK(session, anybit_quantize(session));
  CHECK(session, anybit_reset_execute_config(session));
  CHECK(session, anybit_run(session));

  // Another session runs the same prepared model.
  anybit_session* other = NULL;
  CHECK(other, anybit_create_session(&other));
  CHECK(other, anybit_share_model(other, session));
  CHECK(other, anybit_set_input(other, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(other, anybit_set_output(other, 0, ANYBIT_TYPE_FLOAT32, other_output, sizeof other_output));
  CHECK(NULL, anybit_close_session(session));
  CHECK(other, anybit_run(other));
  REQUIRE(memcmp(output, other_output, sizeof output) == 0);
  CHECK(NULL, anybit_close_session(other));
}

static void* work(void* argument) {
  const int number = *(const int*)argument;
  char quantized[512];
  snprintf(quantized, sizeof quantized, "%s/q%d.onnx", folder, number);
  for (int i = 0; i < sessions; ++i) use_session(quantized, (float)number);
  return NULL;
}

int main(int argc, char** argv) {
  REQUIRE(argc == 5);
  model = argv[1];
  folder = argv[2];
  const int threads = atoi(argv[3]);
  sessions = atoi(argv[4]);
  pthread_t ids[64];
  int numbers[64];
  REQUIRE(threads > 0 && threads <= 64);
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i;
    REQUIRE(pthread_create(&ids[i], NULL, work, &numbers[i]) == 0);
  }
  for (int i = 0; i < threads; ++i) REQUIRE(pthread_join(ids[i], NULL) == 0);

  anybit_session* session = NULL;
  int64_t runs = 0;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_load_model_from_file(session, model));
  CHECK(session, anybit_ranges_runs(session, &runs));
  REQUIRE(runs == (int64_t)threads * sessions * kRuns);
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
