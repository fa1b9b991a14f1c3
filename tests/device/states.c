// Every call in every state returns the status in anybit/anybit.h's table of states.
// states MODEL BYTES: the model, and the size of a buffer for a copy of it. Reads the table from standard
// input: one line per call, with the results in the four states: "run - - run run".
#include "check.h"

typedef enum { kCreated, kLoaded, kPrepared, kRan, kStates } State;

static const char* const kNames[] = {"created", "loaded", "prepared", "run"};
static const char kVariable[] = "head/linear.bias";  // one element per class
static const char* model_path;
static char* model_bytes;
static size_t model_length;
static float input[kPixels], output[kClasses];
static anybit_session* helper;  // prepared

// A session in this state, with everything that the next call needs.
static anybit_session* session_in(State state, int has_variable) {
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_workspace(session, ""));
  CHECK(session, anybit_set_threads(session, 1));
  CHECK(session, anybit_set_quantization_type(session, ANYBIT_QUANTIZE_WO_I8_SYM));
  if (state == kCreated) return session;
  CHECK(session, anybit_load_model_from_memory(session, model_bytes, model_length));
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));
  CHECK(session, anybit_set_execute_config(session, ANYBIT_PROFILE));
  if (has_variable && state != kLoaded) CHECK(session, anybit_add_variable(session, kVariable));
  if (state >= kPrepared) CHECK(session, anybit_prepare(session));
  if (state >= kRan) CHECK(session, anybit_run(session));
  return session;
}

// The state, deduced from the calls that are allowed in it.
static State state_of(anybit_session* session) {
  size_t count;
  const char* text;
  if (anybit_input_count(session, &count) == ANYBIT_INVALID_STATE) return kCreated;
  if (anybit_set_threads(session, 1) == ANYBIT_OK) return kLoaded;
  const anybit_status profile = anybit_profile(session, &text);
  return profile == ANYBIT_INVALID_STATE && strstr(anybit_last_error(session), "kept no times") == NULL
             ? kPrepared
             : kRan;
}

