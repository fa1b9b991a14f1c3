// Tensors that are variables: inputs of an operator that it changes in place, and finds again in the next
// run. Like other variables (variables.hpp) they become inputs and outputs of the graph.
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "tflite/operator_reader.hpp"

namespace anybit::tflite {

// The value of input i before the run, as real numbers. Its default is what LiteRT begins with: zeros, of
// integers the zero point.
Result<std::string> state_before(OperatorReader& here, std::size_t i);
// Its value for the next run, from real numbers.
Result<void> leave_state(OperatorReader& here, std::size_t i, const std::string& value);

}  // namespace anybit::tflite
