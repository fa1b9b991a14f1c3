#include "portable/portable.hpp"

#include "base/error.hpp"

namespace anybit::portable {

Result<graph::Function> quantize_dequantize(const formats::Use& use) {
  return error_at(Code::unsupported, {}, fmt::format("{} has no function yet", use.format));
}

Result<graph::Function> decode(const formats::Use& use) {
  return error_at(Code::unsupported, {}, fmt::format("{} has no function yet", use.format));
}

std::optional<Meaning> meaning_of(const graph::Function&) { return std::nullopt; }

}  // namespace anybit::portable
