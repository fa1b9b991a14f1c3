// A session driven by command-line words: each word is one call, and its status is printed. For tests of
// faults and restarts.
// steps MODEL WORD…: gather, runN, auto[:GENERATOR], u8, wo, quantize, runs, use, close, wait, …; see below.
#include "check.h"

enum { kInputs = 8, kOutputs = 4 };

static float input[2 * kInputs] = {1, -2, 3, -4, 5, -6, 7, -8}, output[2 * kOutputs];

// True if `word` begins with `name`; then *rest is the remainder.
static int begins(const char* word, const char* name, const char** rest) {
  const size_t length = strlen(name);
  *rest = word + length;
  return strncmp(word, name, length) == 0;
}

static anybit_session* opened(const char* model) {
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_threads(session, 1));
  if (getenv("WORKSPACE") != NULL) CHECK(session, anybit_set_workspace(session, getenv("WORKSPACE")));
  if (getenv("GENERATORS") != NULL)
    CHECK(session, anybit_set_plugin_directory(session, getenv("GENERATORS")));
  const anybit_status status = anybit_load_model_from_file(session, model);
  if (status != ANYBIT_OK) {
    printf("load %d\n", (int)status);
    exit(0);
  }
  CHECK(session, anybit_prepare(session));
  /* One or two rows, where the model leaves that open. */
  const int64_t dims[2] = {getenv("BATCH") != NULL ? atoi(getenv("BATCH")) : 1, kInputs};
  if (getenv("BATCH") != NULL) CHECK(session, anybit_set_input_shape(session, 0, 2, dims));
  const size_t rows = (size_t)dims[0];
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, rows * kInputs * sizeof *input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));
  return session;
}

static anybit_status step(anybit_session* session, const char* word) {
  const char* rest = "";
  if (begins(word, "gather", &rest)) return anybit_set_execute_config(session, ANYBIT_GATHER_RANGES);
  if (begins(word, "profile", &rest))
    return anybit_set_execute_config(session, ANYBIT_PROFILE | ANYBIT_TRACE);
  if (begins(word, "times", &rest)) {
    const char* json = NULL;
    return anybit_profile(session, &json);
  }
  if (begins(word, "reset-ranges", &rest)) return anybit_reset_ranges(session);
  if (begins(word, "reset", &rest)) return anybit_reset_execute_config(session);
  if (begins(word, "type:", &rest))
    return anybit_set_quantization_type(session, (anybit_quantization_type)atoi(rest));
  if (begins(word, "recipe:", &rest)) return anybit_set_quantization_recipe(session, rest);
  if (begins(word, "path:", &rest)) return anybit_set_quantized_model_path(session, rest);
  if (begins(word, "cpath:", &rest)) return anybit_set_codegen_model_path(session, rest);
  if (begins(word, "default:", &rest)) {  // INDEX: the input gets zeros; -INDEX: its default again
    static float zeros[64];
    const int index = atoi(rest);
    return anybit_set_input(session, (size_t)abs(index), ANYBIT_TYPE_FLOAT32, index > 0 ? zeros : NULL,
                            (size_t)atoi(strchr(rest, 'x') + 1) * sizeof *zeros);
  }
  if (begins(word, "quantize", &rest)) return anybit_quantize(session);
  if (begins(word, "codegen:", &rest)) return anybit_codegen(session, rest, ANYBIT_PREFER_MEMORY);
  if (begins(word, "backends:", &rest))
    return anybit_set_available_backends(session, strcmp(rest, "NULL") == 0 ? NULL : rest);
  const int small = begins(word, "small-auto:", &rest);
  if (small || begins(word, "auto:", &rest)) {  // THRESHOLD[:GENERATOR]
    const char* const generator = strchr(rest, ':');
    return anybit_run_with_auto_compilation(session, atoi(rest), generator ? generator + 1 : NULL,
                                            small ? ANYBIT_PREFER_MEMORY : ANYBIT_PREFER_DEFAULT);
  }
  if (begins(word, "shape:", &rest)) {  // ROWS: of the input
    const int64_t dims[2] = {atoi(rest), kInputs};
    CHECK(session, anybit_set_input_shape(session, 0, 2, dims));
    return anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input,
                            (size_t)dims[0] * kInputs * sizeof *input);
  }
  if (begins(word, "run", &rest)) return anybit_run(session);
  if (begins(word, "shell:", &rest)) return system(rest) == 0 ? ANYBIT_OK : ANYBIT_IO;
  fprintf(stderr, "no step %s\n", word);
  exit(2);
}

int main(int argc, char** argv) {
  REQUIRE(argc > 1);
  anybit_session* session = opened(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const anybit_status status = step(session, argv[i]);
    anybit_model_kind kind = ANYBIT_MODEL_FLOAT;
    int64_t runs = -1;
    CHECK(session, anybit_model_in_use(session, &kind));
    if (anybit_ranges_runs(session, &runs) != ANYBIT_OK) runs = -1;
    printf("%s status %d model %d ranges %d: %.9g\n", argv[i], (int)status, (int)kind, (int)runs,
           (double)output[0]);
    if (status != ANYBIT_OK) fprintf(stderr, "%s: %s\n", argv[i], anybit_last_error(session));
  }
  printf("close status %d\n", (int)anybit_close_session(session));
  return 0;
}
