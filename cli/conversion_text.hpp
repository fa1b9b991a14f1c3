// What `anybit convert` did, for people and for programs.
#pragma once

#include <optional>
#include <string>

#include "anybit/formats.hpp"
#include "narrowing.hpp"

namespace anybit::cli {

struct Conversion {
  std::string input, output;
  TensorFormat format;
  Narrowing narrowing = {};                // what came before the format
  std::optional<std::int64_t> bytes = {};  // of codes and what they share; not for dequantized output
  std::optional<Losses> losses = {};       // not when unpacking
};

// "[2, 7]": where in a tensor of these dimensions.
std::string index_text(std::int64_t at, const std::vector<std::int64_t>& dims);
std::string to_text(const Conversion& conversion);
std::string to_json(const Conversion& conversion);

}  // namespace anybit::cli
