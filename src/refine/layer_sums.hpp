// Sums of the outputs of linear operators, sample by sample: what bias correction compares. Calibration
// gathers those of the float model on the way.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"
#include "refine/channel_sums.hpp"
#include "refine/element_function.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

// How to measure the output of a layer.
struct MeasuredLayer {
  std::string output;
  bool channels_first;       // the second axis, as in convolutions; otherwise the last
  ElementFunction function;  // what its consumers compute; empty if there is none
};

// Samples could take different branches: then nothing can be measured.
bool has_graphs_inside(const graph::Graph& graph);

class MeasuredLayers {
 public:
  // `nodes`: linear operators of the main graph.
  static std::shared_ptr<const MeasuredLayers> of(const graph::Model& model, std::span<const int> nodes,
                                                  const runtime::ExecutorOptions& with);
  const std::vector<MeasuredLayer>& all() const { return all_; }
  std::vector<std::string> outputs() const;
  std::optional<std::size_t> find(const std::string& output) const;

 private:
  std::vector<MeasuredLayer> all_;
  std::unordered_map<std::string, std::size_t> numbers_;  // by output
};

ChannelSums sums_in(const ops::Datum& value, const MeasuredLayer& layer);

// The sums of one sample. It watches the outputs of the layers, in their order.
class LayerSums final : public runtime::Watcher {
 public:
  explicit LayerSums(std::shared_ptr<const MeasuredLayers> layers)
      : layers_(std::move(layers)), sums_(layers_->all().size()) {}

  Result<void> see(std::size_t watched, const ops::Datum& value) override;
  // Null if the layer is unknown; empty sums if it was not seen.
  const ChannelSums* of(const MeasuredLayer& layer) const;

 private:
  std::shared_ptr<const MeasuredLayers> layers_;
  std::vector<ChannelSums> sums_;
};

// Of the float model.
struct FloatSums {
  std::vector<std::shared_ptr<const LayerSums>> by_sample;
  std::int64_t run_bytes = 0;  // the memory that one run takes, without weights

  // Whether they have these layers in so many samples.
  bool cover(std::size_t samples, const MeasuredLayers& layers) const;
};

}  // namespace anybit::quantizing
