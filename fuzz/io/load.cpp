// Bytes → model → bytes → model: a model that loads can be saved, loads again, and saves to the same bytes.
// Otherwise the error gives a place.
#include <string>

#include "../require.hpp"
#include "io/onnx/load.hpp"
#include "io/onnx/save.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const auto first = onnx::parse(Bytes::own(std::string(reinterpret_cast<const char*>(data), size)));
  if (!first.ok()) {
    require(!first.error().place.empty(), "an error without a place", first.error().text());
    return 0;
  }
  const auto bytes = onnx::serialize(*first);
  require(bytes, "a loaded model must save");
  const auto second = onnx::parse(Bytes::own(*bytes));
  require(second, "a saved model must load");
  const auto again = onnx::serialize(*second);
  require(again.ok() && *again == *bytes, "a second save must give the same bytes");
  return 0;
}
