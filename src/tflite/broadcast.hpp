// Operands of elementwise operators: a common layout for inputs that are broadcast to each other.
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "tflite/operator_reader.hpp"

namespace anybit::tflite {

struct Operands {
  std::vector<std::string> values;
  Layout layout = Layout::as_stored;
};

// Inputs first … first + count − 1. Channels first if one of them has it and the others can follow: they have
// one element, or the same rank, or are constants of lower rank, which get dimensions of 1 in front.
Result<Operands> operands(OperatorReader& here, std::size_t first, std::size_t count);

}  // namespace anybit::tflite
