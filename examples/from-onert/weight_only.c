/* Weight-only quantization, as onert's guide writes it, on an ONNX model.
 *
 *   gcc weight_only.c $(pkg-config --cflags --libs nnfw-anybit) -o weight_only
 *   ./weight_only MODEL QUANTIZED      MODEL has one float32 input and one float32 output; prints the output
 */
#include "buffers.h"

int main(int argc, char** argv)
{
  if (argc != 3)
    return 2;
  const char* pkg_path = argv[1];
  const char* quantized_model_path = argv[2];
  nnfw_session* session = NULL;
  nnfw_create_session(&session);

  // Load float32 model
  nnfw_load_model_from_file(session, pkg_path);

  // Set quantization type: weight-only, symmetric, int8
  nnfw_set_quantization_type(session, NNFW_QUANTIZE_TYPE_WO_I8_SYM);

  // Set path to save quantized model
  nnfw_set_quantized_model_path(session, quantized_model_path);

  // Quantize model
  nnfw_quantize(session);

  // The guide leaves this out: a run needs buffers.
  struct buffers memory = set_buffers(session);

  // Run model for inference with quantized model
  nnfw_run(session);

  return finish(session, &memory);
}
