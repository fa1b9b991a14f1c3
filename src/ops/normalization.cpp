// Normalizations: the result has the first input's shape. Further outputs are
// statistics.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// In training, or before version 14, more outputs hold means and variances, one for each channel.
Result<Values> infer_batch(const Call& call) {
  Values values(call.output_count(), tensor(call.in(3).type, call.in(3).shape));
  if (!values.empty()) values[0] = tensor(call.in(0).type, call.in(0).shape);
  return values;
}

// Mean and inverse deviation keep the axes before `axis` and have 1 for those it normalizes.
Result<Values> infer_layer(const Call& call) {
  Values values = TRY(infer_same(call));
  const auto& shape = call.in(0).shape;
  if (values.size() < 2 || !shape) return values;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), shape->size()));
  Shape statistics = *shape;
  for (std::size_t i = axis; i < statistics.size(); ++i) statistics[i] = 1;
  const ElementType type = type_of(call.integer("stash_type", 1));
  for (std::size_t i = 1; i < values.size(); ++i) values[i] = tensor(type, statistics);
  return values;
}

// ONNX Runtime: input + skip, normalized; output 3 is the sum.
Result<Values> infer_skip_layer(const Call& call) {
  Values values = TRY(infer_same(call));
  if (values.size() > 3) values[3] = values[0];
  return values;
}

// ONNX Runtime: looks up words, positions and segments, and normalizes their sum.
Result<Values> infer_embed_layer(const Call& call) {
  Values values = unknown_outputs(call);
  const auto& ids = call.in(0).shape;
  const auto& words = call.in(2).shape;
  if (values.empty() || !ids || !words || ids->size() != 2 || words->size() != 2) return values;
  values[0] = tensor(call.in(2).type, Shape{(*ids)[0], (*ids)[1], (*words)[1]});
  if (values.size() > 1) values[1] = tensor(ElementType::int32, Shape{(*ids)[0]});
  return values;
}

Descriptor keeps(std::string_view name, std::vector<std::int16_t> since, Infer rule = infer_same,
                 std::string_view domain = "") {
  return {.name = name, .domain = domain, .since = std::move(since), .infer = rule};
}

}  // namespace

std::span<const Descriptor> normalization_descriptors() {
  static const Descriptor all[] = {
      keeps("BatchNormalization", {1, 6, 7, 9, 14, 15}, infer_batch),
      keeps("GroupNormalization", {18, 21}),
      keeps("InstanceNormalization", {1, 6, 22}),
      keeps("LRN", {1, 13}),
      keeps("LayerNormalization", {17}, infer_layer),
      keeps("LpNormalization", {1, 22}),
      keeps("MeanVarianceNormalization", {9, 13}),
      keeps("RMSNormalization", {23}),
      keeps("EmbedLayerNormalization", {1}, infer_embed_layer, kMicrosoft),
      keeps("SimplifiedLayerNormalization", {1}, infer_layer),
      keeps("SkipLayerNormalization", {1}, infer_skip_layer, kMicrosoft),
      keeps("SkipSimplifiedLayerNormalization", {1}, infer_skip_layer, kMicrosoft),
  };
  return all;
}

}  // namespace anybit::ops
