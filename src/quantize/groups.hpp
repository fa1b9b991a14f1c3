// Along which axis the tensors of a node are cut into channels or blocks that share parameters.
#pragma once

#include "ops/traits.hpp"
#include "quantize/scope.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

// A constant as its values are grouped: in its own dimensions, or as a matrix, so that blocks run along all
// that an output sums over. The axes are -1 where there are none.
struct WeightView {
  std::vector<std::int64_t> dims;
  std::int64_t channels = -1, blocks = -1;
};

// Of a weight at this input.
WeightView weight_view(const Scope& scope, const graph::Node& node, const ops::Traits::Weight* weight,
                       const graph::Tensor& tensor, const Spec& spec);
// Of a constant where data is expected: along the axis that data has.
WeightView data_view(const Scope& scope, const graph::Node& node, int input, const graph::Tensor& tensor,
                     const Spec& spec);
// Of a constant that no sum runs over: a bias, the factors of a norm.
WeightView plain_view(const graph::Tensor& tensor);

// The spec on a constant of this view: with its axis and rank. `dims`: those that it is grouped in; the
// tensor's own where the recipe names the axis.
struct GroupedSpec {
  Spec spec;
  std::vector<std::int64_t> dims;
};
Result<GroupedSpec> grouped(Spec spec, WeightView view, const graph::Tensor& tensor, const std::string& name);

// The use of a format on input `input` of a node, or on its output (-1), where parameters are found as the
// values come.
Result<formats::Use> use_on_value(const Scope& scope, const graph::Node& node, int input, const Spec& spec);

}  // namespace anybit::quantizing
