// Quantizes a model as AMD Quark does: every activation, weight and bias of a quantized operator passes
// through an operator that rounds it to MX or block floating point. Weights stay float32.
#pragma once

#include <string_view>

#include "anybit/limits.hpp"
#include "anybit/quantize.hpp"
#include "graph/model.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// `domain`: ops::kQuark or ops::kVitis. Adds the nodes and the remarks to the report.
Result<void> quantize_for_quark(graph::Model& model, const Recipe& recipe, std::string_view domain,
                                const Limits& limits, QuantizationReport& report);

}  // namespace anybit::quantizing
