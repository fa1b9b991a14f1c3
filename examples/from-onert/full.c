/* Full quantization, as onert's guide writes it, on an ONNX model.
 *
 *   gcc full.c $(pkg-config --cflags --libs nnfw-anybit) -o full
 *   ./full MODEL QUANTIZED RUNS        MODEL has one float32 input and one float32 output; prints the output
 */
#include "buffers.h"

int main(int argc, char** argv)
{
  if (argc != 4)
    return 2;
  const char* pkg_path = argv[1];
  const char* quantized_model_path = argv[2];
  const int num_of_inference = atoi(argv[3]);
  nnfw_session* session = NULL;
  nnfw_create_session(&session);

  // Load float32 model
  nnfw_load_model_from_file(session, pkg_path);

  // The variables of the guide.
  struct buffers memory = make_buffers(session);
  const uint32_t input_index = 0, output_index = 0;
  const NNFW_TYPE input_type = NNFW_TYPE_TENSOR_FLOAT32, output_type = NNFW_TYPE_TENSOR_FLOAT32;
  const void* input_buffer = memory.input;
  void* output_buffer = memory.output;
  const size_t input_element_size = memory.input_bytes, output_element_size = memory.output_bytes;

  // Prepare model to run
  nnfw_prepare(session);

  // Set input and output buffer(s)
  nnfw_set_input(session, input_index, input_type, input_buffer, input_element_size);
  nnfw_set_output(session, output_index, output_type, output_buffer, output_element_size);

  // Set execution configuration to gather activation range
  nnfw_set_execute_config(session, NNFW_RUN_CONFIG_DUMP_MINMAX, nullptr);

  // Run model multiple times for inference with gathering activation range
  for (int i = 0; i < num_of_inference; ++i)
  {
    nnfw_run(session);
  }

  // Set quantization type: full, asymmetric, uint8
  nnfw_set_quantization_type(session, NNFW_QUANTIZE_TYPE_U8_ASYM);

  // Set path to save quantized model
  nnfw_set_quantized_model_path(session, quantized_model_path);

  // Quantize model
  nnfw_quantize(session);

  // Reset execution configuration to normal execution
  nnfw_reset_execute_config(session);

  // Run model for inference with quantized model
  nnfw_run(session);

  return finish(session, &memory);
}
