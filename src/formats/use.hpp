// A format as it is used on a tensor, and its one-line text in operators of ai.anybit, recipes and reports:
// "mxfp4_e2m1 axis=1 block_size=32".
#pragma once

#include <string>
#include <string_view>

#include "formats/grouping.hpp"
#include "formats/rounding.hpp"

namespace anybit::formats {

struct Use {
  std::string format;
  Values parameters;  // those given
  GroupingOptions grouping;
  Rounding rounding = Rounding::half_even;
  std::optional<std::int64_t> rank;  // of the tensors, where it is relevant
  friend bool operator==(const Use&, const Use&) = default;
};

// Omits defaults; equal uses have equal texts.
std::string to_string(const Use& use);
// Words after the format are name=value: the format's parameters, granularity, axis, block_size, rounding,
// rank. An error for an unknown format or name, or an invalid value.
Result<Use> read_use(std::string_view text);

}  // namespace anybit::formats
