// An image as the input of a model.
#pragma once

#include <string>

#include "anybit/samples.hpp"

namespace anybit {

// Decoded, resized to the requested size, normalized, and in the input's layout.
Result<Value> read_image(const std::string& path, const Port& port, const SampleOptions& options);

}  // namespace anybit
