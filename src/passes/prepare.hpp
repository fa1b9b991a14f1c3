// Prepares a model for quantization: runs the passes of the table in order until none of them changes
// anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/table.hpp"

namespace anybit::passes {

struct PrepareOptions : PassOptions {
  // Names of the passes to run; nullopt: all. Passes that others rely on always run.
  std::optional<std::vector<std::string>> only;
  bool verify = true;  // verify the result; unnecessary if it is used at once
};

struct PassResult {
  std::string_view name, summary;
  std::int64_t changes = 0;
};

// `model` must be verified, and is verified afterwards. Returns one result per pass that ran. `remark`: what
// was skipped because of the limits, or empty.
Result<std::vector<PassResult>> prepare(graph::Model& model, const PrepareOptions& options = {},
                                        std::string* remark = nullptr);

}  // namespace anybit::passes
