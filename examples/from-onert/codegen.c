/* Code generation, as onert's guide writes it, on an ONNX model. The plugin libabc-gen.so is in the folder
 * nnfw/codegen beside libanybit.so; its backend is called abc.
 *
 *   gcc codegen.c $(pkg-config --cflags --libs nnfw-anybit) -o codegen
 *   ./codegen MODEL                    MODEL has one float32 input and one float32 output; prints the output
 */
#include "buffers.h"

int main(int argc, char** argv)
{
  if (argc != 2)
    return 2;
  const char* pkg_path = argv[1];
  nnfw_session* session = NULL;
  nnfw_create_session(&session);

  // Load model
  nnfw_load_model_from_file(session, pkg_path);

  // The variables of the guide.
  struct buffers memory = make_buffers(session);
  const uint32_t input_index = 0, output_index = 0;
  const NNFW_TYPE input_type = NNFW_TYPE_TENSOR_FLOAT32, output_type = NNFW_TYPE_TENSOR_FLOAT32;
  const void* input_buffer = memory.input;
  void* output_buffer = memory.output;
  const size_t input_element_size = memory.input_bytes, output_element_size = memory.output_bytes;

  // (Optional) Set path to save generated code
  // nnfw_set_codegen_model_path(session, codegen_model_path);

  // Generate code for target backend: target codegen plugin name is "abc" (installed as `libabc-gen.lib`)
  nnfw_codegen(session, "abc-gen", NNFW_CODEGEN_PREF_DEFAULT);

  // Prepare model to run
  nnfw_prepare(session);

  // Set backend to use generated code on specific target backend if need
  nnfw_set_available_backend(session, "abc");

  // Set input and output buffer(s)
  nnfw_set_input(session, input_index, input_type, input_buffer, input_element_size);
  nnfw_set_output(session, output_index, output_type, output_buffer, output_element_size);

  // Run model
  nnfw_run(session);

  return finish(session, &memory);
}
