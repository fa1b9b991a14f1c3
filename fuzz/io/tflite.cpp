// Bytes of a TFLite or Circle file → model: what loads is verified, and can be saved as ONNX. Otherwise the
// error says what is wrong.
#include <string>

#include "../require.hpp"
#include "graph/verify.hpp"
#include "tflite/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  LoadOptions options;
  options.limits.elements = 1 << 24;
  options.limits.nodes = 20'000;
  options.limits.records = 100'000;
  options.limits.work_bytes = 16 << 20;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* identifier : {"TFL3", "CIR0"}) {
    const auto model = tflite::parse(Bytes::own(bytes), identifier, options);
    if (model.ok())
      require(graph::verify(*model, options.limits), "a loaded model must be valid");
    else
      require(!model.error().message.empty(), "an error without a message", model.error().text());
  }
  return 0;
}
