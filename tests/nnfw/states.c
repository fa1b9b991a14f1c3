// Tries every call of the table in nnfw/nnfw.h in every state.
// states MODEL < ROWS, each "call created loaded replaced prepared ran running"
#include "check.h"

enum { kStates = 6, kCreated = 0, kLoaded, kReplaced, kPrepared, kRan, kRunning };
static const char* const kNames[kStates] = {"created", "loaded", "replaced", "prepared", "ran", "running"};

static const char* model_path;
static unsigned char* model_bytes;
static size_t model_length;
static float input[kPixels], output[kClasses];

static nnfw_session* session_in(int state) {
  nnfw_session* s = NULL;
  CHECK(s, nnfw_create_session(&s));
  CHECK(s, nnfw_set_workspace(s, ""));
  if (state == kCreated) return s;
  CHECK(s, nnfw_load_model_from_file(s, model_path));
  CHECK(s, nnfw_set_config(s, "NUM_THREADS", "1"));
  CHECK(s, nnfw_set_prepare_config(s, NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC, NULL));
  CHECK(s, nnfw_set_quantization_type(s, NNFW_QUANTIZE_TYPE_WO_I8_SYM));
  CHECK(s, nnfw_set_quantized_model_path(s, getenv("QUANTIZED")));
  CHECK(s, nnfw_set_codegen_model_path(s, getenv("GENERATED")));
  if (state == kLoaded) return s;
  if (state == kReplaced) CHECK(s, nnfw_quantize(s));
  if (state >= kPrepared) CHECK(s, nnfw_prepare(s));
  CHECK(s, nnfw_set_input(s, 0, NNFW_TYPE_TENSOR_FLOAT32, input, sizeof input));
  if (state >= kRan) CHECK(s, nnfw_run(s));
  if (state == kRunning) CHECK(s, nnfw_run_async(s));
  return s;
}

// The state, deduced from the calls that are allowed in it.
static int state_of(nnfw_session* s) {
  uint32_t count;
  nnfw_tensorinfo info;
  const void* bytes;
  if (nnfw_input_size(s, &count) != NNFW_STATUS_NO_ERROR) return kCreated;
  if (nnfw_input_tensorinfo(s, 0, &info) != NNFW_STATUS_NO_ERROR) return kRunning;
  if (nnfw_get_output(s, 0, &info, &bytes) != NNFW_STATUS_INVALID_STATE) return kRan;
  const int before = nnfw_set_input_type(s, 0, NNFW_TYPE_TENSOR_FLOAT32) == NNFW_STATUS_NO_ERROR;
  const int ready =
      nnfw_set_input(s, 0, NNFW_TYPE_TENSOR_FLOAT32, input, sizeof input) == NNFW_STATUS_NO_ERROR;
  return before ? ready ? kReplaced : kLoaded : kPrepared;
}

