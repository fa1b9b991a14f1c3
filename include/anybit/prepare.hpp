/// @file
/// Preparation for quantization: folds constants and batch normalizations, and names unnamed nodes and
/// values. The prepared model computes the same outputs, under the same names.
///
/// @code{.cpp}
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// anybit::PrepareOptions options;
/// options.keep = {"/head/norm"};
/// auto prepared = anybit::prepare(*model, options);
/// if (!prepared) return;
/// auto saved = prepared->model.save("prepared.onnx");
/// @endcode
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// A graph pass.
struct PassInfo {
  std::string name, summary;
  bool always = false;  ///< runs even if it is not selected: other passes rely on it
};

/// Returns the preparation passes, in the order in which they run.
ANYBIT_API std::vector<PassInfo> preparation_passes();

/// Options of prepare().
struct PrepareOptions {
  std::optional<std::vector<std::string>> passes;  ///< by name; std::nullopt: all
  std::vector<std::string> keep;                   ///< names of nodes that must not be changed
};

/// The number of changes that a pass made.
struct PassChanges {
  std::string name, summary;
  std::int64_t changes = 0;
};

/// The result of prepare().
struct Preparation {
  Model model;
  std::vector<PassChanges> passes;                 ///< passes that ran
  std::int64_t nodes_before = 0, nodes_after = 0;  ///< including subgraphs
  std::vector<std::string> remarks;                ///< what was not folded because of Limits
};

/// Prepares a model. `model` is not changed; tensor data is shared.
ANYBIT_API Result<Preparation> prepare(const Model& model, const PrepareOptions& options = {}) noexcept;

}  // namespace anybit
