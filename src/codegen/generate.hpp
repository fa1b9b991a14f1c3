// From a model to the files of a generator.
#pragma once

#include "codegen/plugin.hpp"
#include "codegen/view.hpp"

namespace anybit::codegen {

// The path that was asked for, or, if that is empty, the model's with the plugin's extension. The model's
// files are never written.
Result<std::string> generate(const Plugin& plugin, const Source& source, const std::string& path,
                             const CodegenOptions& options);

}  // namespace anybit::codegen
