// SmoothQuant (Xiao et al., ICML 2023, arXiv:2211.10438), and AWQ for weights alone (Lin et al., MLSys 2024,
// arXiv:2306.00978): input channel j of a matrix multiplication is divided by s_j = max|X_j|^α /
// max|W_j|^(1−α), and its weights are multiplied by s_j. α is the one with the least error of the layer's
// outputs. The division goes into the normalization before the layer, or becomes a Mul.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/math.hpp"
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "refine/scaled_layer.hpp"
#include "refine/smoothing_error.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;

constexpr double kAlphas[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8};

// Layers with the same input.
struct Shared {
  std::string value;
  std::vector<ScaledLayer> layers;
  int normalization = -1;  // the node that makes the value, for these layers alone; -1: a Mul is needed
};

bool is_normalization(const Node& node) {
  return node.op_type == "LayerNormalization" || node.op_type == "RMSNormalization" ||
         node.op_type == "SimplifiedLayerNormalization";
}

// Whether scale and bias of a normalization are initializers that only it uses.
bool may_scale(const Node& node, const graph::Index& index, std::int64_t channels) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const graph::Tensor* tensor = index.constant(node.inputs[i]);
    if (node.inputs[i].empty()) continue;
    if (!tensor || tensor->type() != graph::ElementType::float32 || tensor->count() != channels ||
        index.uses(node.inputs[i]).size() != 1 || index.producer(node.inputs[i]) >= 0)
      return false;
  }
  return node.inputs.size() > 1;
}

class Smoothing {
 public:
  Smoothing(Refining& work, bool inserts, double gain, double alpha)
      : work_(work), graph_(*work.model.graph), inserts_(inserts), gain_(gain), alpha_(alpha) {}

