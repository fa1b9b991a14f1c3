// The names of a model file's external data files: "m.onnx.data", "m.onnx.0000000000000001.data", …
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::onnx {

// An unused name in `folder`, so that writing it cannot harm the model that is there.
Result<std::string> free_data_name(const std::string& folder, const std::string& model_name);

// External data files of the model at `path` that may be removed after it is replaced: the one without a
// number only if the model mentions it.
std::vector<std::string> data_names_of(const std::string& path);

// Removes these files, except `keep` and those that another model in the folder mentions; every file with
// ".onnx" in its name counts as a model, also a backup. Files that cannot be examined or removed stay: the
// saved model is complete either way.
void remove_stale_data(const std::string& folder, const std::vector<std::string>& names,
                       const std::string& keep);

}  // namespace anybit::onnx
