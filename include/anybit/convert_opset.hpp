/// @file
/// Conversion of models to a newer ONNX opset.
///
/// @code{.cpp}
/// #include <iostream>
///
/// auto model = anybit::Model::load("old.onnx");
/// if (!model) return;
/// auto converted = anybit::convert_opset(*model, 21);
/// if (!converted) {
///   std::cerr << converted.error().text() << "\n";
///   return;
/// }
/// auto saved = converted->model.save("new.onnx");
/// @endcode
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// The result of convert_opset().
struct OpsetConversion {
  Model model;
  std::int64_t from = 0, to = 0;   ///< opset versions of the default domain
  std::int64_t changed_nodes = 0;  ///< nodes that had to be rewritten
};

/// Converts a model to a newer opset, including subgraphs and functions. The converted model computes the
/// same outputs. Without `opset`, converts to the newest known opset. An error if the model has a newer opset
/// already, or if an operator cannot be converted.
ANYBIT_API Result<OpsetConversion> convert_opset(const Model& model,
                                                 std::optional<std::int64_t> opset = {}) noexcept;

/// Returns a warning if the model has a newer opset than anybit knows, such as "opset 99, but 27 is the
/// newest that anybit knows"; otherwise an empty string. Operators of such a model are run by the newest
/// known definition.
ANYBIT_API std::string newer_opset(const Model& model);

}  // namespace anybit
