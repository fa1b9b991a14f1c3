#include "quantize/implied_clamps.hpp"

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

// The number of quantization steps from the lowest value to the zero point, and from there to the highest.
struct Steps {
  std::int64_t below = 0, above = 0;
};

using Parameters = graph::QdqView::Parameters;

// std::nullopt if they are unknown or differ between channels.
std::optional<Steps> steps_of(const Parameters& read) {
  const graph::IntegerRange integers = graph::integer_range(read.type);
  if (!read.has_zero_point)
    return integers.low == 0 && integers.bits > 0 ? std::optional(Steps{0, integers.high}) : std::nullopt;
  const graph::Tensor* zeros = read.zero_point;
  if (!zeros || zeros->count() == 0 || integers.bits > 16) return std::nullopt;
  const auto first = graph::integer_at(*zeros, 0);
  for (std::int64_t i = 1; i < zeros->count(); ++i) {
    if (graph::integer_at(*zeros, i) != first) return std::nullopt;
  }
  return first ? std::optional(Steps{*first - integers.low, integers.high - *first}) : std::nullopt;
}

// The range ends at 6, within half a step, as after Relu6.
bool ends_at_six(const Parameters& read, const Steps& steps) {
  constexpr float kSix = 6;
  if (!read.scale || read.scale->type() != ElementType::float32 || read.scale->count() != 1) return false;
  const float step = read.scale->data.at<float>(0);
  return std::abs(static_cast<float>(steps.above) * step - kSix) < step / 2;
}

}  // namespace

Clamps::Clamps(const graph::QdqView& view) : view_(view) {
  for (const Node& node : view.graph().nodes) look_at(node);
}

Clamps::Cut Clamps::cut(const Node& quantizer) const {
  const std::string& value = quantizer.inputs[0];
  // A graph input has no operator before it that could have been removed.
  if (view_.index().producer(value) < 0 || from_zero_.count(quantizer.outputs[0]) == 0) return Cut::nothing;
  if (is_positive(value)) return Cut::nothing;
  return from_zero_to_six_.count(quantizer.outputs[0]) ? Cut::outside_six : Cut::negative;
}

void Clamps::look_at(const Node& node) {
  if (graph::quantizes(node) && node.inputs.size() >= 2) {
    const Parameters read = view_.parameters(node);
    const std::optional<Steps> steps = steps_of(read);
    if (steps && steps->below == 0) {
      from_zero_.insert(node.outputs[0]);
      positive_.insert(node.outputs[0]);
      if (ends_at_six(read, *steps)) from_zero_to_six_.insert(node.outputs[0]);
    }
  }
  if (!node.outputs.empty() && stays_positive(node)) positive_.insert(node.outputs[0]);
}

bool Clamps::stays_positive(const Node& node) const {
  if (node.inputs.empty()) return false;
  if (graph::quantizes(node) || graph::dequantizes(node)) return is_positive(node.inputs[0]);
  if (is(node, "Clip"))
    return (node.inputs.size() > 1 && is_positive(node.inputs[1])) || graph::real(node, "min", -1) >= 0;
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor) return false;
  const ops::Traits& traits = descriptor->traits;
  if (traits.sign == ops::Traits::Sign::positive || (traits.range && traits.range->low >= 0)) return true;
  const bool moves = traits.moves(node);
  if (!moves && traits.sign != ops::Traits::Sign::of_inputs) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool counts = !moves || traits.is_data(static_cast<int>(i));
    if (counts && !node.inputs[i].empty() && !is_positive(node.inputs[i])) return false;
  }
  return true;
}

bool Clamps::is_positive(const std::string& value) const {
  if (positive_.count(value)) return true;
  const graph::Tensor* constant = view_.constant(value);
  if (!constant || constant->type() != ElementType::float32) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(constant->count()); ++i) {
    if (!(constant->data.at<float>(i) >= 0)) return false;
  }
  return true;
}

}  // namespace anybit::quantizing
