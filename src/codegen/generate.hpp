// Runs a generator on a model.
#pragma once

#include "codegen/plugin.hpp"
#include "codegen/view.hpp"

namespace anybit::codegen {

// Returns the path of the output: `path` or, if that is empty, the model's path with the plugin's extension.
// The model's own files are never overwritten.
Result<std::string> generate(const Plugin& plugin, const Source& source, const std::string& path,
                             const CodegenOptions& options);

}  // namespace anybit::codegen
