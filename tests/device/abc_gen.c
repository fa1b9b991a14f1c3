// A generator with a backend, for tests: the file names the model that it was made from, and a run computes
// the sum of the inputs plus the index of each element. With ABC_FAILS, generate fails after writing
// something.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anybit/codegen.hpp"

#ifndef ABC_ABI
#define ABC_ABI ANYBIT_CODEGEN_ABI
#endif
#ifndef ABC_BACKEND
#define ABC_BACKEND NULL
#endif

static int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
                    anybit_text* error) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "abc %s %d\n", view->hash, (int)options->preference);
  fclose(file);
  if (getenv("ABC_FAILS") == NULL) return 0;
  error->write(error->target, "asked to fail", strlen("asked to fail"));
  return 1;
}

static void* load(const char* path, anybit_text* error) {
  char word[4] = {0};
  FILE* file = fopen(path, "r");
  const int ours = file != NULL && fread(word, 1, 3, file) == 3 && strcmp(word, "abc") == 0;
  if (file != NULL) fclose(file);
  if (!ours) error->write(error->target, "not a file of abc-gen", strlen("not a file of abc-gen"));
  return ours ? malloc(1) : NULL;
}

static int run(void* loaded, const anybit_tensor* inputs, size_t input_count, anybit_tensor* outputs,
               size_t output_count, anybit_text* error) {
  (void)loaded;
  (void)error;
  float sum = 0;
  for (size_t i = 0; i < input_count; ++i) {
    const float* x = inputs[i].data;
    for (size_t k = 0; k < inputs[i].bytes / sizeof(float); ++k) sum += x[k];
  }
  for (size_t i = 0; i < output_count; ++i) {
    float* y = outputs[i].data;
    for (size_t k = 0; k < outputs[i].bytes / sizeof(float); ++k) y[k] = sum + (float)k;
  }
  return 0;
}

const anybit_codegen_plugin* anybit_codegen_entry(void) {
  static const anybit_codegen_plugin plugin = {.abi = ABC_ABI,
                                               .name = "abc-gen",
                                               .extension = ".abc",
                                               .summary = "for tests",
                                               .generate = generate,
                                               .load = load,
                                               .run = run,
                                               .unload = free,
                                               .backend = ABC_BACKEND};
  return &plugin;
}
