// The table of TFLite's operators. A row reads one operator; the rows come from the files in ops/.
#pragma once

#include <span>
#include <string_view>

#include "anybit/result.hpp"
#include "tflite/operator_reader.hpp"

namespace anybit::tflite {

struct Descriptor {
  std::string_view name;  // in the schema: "CONV_2D"
  wire::BuiltinOperator code;
  std::size_t inputs;       // that may not be left out
  std::size_t outputs = 1;  // at least
  // Adds nodes that compute the outputs. The numbers of tensors are checked.
  Result<void> (*read)(OperatorReader& here);
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// Null: anybit does not read it.
const Descriptor* find(wire::BuiltinOperator code);

}  // namespace anybit::tflite
