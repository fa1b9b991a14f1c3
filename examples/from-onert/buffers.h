/* What the programs of this folder need around the code of onert's guide: memory for the input and the output
 * of a model that has one of each, and the end of the program. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "nnfw.h"

struct buffers {
  float *input, *output;
  size_t input_bytes, output_bytes;
};

static inline size_t bytes_of(const nnfw_tensorinfo* info) {
  size_t bytes = sizeof(float);
  for (int32_t i = 0; i < info->rank; ++i)
    bytes *= info->dims[i] < 0 ? 1 : (size_t)info->dims[i]; /* a dynamic dimension, such as the batch: 1 */
  return bytes;
}

static inline struct buffers make_buffers(nnfw_session* session) {
  nnfw_tensorinfo input = {NNFW_TYPE_TENSOR_FLOAT32, 0, {0}}, output = input;
  nnfw_input_tensorinfo(session, 0, &input);
  nnfw_output_tensorinfo(session, 0, &output);
  struct buffers made = {NULL, NULL, bytes_of(&input), bytes_of(&output)};
  made.input = (float*)malloc(made.input_bytes);
  made.output = (float*)calloc(1, made.output_bytes);
  if (!made.input || !made.output) exit(1);
  for (size_t i = 0; i < made.input_bytes / sizeof(float); ++i) made.input[i] = (float)(i % 256) / 128 - 1;
  return made;
}

static inline struct buffers set_buffers(nnfw_session* session) {
  struct buffers made = make_buffers(session);
  nnfw_set_input(session, 0, NNFW_TYPE_TENSOR_FLOAT32, made.input, made.input_bytes);
  nnfw_set_output(session, 0, NNFW_TYPE_TENSOR_FLOAT32, made.output, made.output_bytes);
  return made;
}

/* The guide checks no status: the message is that of the last call that failed. */
static inline int finish(nnfw_session* session, struct buffers* memory) {
  char message[4096] = "";
  nnfw_get_last_error_message(session, message, sizeof message);
  for (size_t i = 0; i < memory->output_bytes / sizeof(float); ++i)
    printf("%.9g\n", (double)memory->output[i]);
  nnfw_close_session(session);
  free(memory->input);
  free(memory->output);
  if (message[0] == '\0') return 0;
  fprintf(stderr, "%s\n", message);
  return 1;
}
