#include "quantize/clamps.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "lower/parameters.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;
using graph::is;
using graph::Node;
using ops::Array;

// Operators whose results are never negative, beside those whose range says so.
constexpr std::string_view kPositive[] = {"Relu", "Abs", "Exp", "Sqrt", "Softplus", "ReduceL1", "ReduceL2"};
// Those whose results are not if nothing that goes in is, beside those that move values.
constexpr std::string_view kKeepSign[] = {"Add",       "Mul", "Max", "AveragePool", "GlobalAveragePool",
                                          "ReduceMean"};

// What the codes of a QuantizeLinear stand for, in steps: from the lowest code to the zero point, and from
// there to the highest.
struct Steps {
  std::int64_t below = 0, above = 0;
};

// Nothing if it is not known, or not the same for all channels.
Result<std::optional<Steps>> steps_of(const Node& node, const graph::Index& index, ops::Memory& memory) {
  const std::optional<Steps> none;
  if (node.inputs.size() < 3 || node.inputs[2].empty()) {
    const auto type = graph::attribute_or<std::int64_t>(node, "output_dtype", 0);
    const auto element = type == 0 ? ElementType::uint8 : static_cast<ElementType>(type);
    if (element != ElementType::uint8 && element != ElementType::uint16) return none;
    return std::optional(Steps{0, graph::integer_range(element).high});
  }
  const graph::Tensor* zeros = index.constant(node.inputs[2]);
  if (!zeros || zeros->count() == 0) return none;
  const Array zero = TRY(Array::from(*zeros, memory));
  const auto first = code_at(zero, 0);
  if (!first || zeros->type() == ElementType::int32) return none;
  for (std::int64_t i = 1; i < zero.count(); ++i) {
    if (code_at(zero, i) != first) return none;
  }
  const graph::IntegerRange codes = graph::integer_range(zeros->type());
  return std::optional(Steps{*first - codes.low, codes.high - *first});
}

// The range ends at 6, as it does behind Relu6, within half a step.
bool ends_at_six(const Node& node, const Steps& steps, const graph::Index& index) {
  constexpr float kSix = 6;
  const graph::Tensor* scale = index.constant(node.inputs[1]);
  if (!scale || scale->type() != ElementType::float32 || scale->count() != 1) return false;
  const float step = scale->data.at<float>(0);
  return std::abs(static_cast<float>(steps.above) * step - kSix) < step / 2;
}

bool is_among(const Node& node, std::span<const std::string_view> names) {
  return node.domain.str().empty() && std::ranges::find(names, node.op_type.str()) != names.end();
}

}  // namespace

std::optional<std::int64_t> code_at(const Array& array, std::int64_t i) {
  switch (array.type()) {
    case ElementType::int2:
    case ElementType::int4:
    case ElementType::int8:
      return array.data<std::int8_t>()[i];
    case ElementType::uint2:
    case ElementType::uint4:
    case ElementType::uint8:
      return array.data<std::uint8_t>()[i];
    case ElementType::int16:
      return array.data<std::int16_t>()[i];
    case ElementType::uint16:
      return array.data<std::uint16_t>()[i];
    case ElementType::int32:
      return array.data<std::int32_t>()[i];
    default:
      return std::nullopt;
  }
}

Result<Clamps> Clamps::of(const graph::Graph& graph, const graph::Index& index, ops::Memory& memory) {
  Clamps clamps(index);
  for (const Node& node : graph.nodes) TRY(clamps.look_at(node, memory));
  return clamps;
}

Clamps::Cut Clamps::cut(const Node& quantizer) const {
  const std::string& value = quantizer.inputs[0];
  // What the model is given has no operator before it that could have been dropped.
  if (index_->producer(value) < 0 || from_zero_.count(quantizer.outputs[0]) == 0) return Cut::nothing;
  if (is_positive(value)) return Cut::nothing;
  return from_zero_to_six_.count(quantizer.outputs[0]) ? Cut::outside_six : Cut::negative;
}

Result<void> Clamps::look_at(const Node& node, ops::Memory& memory) {
  if (is(node, "QuantizeLinear") && node.inputs.size() >= 2) {
    const std::optional<Steps> steps = TRY(steps_of(node, *index_, memory));
    if (steps && steps->below == 0) {
      from_zero_.insert(node.outputs[0]);
      positive_.insert(node.outputs[0]);
      if (ends_at_six(node, *steps, *index_)) from_zero_to_six_.insert(node.outputs[0]);
    }
  }
  if (!node.outputs.empty() && stays_positive(node)) positive_.insert(node.outputs[0]);
  return {};
}

bool Clamps::stays_positive(const Node& node) const {
  if (is_among(node, kPositive)) return true;
  if (node.inputs.empty()) return false;
  if (is(node, "QuantizeLinear") || is(node, "DequantizeLinear")) return is_positive(node.inputs[0]);
  if (is(node, "Clip"))
    return (node.inputs.size() > 1 && is_positive(node.inputs[1])) || graph::real(node, "min", -1) >= 0;
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor) return false;
  const ops::Traits& traits = descriptor->traits;
  if (traits.range && traits.range->low >= 0) return true;
  const bool moves = traits.role_in(node) == ops::Traits::Role::move;
  if (!moves && !is_among(node, kKeepSign)) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool counts = !moves || traits.is_data(static_cast<int>(i));
    if (counts && !node.inputs[i].empty() && !is_positive(node.inputs[i])) return false;
  }
  return true;
}

bool Clamps::is_positive(const std::string& value) const {
  if (positive_.count(value)) return true;
  const graph::Tensor* constant = index_->constant(value);
  if (!constant || constant->type() != ElementType::float32) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(constant->count()); ++i) {
    if (!(constant->data.at<float>(i) >= 0)) return false;
  }
  return true;
}

}  // namespace anybit::quantizing
