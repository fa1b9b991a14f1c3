// Bytes → model → bytes → model: whatever loads must save, load again, and save to the same bytes. What does
// not load must be an error that says where.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "onnx/load.hpp"
#include "onnx/save.hpp"

namespace {

void require(bool holds, const char* what, const std::string& details) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, details.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace anybit;
  const auto first = onnx::parse(Bytes::own(std::string(reinterpret_cast<const char*>(data), size)));
  if (!first.ok()) {
    require(!first.error().place.empty(), "an error without a place", first.error().text());
    return 0;
  }
  const auto bytes = onnx::serialize(*first);
  require(bytes.ok(), "a loaded model must save", bytes.ok() ? "" : bytes.error().text());
  const auto second = onnx::parse(Bytes::own(*bytes));
  require(second.ok(), "a saved model must load", second.ok() ? "" : second.error().text());
  const auto again = onnx::serialize(*second);
  require(again.ok() && *again == *bytes, "a second save must give the same bytes", {});
  return 0;
}
