// A model in a newer opset: the same outputs, with operators that today's tools know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

struct OpsetConversion {
  Model model;
  std::int64_t from = 0, to = 0;
  std::int64_t changed_nodes = 0;  // those for which a new number was not enough
};

// Raises the graph, the graphs inside nodes and the functions together. Without `opset`: to the newest one.
ANYBIT_API Result<OpsetConversion> convert_opset(const Model& model,
                                                 std::optional<std::int64_t> opset = {}) noexcept;

// "opset 99, but 27 is the newest that anybit knows": operators that changed since then run as they were. ""
// if the model has an opset that is known.
ANYBIT_API std::string newer_opset(const Model& model);

}  // namespace anybit
