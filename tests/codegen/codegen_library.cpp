// Code generation for Python tests of many models: through plain C calls, in one process.
#include <string>

#include "anybit/codegen.hpp"

using namespace anybit;

namespace {
thread_local std::string last_error;
}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* codegen_error() { return last_error.c_str(); }

// Generates `path` from the bytes of an ONNX file with the plugin `name` in `folder`. Zero: success.
EXPORT int codegen_generate(const char* bytes, std::size_t size, const char* name, const char* folder,
                            const char* path, int preference) {
  const auto model = Model::from_bytes({bytes, size});
  if (!model.ok()) return last_error = model.error().text(), 1;
  CodegenOptions options;
  options.preference = static_cast<anybit_preference>(preference);
  options.folders = {folder};
  const auto made = generate_code(*model, name, path, options);
  if (!made.ok()) return last_error = made.error().text(), 1;
  return 0;
}
