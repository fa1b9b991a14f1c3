// The names of the data files that belong to a model file: "m.onnx.data", "m.onnx.0000000000000001.data", …
#pragma once

#include <string>

#include "anybit/result.hpp"

namespace anybit::onnx {

// A name that nothing in `folder` has yet, so that writing it cannot harm the model that is there.
Result<std::string> free_data_name(const std::string& folder, const std::string& model_name);

// Removes files with such names, except `keep`, that no model (*.onnx) in the folder mentions. What cannot be
// looked at or removed stays: the model that was saved is whole either way.
void remove_stale_data(const std::string& folder, const std::string& model_name, const std::string& keep);

}  // namespace anybit::onnx
