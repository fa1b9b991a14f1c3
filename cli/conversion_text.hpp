// The result of `anybit convert` as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "anybit/formats.hpp"
#include "narrowing.hpp"

namespace anybit::cli {

struct Conversion {
  std::string input, output;
  TensorFormat format;
  Narrowing narrowing = {};                // the rounding to float32 before the format
  std::optional<std::int64_t> bytes = {};  // packed values and shared fields; unset for dequantized output
  std::optional<Losses> losses = {};       // unset when unpacking
};

// "[2, 7]": the multi-index of a flat index in a tensor of these dimensions.
std::string index_text(std::int64_t at, const std::vector<std::int64_t>& dims);
std::string to_text(const Conversion& conversion);
std::string to_json(const Conversion& conversion);

}  // namespace anybit::cli
