// Accumulators beyond 32 bits with 32-bit tiles: one operand is split into parts of a few bits, x = Σ part[i]
// · 2^(bits · i), each part is multiplied separately, and the results are combined in 64 bits.
#pragma once

#include <optional>
#include <string>

#include "node.hpp"

namespace anybit::cgen {

struct Parts {
  std::int64_t count = 1, bits = 0;

  // A C expression that combines the sums of the parts at `index`; arrays are `apart` from each other.
  std::string sum(std::string_view sums, std::int64_t apart, std::string_view index) const;
  std::string name() const;  // for helper names
};

// Splits 16-bit numbers of magnitude up to `largest` whose multipliers have magnitudes that add up to
// `factors`, into as few parts as possible; empty if impossible.
std::optional<Parts> parts_for(std::int64_t largest, std::int64_t factors);

// C code that splits `count` 16-bit numbers: parts are `count` apart, the lowest part in place.
void emit_split(Node& node, const Parts& parts, const std::string& numbers, std::int64_t count);

}  // namespace anybit::cgen
