#include "refine/layer_sums.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "refine/shift_bias.hpp"

namespace anybit::quantizing {

bool has_graphs_inside(const graph::Graph& graph) {
  bool found = false;
  for (const graph::Node& node : graph.nodes)
    graph::each_graph(node, [&](const graph::Graph&) { found = true; });
  return found;
}

std::shared_ptr<const MeasuredLayers> MeasuredLayers::of(const graph::Model& model,
                                                         std::span<const int> nodes,
                                                         const runtime::ExecutorOptions& with) {
  const graph::Index index(*model.graph);
  auto layers = std::make_shared<MeasuredLayers>();
  for (const int at : nodes) {
    const graph::Node& node = model.graph->nodes[static_cast<std::size_t>(at)];
    const std::string& output = node.outputs[0];
    const bool first = graph::is(node, "Conv") || graph::is(node, "ConvTranspose");
    const std::int64_t row = first ? 0 : channels_of(node, index);
    if (!layers->numbers_.emplace(output, layers->all_.size()).second) continue;
    layers->all_.push_back({output, first, ElementFunction::after(model, index, output, row, with)});
  }
  return layers;
}

std::vector<std::string> MeasuredLayers::outputs() const {
  std::vector<std::string> names;
  for (const MeasuredLayer& layer : all_) names.push_back(layer.output);
  return names;
}

std::optional<std::size_t> MeasuredLayers::find(const std::string& output) const {
  const auto found = numbers_.find(output);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

ChannelSums sums_in(const ops::Datum& value, const MeasuredLayer& layer) {
  return sums_of(value, layer.channels_first, static_cast<bool>(layer.function));
}

Result<void> LayerSums::see(std::size_t watched, const ops::Datum& value) {
  sums_[watched] = sums_in(value, layers_->all()[watched]);
  return {};
}

const ChannelSums* LayerSums::of(const MeasuredLayer& layer) const {
  const auto number = layers_->find(layer.output);
  return number ? &sums_[*number] : nullptr;
}

bool FloatSums::cover(std::size_t samples, const MeasuredLayers& layers) const {
  if (by_sample.size() < samples) return false;
  return std::ranges::all_of(std::span(by_sample).first(samples), [&](const auto& one) {
    return std::ranges::all_of(layers.all(),
                               [&](const MeasuredLayer& layer) { return one && one->of(layer) != nullptr; });
  });
}

}  // namespace anybit::quantizing
