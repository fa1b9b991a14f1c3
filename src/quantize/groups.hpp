// Determines the axis along which tensors of a node are divided into channels or blocks.
#pragma once

#include "ops/traits.hpp"
#include "quantize/scope.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

// The shape in which a constant is quantized: its own, or a matrix, so that blocks run along the whole
// reduction. Axes are -1 if there are none.
struct WeightView {
  std::vector<std::int64_t> dims;
  std::int64_t channels = -1, blocks = -1;
};

// For a weight at this input.
WeightView weight_view(const Scope& scope, const graph::Node& node, const ops::Traits::Weight* weight,
                       const graph::Tensor& tensor, const Spec& spec);
// For a constant in the place of an activation: along the axis that activations use.
WeightView data_view(const Scope& scope, const graph::Node& node, int input, const graph::Tensor& tensor,
                     const Spec& spec);
// For a constant without a reduction axis: a bias, the scale of a normalization.
WeightView plain_view(const graph::Tensor& tensor);

// The spec of a constant with axis and rank. `dims`: the shape in which it is quantized; its own if the
// recipe names the axis.
struct GroupedSpec {
  Spec spec;
  std::vector<std::int64_t> dims;
};
Result<GroupedSpec> grouped(Spec spec, WeightView view, const graph::Tensor& tensor, const std::string& name);

// The use of a run-time format on input `input` of a node, or on its output (-1).
Result<formats::Use> use_on_value(const Scope& scope, const graph::Node& node, int input, const Spec& spec);

}  // namespace anybit::quantizing