static NNFW_STATUS call(const char* name, nnfw_session* s) {
  static const nnfw_tensorinfo shape = {NNFW_TYPE_TENSOR_FLOAT32, 4, {1, 1, 28, 28, 0, 0}};
  nnfw_tensorinfo info;
  uint32_t number;
  char text[4096];
  const void* bytes;
#define IS(word) (strcmp(name, word) == 0)
  if (IS("get_last_error_message")) return nnfw_get_last_error_message(s, text, sizeof text);
  if (IS("query_info_u32")) return nnfw_query_info_u32(s, NNFW_INFO_ID_VERSION, &number);
  if (IS("load_model_from_file")) return nnfw_load_model_from_file(s, model_path);
  if (IS("load_model_from_modelfile")) return nnfw_load_model_from_modelfile(s, model_path);
  if (IS("load_circle_from_buffer")) return nnfw_load_circle_from_buffer(s, model_bytes, model_length);
  if (IS("set_workspace")) return nnfw_set_workspace(s, "");
  if (IS("set_config")) return nnfw_set_config(s, "NUM_THREADS", "1");
  if (IS("get_config")) return nnfw_get_config(s, "NUM_THREADS", text, sizeof text);
  if (IS("set_prepare_config")) return nnfw_set_prepare_config(s, NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC, NULL);
  if (IS("reset_prepare_config")) return nnfw_reset_prepare_config(s);
  if (IS("set_input_layout")) return nnfw_set_input_layout(s, 0, NNFW_LAYOUT_NONE);
  if (IS("set_output_layout")) return nnfw_set_output_layout(s, 0, NNFW_LAYOUT_NONE);
  if (IS("set_input_type")) return nnfw_set_input_type(s, 0, NNFW_TYPE_TENSOR_FLOAT32);
  if (IS("set_output_type")) return nnfw_set_output_type(s, 0, NNFW_TYPE_TENSOR_FLOAT32);
  if (IS("set_available_backends")) return nnfw_set_available_backends(s, "cpu");
  if (IS("set_available_backend")) return nnfw_set_available_backend(s, "cpu");
  if (IS("prepare")) return nnfw_prepare(s);
  if (IS("input_size")) return nnfw_input_size(s, &number);
  if (IS("output_size")) return nnfw_output_size(s, &number);
  if (IS("input_tensorinfo")) return nnfw_input_tensorinfo(s, 0, &info);
  if (IS("output_tensorinfo")) return nnfw_output_tensorinfo(s, 0, &info);
  if (IS("input_tensorindex")) return nnfw_input_tensorindex(s, "image", &number);
  if (IS("output_tensorindex")) return nnfw_output_tensorindex(s, "logits", &number);
  if (IS("set_input_tensorinfo")) return nnfw_set_input_tensorinfo(s, 0, &shape);
  if (IS("set_input")) return nnfw_set_input(s, 0, NNFW_TYPE_TENSOR_FLOAT32, input, sizeof input);
  if (IS("set_output")) return nnfw_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, output, sizeof output);
  if (IS("run")) return nnfw_run(s);
  if (IS("run_async")) return nnfw_run_async(s);
  if (IS("await")) return nnfw_await(s);
  if (IS("get_output")) return nnfw_get_output(s, 0, &info, &bytes);
  if (IS("set_execute_config")) return nnfw_set_execute_config(s, NNFW_RUN_CONFIG_DUMP_MINMAX, NULL);
  if (IS("reset_execute_config")) return nnfw_reset_execute_config(s);
  if (IS("set_quantization_type")) return nnfw_set_quantization_type(s, NNFW_QUANTIZE_TYPE_WO_I16_SYM);
  if (IS("set_quantized_model_path")) return nnfw_set_quantized_model_path(s, getenv("QUANTIZED"));
  if (IS("quantize")) return nnfw_quantize(s);
  if (IS("set_codegen_model_path")) return nnfw_set_codegen_model_path(s, getenv("GENERATED"));
  if (IS("codegen")) return nnfw_codegen(s, "c-gen", NNFW_CODEGEN_PREF_DEFAULT);
  if (IS("set_odc_param_minmax_records_count")) return nnfw_set_odc_param_minmax_records_count(s, 5);
  if (IS("odc_delete_minmax_file")) return nnfw_odc_delete_minmax_file(s);
  if (IS("run_with_auto_compilation"))
    return nnfw_run_with_auto_compilation(s, "c-gen", NNFW_CODEGEN_PREF_DEFAULT);
  if (IS("apply_tensorinfo")) return nnfw_apply_tensorinfo(s, 0, shape);
  if (IS("set_op_backend")) return nnfw_set_op_backend(s, "Conv2D", "cpu");
  if (IS("prepare_pipeline")) return nnfw_prepare_pipeline(s, NULL);
  if (IS("push_pipeline_input")) return nnfw_push_pipeline_input(s, NULL, NULL);
  if (IS("pop_pipeline_output")) return nnfw_pop_pipeline_output(s, NULL);
  if (IS("register_custom_op_info")) return nnfw_register_custom_op_info(s, "x", NULL);
  if (IS("set_backends_per_operation")) return nnfw_set_backends_per_operation(s, "0=cpu");
  if (IS("configure_signature")) return nnfw_configure_signature(s, "x");
  if (IS("set_signature_run")) return nnfw_set_signature_run(s, "x");
  if (IS("train")) return nnfw_train(s, true);
  if (IS("train_get_traininfo")) return nnfw_train_get_traininfo(s, NULL);
  if (IS("train_set_traininfo")) return nnfw_train_set_traininfo(s, NULL);
  if (IS("train_prepare")) return nnfw_train_prepare(s);
  if (IS("train_input_tensorinfo")) return nnfw_train_input_tensorinfo(s, 0, &info);
  if (IS("train_expected_tensorinfo")) return nnfw_train_expected_tensorinfo(s, 0, &info);
  if (IS("train_set_input")) return nnfw_train_set_input(s, 0, input, NULL);
  if (IS("train_set_expected")) return nnfw_train_set_expected(s, 0, output, NULL);
  if (IS("train_set_output"))
    return nnfw_train_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, output, sizeof output);
  if (IS("train_get_loss")) return nnfw_train_get_loss(s, 0, output);
  if (IS("train_export_circle")) return nnfw_train_export_circle(s, "x");
  if (IS("train_export_circleplus")) return nnfw_train_export_circleplus(s, "x");
  if (IS("train_import_checkpoint")) return nnfw_train_import_checkpoint(s, "x");
  if (IS("train_export_checkpoint")) return nnfw_train_export_checkpoint(s, "x");
  fprintf(stderr, "no call %s\n", name);
  exit(1);
}

