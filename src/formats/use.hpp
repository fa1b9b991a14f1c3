// A format as it is used on a tensor, and the one line of text that tells it: in operators of ai.anybit, in
// recipes and in reports. "mxfp4_e2m1 axis=1 block_size=32".
#pragma once

#include <string>
#include <string_view>

#include "formats/grouping.hpp"
#include "formats/rounding.hpp"

namespace anybit::formats {

struct Use {
  std::string format;
  Values parameters;  // those that were given
  GroupingOptions grouping;
  Rounding rounding = Rounding::half_even;
  std::optional<std::int64_t> rank;  // of the tensors, where it matters
  friend bool operator==(const Use&, const Use&) = default;
};

// Only what differs from the format's own choice; the same text for the same use.
std::string to_string(const Use& use);
// What TensorFormat takes.
TensorFormatOptions options_of(const Use& use);
// Words after the format are name=value: the format's parameters, granularity, axis, block_size, rounding,
// rank. An error for a format, a name or a value that there is not.
Result<Use> read_use(std::string_view text);

}  // namespace anybit::formats
