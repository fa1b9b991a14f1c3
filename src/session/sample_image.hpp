// A picture as the input of a model.
#pragma once

#include <string>

#include "anybit/samples.hpp"

namespace anybit {

// Decoded, stretched to the size that is wanted, normalized, and laid out as the input has it.
Result<Value> read_image(const std::string& path, const Port& port, const SampleOptions& options);

}  // namespace anybit
