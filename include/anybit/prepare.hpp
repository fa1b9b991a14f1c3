// A model made ready for quantization: constants computed, normalizations in the weights, names for all that
// has none. The same outputs, under the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

struct PassInfo {
  std::string name, summary;
  bool always = false;  // it runs even if others alone are asked for: they rely on it
};

// In the order in which they run.
ANYBIT_API std::vector<PassInfo> preparation_passes();

struct PrepareOptions {
  std::optional<std::vector<std::string>> passes;  // by name; nothing: all of them
  std::vector<std::string> keep;                   // names of nodes that stay as they are
};

struct PassChanges {
  std::string name, summary;
  std::int64_t changes = 0;
};

struct Preparation {
  Model model;
  std::vector<PassChanges> passes;                 // those that ran
  std::int64_t nodes_before = 0, nodes_after = 0;  // of all graphs
  std::vector<std::string> remarks;                // what was left as it is because of Limits
};

ANYBIT_API Result<Preparation> prepare(const Model& model, const PrepareOptions& options = {}) noexcept;

}  // namespace anybit