static NNFW_STATUS status_of(const char* answer) {
  if (strcmp(answer, "-") == 0) return NNFW_STATUS_INVALID_STATE;
  if (strcmp(answer, "E") == 0) return NNFW_STATUS_ERROR;
  return strcmp(answer, "D") == 0 ? NNFW_STATUS_DEPRECATED_API : NNFW_STATUS_NO_ERROR;
}

static void check_cell(const char* name, int before, const char* answer) {
  nnfw_session* s = session_in(before);
  if (strcmp(name, "close_session") == 0) {
    CHECK(NULL, nnfw_close_session(s));
    return;
  }
  const NNFW_STATUS wanted = status_of(answer), status = call(name, s);
  int after = before;
  for (int i = 0; i < kStates; ++i) after = strcmp(answer, kNames[i]) == 0 ? i : after;
  const int silent = wanted != NNFW_STATUS_NO_ERROR && error_of(s)[0] == 0;
  const int found = state_of(s);
  if (status != wanted || found != after || silent) {
    fprintf(stderr, "%s when %s: status %d, then %s; should be %d, then %s: %s\n", name, kNames[before],
            (int)status, kNames[found], (int)wanted, kNames[after], error_of(s));
    exit(1);
  }
  // After a rejected call the session is usable as before.
  if (found == kRunning) CHECK(s, nnfw_await(s));
  if (found >= kReplaced) CHECK(s, nnfw_run(s));
  CHECK(NULL, nnfw_close_session(s));
}

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  model_path = argv[1];
  FILE* file = fopen(model_path, "rb");
  REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
  model_length = (size_t)ftell(file);
  rewind(file);
  model_bytes = (unsigned char*)malloc(model_length);
  REQUIRE(model_bytes != NULL && fread(model_bytes, 1, model_length, file) == model_length);
  fclose(file);
  char name[64], answers[kStates][16];
  int calls = 0;
  while (scanf("%63s %15s %15s %15s %15s %15s %15s", name, answers[0], answers[1], answers[2], answers[3],
               answers[4], answers[5]) == 1 + kStates) {
    if (strcmp(name, "close_session") != 0)
      EXPECT(NULL, strcmp(name, "query_info_u32") == 0 ? NNFW_STATUS_NO_ERROR : NNFW_STATUS_UNEXPECTED_NULL,
             call(name, NULL));
    for (int i = 0; i < kStates; ++i) check_cell(name, i, answers[i]);
    ++calls;
  }
  CHECK(NULL, nnfw_close_session(NULL));
  EXPECT(NULL, NNFW_STATUS_UNEXPECTED_NULL, nnfw_create_session(NULL));
  free(model_bytes);
  printf("%d calls\n", calls);
  return 0;
}
