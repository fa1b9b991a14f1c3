#include "lower/functions.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "portable/portable.hpp"

namespace anybit::lower {
namespace {

constexpr const char* kDomain = "ai.anybit";

graph::OpsetImport import_of(const char* domain, std::int64_t version) {
  graph::OpsetImport import;
  import.domain = graph::Text(domain);
  import.version = version;
  return import;
}

}  // namespace

Result<std::string> Functions::quantize_dequantize(const formats::Use& use) {
  return add(TRY(portable::quantize_dequantize(use)));
}

Result<std::string> Functions::decode(const formats::Use& use) { return add(TRY(portable::decode(use))); }

std::string Functions::add(graph::Function function) {
  std::string name = function.name.str();
  if (!added_.insert(name).second) return name;
  // Runtimes put a function's nodes in place as they are: they must mean the same in the model's opset.
  function.opsets = {import_of("", model_.opset().value_or(1))};
  if (std::ranges::none_of(model_.opsets,
                           [](const graph::OpsetImport& one) { return one.domain.str() == kDomain; }))
    model_.opsets.push_back(import_of(kDomain, 1));
  model_.functions.push_back(std::move(function));
  return name;
}

}  // namespace anybit::lower
