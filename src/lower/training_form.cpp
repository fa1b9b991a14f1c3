#include "lower/training_form.hpp"

#include <cmath>

#include "formats/table.hpp"
#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "ops/gradient.hpp"

namespace anybit::lower {

using graph::Node;

namespace {

// Parameters found at run time: one for each sample of a batch, as if it ran alone.
formats::Use by_sample(formats::Use use) {
  const auto format = formats::find(use.format);
  if (!format.ok() ||
      use.grouping.granularity.value_or((*format)->granularity) != formats::Granularity::tensor)
    return use;
  use.grouping.granularity = formats::Granularity::channel;
  use.grouping.axis = 0;
  use.rank.reset();
  return use;
}

}  // namespace

std::string TrainingForm::floats(const std::string& name, std::vector<std::int64_t> dims,
                                 std::vector<float> values) {
  std::string fresh = names_.fresh(name);
  graph_.initializers.push_back(graph::make_tensor(fresh, std::move(dims), std::move(values)));
  return fresh;
}

Node TrainingForm::fake(const std::string& about, std::vector<std::string> inputs, std::string output) const {
  Node node = graph::make_node("FakeQuantize", std::move(inputs), {std::move(output)}, {}, ops::kTraining);
  node.name = graph::Text(names_.fresh(about + "_FakeQuantize"));
  return node;
}

TrainingForm::Stored TrainingForm::store(const std::string& about, const Parameters& parameters) {
  Stored stored;
  stored.step = floats(about + "_step", parameters.dims, parameters.scales);
  std::vector<float> zeros(parameters.zero_points.begin(), parameters.zero_points.end());
  zeros.resize(parameters.scales.size());
  stored.zero_point = floats(about + "_offset", parameters.dims, std::move(zeros));
  return stored;
}

void TrainingForm::activation(const std::string& from, const std::string& about, const Quantization& as,
                              std::string result, std::vector<Node>& nodes) {
  const bool integer = as.is_linear() && graph::integer_range(as.parameters.type).bits > 0;
  if (!integer) {
    std::string source = from, rounded = as.has_scale() ? names_.fresh(about + "_rounded") : result;
    std::string by;
    if (as.has_scale()) {
      by = floats(about + "_by", {}, {as.parameters.scales[0]});
      source = names_.fresh(about + "_divided");
      nodes.push_back(graph::make_node("Div", {from, by}, {source}));
      nodes.back().name = graph::Text(names_.fresh(about + "_Div"));
    }
    nodes.push_back(fake(about, {source}, rounded));
    formats::Use use = as.use;
    if (as.has_scale()) use.grouping = {};  // the scale is known
    nodes.back().attributes.push_back(graph::attribute("format", to_string(by_sample(std::move(use)))));
    if (!as.has_scale()) return;
    nodes.push_back(graph::make_node("Mul", {rounded, by}, {std::move(result)}));
    nodes.back().name = graph::Text(names_.fresh(about + "_Mul"));
    return;
  }
  const std::string key = as.cluster.empty() ? about : as.cluster;
  auto [found, fresh] = clusters_.try_emplace(key);
  const graph::IntegerRange type = graph::integer_range(as.parameters.type);
  std::int64_t low = type.low, high = type.high;
  if (as.clip) {
    const float scale = as.parameters.scales[0];
    const int zero = as.parameters.zero_points.empty() ? 0 : as.parameters.zero_points[0];
    low = std::lround(as.clip->first / scale) + zero;
    high = std::lround(as.clip->second / scale) + zero;
  }
  if (fresh) {
    found->second = store(about, as.parameters);
    if (as.learned != Learned::nothing)
      steps_.push_back({key,
                        {},
                        found->second.step,
                        as.learned == Learned::step_and_zero_point ? found->second.zero_point : std::string(),
                        false,
                        static_cast<int>(low),
                        static_cast<int>(high),
                        as.parameters});
  }
  nodes.push_back(fake(about, {from, found->second.step, found->second.zero_point}, std::move(result)));
  nodes.back().attributes = {graph::attribute("low", low), graph::attribute("high", high)};
}

std::string TrainingForm::constant(const std::string& from, const Constant& one, std::vector<Node>& nodes) {
  std::string result = names_.fresh(one.name + "_FakeQuantize_Output");
  if (one.learned == Learned::nothing) {
    nodes.push_back(fake(one.name, {from}, result));
    nodes.back().attributes = {graph::attribute("format", to_string(one.use)),
                               graph::attribute("coded", one.grouped),
                               graph::attribute("weight", std::int64_t{1})};
    return result;
  }
  const Stored stored = weights_[one.places.front()] = store(one.name, one.parameters);
  const graph::IntegerRange type = graph::integer_range(one.parameters.type);
  steps_.push_back({{}, one.places.front(), stored.step, {}, true, type.low, type.high, one.parameters});
  nodes.push_back(fake(one.name, {from, stored.step, stored.zero_point}, result));
  std::vector<graph::Attribute>& attributes = nodes.back().attributes;
  attributes = {graph::attribute("low", std::int64_t{type.low}),
                graph::attribute("high", std::int64_t{type.high}),
                graph::attribute("coded", one.quantized.dims)};
  if (!one.parameters.per_tensor()) attributes.push_back(graph::attribute("axis", one.parameters.axis));
  return result;
}

std::string TrainingForm::bias(const std::string& from, const Constant& one, std::vector<Node>& nodes) {
  constexpr std::int64_t kLargest = 1 << 30;
  if (!one.units) return from;
  const auto input = clusters_.find(one.units->cluster);
  const auto weight = weights_.find(one.units->weight);
  if (input == clusters_.end() || weight == weights_.end()) return from;
  const std::string unit = names_.fresh(one.name + "_unit"),
                    result = names_.fresh(one.name + "_FakeQuantize_Output");
  nodes.push_back(graph::make_node("Mul", {input->second.step, weight->second.step}, {unit}));
  nodes.back().name = graph::Text(names_.fresh(one.name + "_Mul"));
  nodes.push_back(fake(one.name, {from, unit}, result));
  std::vector<graph::Attribute>& attributes = nodes.back().attributes;
  attributes = {graph::attribute("low", -kLargest), graph::attribute("high", kLargest)};
  if (!one.parameters.per_tensor()) attributes.push_back(graph::attribute("axis", one.parameters.axis));
  return result;
}

std::string TrainingForm::dynamic(const std::string& from, const DynamicLayer& layer, bool is_conv,
                                  std::vector<Node>& nodes) {
  std::string result = names_.fresh(from + "_FakeQuantize_Output");
  formats::Use use;
  use.format = layer.signed_data && !is_conv ? "int8" : "uint8";
  use.parameters["symmetric"] = layer.symmetric;
  use.grouping.granularity = formats::Granularity::tensor;
  nodes.push_back(fake(from, {from}, result));
  nodes.back().attributes.push_back(graph::attribute("format", to_string(by_sample(use))));
  return result;
}

}  // namespace anybit::lower
