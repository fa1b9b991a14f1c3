// What `anybit convert` did, for people and for programs.
#pragma once

#include <optional>
#include <string>

#include "anybit/formats.hpp"

namespace anybit::cli {

struct Conversion {
  std::string input, output;
  TensorFormat format;
  std::optional<std::int64_t> bytes = {};  // of codes and what they share; not for dequantized output
  std::optional<Losses> losses = {};       // not when unpacking
};

std::string to_text(const Conversion& conversion);
std::string to_json(const Conversion& conversion);

}  // namespace anybit::cli
