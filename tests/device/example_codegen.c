// Code generation, in the order of the flow: load, (path,) generate, prepare, backend, buffers, run.
// example_codegen MODEL IMAGES GENERATOR FOLDER [GENERATED]
#include "check.h"

int main(int argc, char** argv) {
  REQUIRE(argc == 5 || argc == 6);
  float input[kPixels], output[kClasses];
  read_image(argv[2], 0, input);
  anybit_session* session = NULL;
  CHECK(session, anybit_create_session(&session));
  CHECK(session, anybit_set_plugin_directory(session, argv[4]));

  // Load the model.
  CHECK(session, anybit_load_model_from_file(session, argv[1]));

  // The path of the code; by default beside the model, with the generator's extension.
  if (argc == 6) CHECK(session, anybit_set_codegen_model_path(session, argv[5]));

  // Generate it.
  CHECK(session, anybit_codegen(session, argv[3], ANYBIT_PREFER_DEFAULT));

  // Prepare the model to run.
  CHECK(session, anybit_prepare(session));

  // Select the generator's backend, "abc" of "abc-gen".
  char backend[64] = {0};
  REQUIRE(strlen(argv[3]) < sizeof backend);
  memcpy(backend, argv[3], strlen(argv[3]) - strlen("-gen"));
  CHECK(session, anybit_set_available_backends(session, backend));

  // Set the buffers.
  CHECK(session, anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input));
  CHECK(session, anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output));

  // Run it.
  CHECK(session, anybit_run(session));
  anybit_model_kind kind;
  CHECK(session, anybit_model_in_use(session, &kind));
  REQUIRE(kind == ANYBIT_MODEL_GENERATED);
  for (int i = 0; i < kClasses; ++i) printf("%.9g%c", (double)output[i], i + 1 < kClasses ? ' ' : '\n');

  // Run with anybit itself again.
  CHECK(session, anybit_set_available_backends(session, "cpu"));
  CHECK(session, anybit_model_in_use(session, &kind));
  REQUIRE(kind == ANYBIT_MODEL_FLOAT);
  CHECK(session, anybit_run(session));
  CHECK(NULL, anybit_close_session(session));
  return 0;
}
