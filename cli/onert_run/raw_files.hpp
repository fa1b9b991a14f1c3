// Raw files of onert_run: PREFIX.0, PREFIX.1, … with the elements of an input or output each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

// The values of all inputs; their shapes must be known.
Result<std::map<std::string, Value>> read_raw(const std::string& prefix, const std::vector<Port>& inputs);

Result<void> write_raw(const std::string& prefix, const std::vector<Value>& outputs);

}  // namespace anybit::cli
