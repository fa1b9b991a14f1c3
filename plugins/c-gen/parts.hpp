// Sums of products that leave 32 bits, in tiles that have no more: one factor is taken in parts of a few
// bits, x = Σ part[i] · 2^(bits · i), each part is multiplied by itself, and the sums are put together in 64
// bits.
#pragma once

#include <optional>
#include <string>

#include "node.hpp"

namespace anybit::cgen {

struct Parts {
  std::int64_t count = 1, bits = 0;

  // A C expression: the whole of sums at `index` of arrays that lie `apart` from each other.
  std::string sum(std::string_view sums, std::int64_t apart, std::string_view index) const;
  std::string name() const;  // for names of helpers
};

// For numbers of 16 bits up to `largest` whose factors, as magnitudes, add up to `factors`. As few as will
// do; nothing if no number of them does.
std::optional<Parts> parts_for(std::int64_t largest, std::int64_t factors);

// C that takes `count` 16-bit numbers apart: the parts lie `count` from each other, the lowest in their
// place.
void emit_split(Node& node, const Parts& parts, const std::string& numbers, std::int64_t count);

}  // namespace anybit::cgen
