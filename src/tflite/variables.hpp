// Variables of a TFLite file: values that a run leaves to the next one. In the graph a variable that is read
// is an input, with its first value as the default, and one that is also assigned has an output for the next
// value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tflite/tensor_info.hpp"

namespace anybit::tflite {

struct Variable {
  std::optional<TensorInfo> first;  // a constant
  std::string input, value;  // names of its value before the run and now; empty: not read or assigned yet
  std::optional<std::int64_t> tensor;  // that was assigned last
};

// A tensor that is a variable: the names of its input and of the value for the next run.
struct TensorState {
  std::string input, next;
  std::int64_t tensor;
};

struct Variables {
  bool available =
      false;  // in the main subgraph, and in the one that gives first values; not in branches and loops
  std::map<std::string, Variable> by_name;        // the shared name in the file
  std::map<std::int64_t, std::string> by_tensor;  // of the tensors that are handles in the main subgraph
  std::vector<TensorState> states;
};

}  // namespace anybit::tflite
