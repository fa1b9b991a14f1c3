// Operators that treat each element alone, or otherwise keep type and shape of their first input.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Descriptor keeps(std::string_view name, std::vector<std::int16_t> since, std::string_view domain = "") {
  return {.name = name, .domain = domain, .since = std::move(since), .infer = infer_same};
}

}  // namespace

std::span<const Descriptor> unary_descriptors() {
  static const Descriptor all[] = {
      keeps("RotaryEmbedding", {23}),
      keeps("RotaryEmbedding", {1}, kMicrosoft),
  };
  return all;
}

}  // namespace anybit::ops