  Result<std::int64_t> run() {
    find();
    if (shared_.empty()) return 0;
    TRY(measure());
    std::int64_t changed = 0;
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      const std::vector<double> factors = best(i);
      if (!factors.empty() && apply(shared_[i], factors)) changed += std::ssize(shared_[i].layers);
    }
    insert();
    return changed;
  }

 private:
  void find() {
    const graph::Index index(graph_);
    const graph::Constants constants(work_.model);
    std::map<std::string, std::vector<ScaledLayer>> by_value;
    for (const int at : work_.layers) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(at)];
      if (!graph::is(node, "MatMul") && !graph::is(node, "Gemm")) continue;
      auto layer = scaled_layer(graph_, index, constants, at);
      if (layer && !index.constant(node.inputs[0])) by_value[node.inputs[0]].push_back(*std::move(layer));
    }
    for (auto& [value, layers] : by_value) {
      Shared one{value, std::move(layers)};
      const std::int64_t channels = one.layers[0].linear.inputs;
      if (std::ranges::any_of(one.layers,
                              [&](const ScaledLayer& layer) { return layer.linear.inputs != channels; }))
        continue;
      const int producer = index.producer(value);
      const bool alone = index.uses(value).size() == one.layers.size() && !index.is_output(value);
      if (alone && producer >= 0 && is_normalization(graph_.nodes[static_cast<std::size_t>(producer)]) &&
          may_scale(graph_.nodes[static_cast<std::size_t>(producer)], index, channels))
        one.normalization = producer;
      if (one.normalization >= 0 || inserts_) shared_.push_back(std::move(one));
    }
  }

  Result<void> measure() {
    runtime::ExecutorOptions options = work_.options;
    for (const Shared& one : shared_) options.watch.push_back(one.value);
    const auto executor =
        TRY(runtime::Executor::make(std::make_shared<const graph::Model>(work_.model), options));
    struct Rows final : runtime::Watcher {
      std::vector<SeenRows> seen;
      Result<void> see(std::size_t watched, const ops::Datum& value) override {
        seen[watched].see(value);
        return {};
      }
    } rows;
    rows.seen.resize(shared_.size());
    for (std::size_t i = 0; i < work_.samples.size(); ++i)
      TRY(executor->run(work_.samples[i], nullptr, &rows));
    seen_ = std::move(rows.seen);
    return {};
  }

  static std::vector<double> factors_of(const SeenRows& seen, const std::vector<double>& weights,
                                        double alpha) {
    std::vector<double> factors(weights.size(), 1.0);
    for (std::size_t j = 0; j < factors.size(); ++j) {
      const double data =
          std::max(std::abs(static_cast<double>(seen.low[j])), std::abs(static_cast<double>(seen.high[j])));
      if (data > 0 && weights[j] > 0)
        factors[j] = std::clamp(math::pow(data, alpha) / math::pow(weights[j], 1 - alpha), 1e-4, 1e4);
    }
    return factors;
  }

  // The factors with the least error; empty if there is no gain.
  std::vector<double> best(std::size_t at) const {
    const Shared& shared = shared_[at];
    const SeenRows& seen = seen_[at];
    const auto channels = static_cast<std::size_t>(shared.layers[0].linear.inputs);
    if (seen.low.size() != channels || seen.count == 0) return {};
    std::vector<const passes::Linear*> layers;
    std::vector<double> weights(channels);
    for (const ScaledLayer& layer : shared.layers) {
      layers.push_back(&layer.linear);
      const std::vector<double> ranges = layer.input_ranges();
      for (std::size_t j = 0; j < channels; ++j) weights[j] = std::max(weights[j], ranges[j]);
    }
    const LayerBits bits = work_.bits ? work_.bits(shared.layers[0].node) : LayerBits{};
    std::vector<double> chosen;
    if (alpha_ > 0) return factors_of(seen, weights, alpha_);
    double least = (1 - gain_) * smoothing_error(seen, layers, std::vector<double>(channels, 1), bits);
    for (const double alpha : kAlphas) {
      std::vector<double> factors = factors_of(seen, weights, alpha);
      const double error = smoothing_error(seen, layers, factors, bits);
      if (!(error < least)) continue;
      least = error;
      chosen = std::move(factors);
    }
    return chosen;
  }

  bool apply(Shared& shared, const std::vector<double>& factors) {
    passes::Affine up{factors, std::vector<double>(factors.size())};
    std::vector<float> down(factors.size());
    std::ranges::transform(factors, down.begin(), [](double one) { return static_cast<float>(1 / one); });
    std::vector<ScaledLayer> changed = shared.layers;
    for (ScaledLayer& one : changed) {
      if (!one.linear.put_before(up)) return false;
    }
    for (const ScaledLayer& one : changed) store(graph_, one);
    if (shared.normalization < 0) {
      multiplied_.emplace_back(&shared, std::move(down));
      return true;
    }
    const Node& node = graph_.nodes[static_cast<std::size_t>(shared.normalization)];
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const auto tensor = std::ranges::find_if(graph_.initializers, [&](const graph::Tensor& one) {
        return !node.inputs[i].empty() && one.name.str() == node.inputs[i];
      });
      if (tensor == graph_.initializers.end()) continue;
      std::vector<float> values = *graph::floats(&*tensor);
      for (std::size_t j = 0; j < values.size(); ++j) values[j] *= down[j];
      *tensor = graph::make_tensor(node.inputs[i], tensor->dims, std::move(values));
    }
    return true;
  }

  // Inserts the Mul nodes, the last one first: places before it stay.
  void insert() {
    graph::Names names(graph_);
    const auto first = [](const Shared& one) {
      return std::ranges::min(one.layers, {}, &ScaledLayer::node).node;
    };
    std::ranges::sort(multiplied_,
                      [&](const auto& a, const auto& b) { return first(*a.first) > first(*b.first); });
    for (auto& [shared, factors] : multiplied_) {
      const std::string scale = names.fresh(shared->value + "_smoothing");
      const std::string result = names.fresh(shared->value + "_smoothed");
      const auto channels = std::ssize(factors);
      graph_.initializers.push_back(graph::make_tensor(scale, {channels}, std::move(factors)));
      for (const ScaledLayer& layer : shared->layers)
        graph_.nodes[static_cast<std::size_t>(layer.node)].inputs[0] = result;
      Node node = graph::make_node("Mul", {shared->value, scale}, {result});
      node.name = graph::Text(names.fresh(result + "_Mul"));
      graph_.nodes.insert(graph_.nodes.begin() + first(*shared), std::move(node));
    }
  }

  Refining& work_;
  Graph& graph_;
  const bool inserts_;
  const double gain_, alpha_;  // alpha_: 0 for the best
  std::vector<Shared> shared_;
  std::vector<SeenRows> seen_;
  std::vector<std::pair<Shared*, std::vector<float>>> multiplied_;
};

Result<std::int64_t> smooth_model(Refining& work) {
  return Smoothing(work, formats::flag(work.parameters, "insert"), formats::real(work.parameters, "gain"),
                   formats::real(work.parameters, "alpha"))
      .run();
}

}  // namespace

std::span<const Descriptor> smooth_descriptors() {
  static const Descriptor all[] = {
      {.name = "smooth",
       .alias = "smoothquant",
       .summary =
           "SmoothQuant and AWQ: scales move between the input channels of MatMul and Gemm and their weights",
       .phase = Descriptor::Phase::graph,
       .needs_samples = true,
       .parameters = {{.name = "samples",
                       .preset = std::int64_t{8},
                       .doc = "number of calibration samples, the first ones",
                       .low = 1,
                       .high = 1024},
                      {.name = "insert",
                       .preset = true,
                       .doc = "insert a Mul where no normalization takes the factors"},
                      {.name = "gain",
                       .preset = 0.1,
                       .doc = "the share of a layer's squared error that must vanish",
                       .low = 0,
                       .high = 1},
                      {.name = "alpha",
                       .preset = 0.0,
                       .doc = "the share of the range that goes to the weights; 0: the best of 0.3 to 0.8",
                       .low = 0,
                       .high = 1}},
       .refine = smooth_model}};
  return all;
}

}  // namespace anybit::quantizing