static anybit_status call(const char* name, anybit_session* s) {
  static const int64_t dims[] = {1, 1, 28, 28};
  anybit_tensor_info info;
  anybit_model_kind kind;
  size_t count;
  int64_t runs;
  const char* text;
#define IS(word) (strcmp(name, word) == 0)
  if (IS("last_error")) return anybit_last_error(s) != NULL ? ANYBIT_OK : ANYBIT_IO;
  if (IS("load_model_from_file")) return anybit_load_model_from_file(s, model_path);
  if (IS("load_model_from_memory")) return anybit_load_model_from_memory(s, model_bytes, model_length);
  if (IS("share_model")) return anybit_share_model(s, helper);
  if (IS("set_threads")) return anybit_set_threads(s, 1);
  if (IS("set_limit")) return anybit_set_limit(s, ANYBIT_LIMIT_NODES, 1000);
  if (IS("set_reproducible")) return anybit_set_reproducible(s, 1);
  if (IS("set_workspace")) return anybit_set_workspace(s, "");
  if (IS("set_plugin_directory")) return anybit_set_plugin_directory(s, "/");
  if (IS("set_available_backends")) return anybit_set_available_backends(s, "cpu");
  if (IS("add_variable")) return anybit_add_variable(s, kVariable);
  if (IS("variable_info")) return anybit_variable_info(s, kVariable, &info);
  if (IS("get_variable"))
    return anybit_get_variable(s, kVariable, ANYBIT_TYPE_FLOAT32, output, sizeof output);
  if (IS("set_variable"))
    return anybit_set_variable(s, kVariable, ANYBIT_TYPE_FLOAT32, output, sizeof output);
  if (IS("prepare")) return anybit_prepare(s);
  if (IS("input_count")) return anybit_input_count(s, &count);
  if (IS("output_count")) return anybit_output_count(s, &count);
  if (IS("input_info")) return anybit_input_info(s, 0, &info);
  if (IS("output_info")) return anybit_output_info(s, 0, &info);
  if (IS("set_input_shape")) return anybit_set_input_shape(s, 0, 4, dims);
  if (IS("set_input")) return anybit_set_input(s, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input);
  if (IS("set_output")) return anybit_set_output(s, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output);
  if (IS("run")) return anybit_run(s);
  if (IS("set_execute_config")) return anybit_set_execute_config(s, ANYBIT_PROFILE);
  if (IS("reset_execute_config")) return anybit_reset_execute_config(s);
  if (IS("profile")) return anybit_profile(s, &text);
  if (IS("ranges_runs")) return anybit_ranges_runs(s, &runs);
  if (IS("save_ranges")) return anybit_save_ranges(s);
  if (IS("reset_ranges")) return anybit_reset_ranges(s);
  if (IS("set_quantization_type")) return anybit_set_quantization_type(s, ANYBIT_QUANTIZE_WO_I8_SYM);
  if (IS("set_quantization_recipe")) return anybit_set_quantization_recipe(s, "w4");
  if (IS("set_quantized_model_path")) return anybit_set_quantized_model_path(s, NULL);
  if (IS("quantize")) return anybit_quantize(s);
  if (IS("quantized_model_path")) return anybit_quantized_model_path(s, &text);
  if (IS("codegen_model_path")) return anybit_codegen_model_path(s, &text);
  if (IS("set_codegen_model_path")) return anybit_set_codegen_model_path(s, getenv("GENERATED"));
  if (IS("codegen")) {
    anybit_set_plugin_directory(s, getenv("GENERATORS"));
    anybit_set_codegen_model_path(s, getenv("GENERATED"));
    return anybit_codegen(s, getenv("GENERATOR"), ANYBIT_PREFER_DEFAULT);
  }
  if (IS("run_with_auto_compilation"))
    return anybit_run_with_auto_compilation(s, 100, NULL, ANYBIT_PREFER_DEFAULT);
  if (IS("model_in_use")) return anybit_model_in_use(s, &kind);
  fprintf(stderr, "no call %s\n", name);
  exit(1);
}

static void check_cell(const char* name, State before, const char* answer) {
  anybit_session* session = session_in(before, strstr(name, "variable") != NULL);
  if (strcmp(name, "close_session") == 0) {
    REQUIRE(strcmp(answer, "allowed") == 0 && anybit_close_session(session) == ANYBIT_OK);
    return;
  }
  const anybit_status status = call(name, session);
  State after = before;
  for (int i = 0; i < kStates; ++i) after = strcmp(answer, kNames[i]) == 0 ? (State)i : after;
  const anybit_status wanted = strcmp(answer, "-") == 0 ? ANYBIT_INVALID_STATE : ANYBIT_OK;
  const State found = state_of(session);
  if (status != wanted || found != after) {
    fprintf(stderr, "%s when %s: status %d, then %s; should be %d, then %s: %s\n", name, kNames[before],
            status, kNames[found], wanted, kNames[after], anybit_last_error(session));
    exit(1);
  }
  // After a rejected call the session is usable as before.
  if (found >= kPrepared) {
    CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
    CHECK(session, anybit_run(session));
  }
  CHECK(NULL, anybit_close_session(session));
}

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  model_path = argv[1];
  model_length = (size_t)atol(argv[2]);
  model_bytes = malloc(model_length);
  FILE* file = fopen(model_path, "rb");
  REQUIRE(model_bytes != NULL && file != NULL && fread(model_bytes, 1, model_length, file) == model_length);
  fclose(file);
  helper = session_in(kPrepared, 0);
  char name[64], answers[kStates][16];
  int calls = 0;
  while (scanf("%63s %15s %15s %15s %15s", name, answers[0], answers[1], answers[2], answers[3]) == 5) {
    for (int i = 0; i < kStates; ++i) check_cell(name, (State)i, answers[i]);
    ++calls;
  }
  printf("%d calls\n", calls);
  CHECK(NULL, anybit_close_session(helper));
  free(model_bytes);
  return 0;
}
