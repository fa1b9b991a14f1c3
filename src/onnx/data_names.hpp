// The names of the data files that belong to a model file: "m.onnx.data", "m.onnx.0000000000000001.data", …
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::onnx {

// A name that nothing in `folder` has yet, so that writing it cannot harm the model that is there.
Result<std::string> free_data_name(const std::string& folder, const std::string& model_name);

// Files with such names that belong to the model at `path`, and may go once it is replaced: the one without a
// number only if the model mentions it.
std::vector<std::string> data_names_of(const std::string& path);

// Removes those, except `keep`, that no other model in the folder mentions: no file with ".onnx" in its name,
// be it a backup. What cannot be looked at or removed stays: the model that was saved is whole either way.
void remove_stale_data(const std::string& folder, const std::vector<std::string>& names,
                       const std::string& keep);

}  // namespace anybit::onnx
