// Makes a model ready for quantization: runs the passes of the table, in their order, until none changes
// anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/table.hpp"

namespace anybit::passes {

struct PrepareOptions : PassOptions {
  // By name; nothing: all of them. Passes that others rely on run anyway.
  std::optional<std::vector<std::string>> only;
  bool verify = true;  // the result; no need if it is used at once
};

struct PassResult {
  std::string_view name, summary;
  std::int64_t changes = 0;
};

// `model` is verified, and is again afterwards. One result for each pass that ran. `remark`: what was left as
// it is because of the limits; empty if nothing was.
Result<std::vector<PassResult>> prepare(graph::Model& model, const PrepareOptions& options = {},
                                        std::string* remark = nullptr);

}  // namespace anybit::passes
