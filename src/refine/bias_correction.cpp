#include "refine/bias_correction.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <semaphore>
#include <thread>

#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "ops/create/random_stream.hpp"
#include "refine/layer_sums.hpp"
#include "refine/shift_bias.hpp"
#include "refine/shift_estimate.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

// The channels of a convolution's output are its second axis; those of other linear operators are the last.
bool is_convolution(const Node& node) { return graph::is(node, "Conv") || graph::is(node, "ConvTranspose"); }

// Runs all samples in lockstep: every run stops at each watched value until all have reached it, then
// continues with the shift that `meet` computed from what `measure` found in each. The runs have threads of
// their own rather than the pool's, since they wait for each other in the middle of a run. At most as many
// run at a time as there are to be threads.
class SideBySide {
 public:
  using Measure = std::function<Measured(std::size_t watched, std::size_t sample, const ops::Datum& value)>;
  using Meet = std::function<std::vector<double>(std::size_t watched, std::span<const Measured> samples)>;

  SideBySide(const runtime::Executor& executor, const std::vector<MeasuredLayer>& layers, int threads,
             Measure measure, Meet meet)
      : executor_(executor),
        layers_(layers),
        measure_(std::move(measure)),
        meet_(std::move(meet)),
        running_(threads) {}

  Result<void> run(std::span<const Sample> samples) {
    measured_.resize(samples.size());
    std::vector<Result<void>> results(samples.size());
    std::barrier<Met> all(static_cast<std::ptrdiff_t>(samples.size()), Met{this});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto work = [&, i] {
        running_.acquire();
        Walker walker(*this, all, i);
        results[i] = guarded([&]() -> Result<void> {
          const ops::RepeatableDraws draws(i);
          TRY(executor_.run(samples[i], nullptr, nullptr, &walker));
          return {};
        });
        running_.release();
        ended_ = true;
        all.arrive_and_drop();
      };
      try {
        threads.emplace_back(work);
      } catch (const std::exception&) {  // the other runs wait for this one
        results[i] = Error{Code::out_of_memory, "the system has no more threads", {}, "fewer samples"};
        ended_ = true;
        all.arrive_and_drop();
      }
    }
    for (std::thread& one : threads) one.join();
    for (Result<void>& one : results) TRY(std::move(one));
    if (no_memory_) throw std::bad_alloc();
    return {};
  }

 private:
  struct Met {
    SideBySide* all;
    void operator()() const noexcept { all->met(); }
  };

  struct Walker final : runtime::Intervention {
    SideBySide& all;
    std::barrier<Met>& barrier;
    std::size_t sample;

    Walker(SideBySide& all_samples, std::barrier<Met>& met, std::size_t number)
        : all(all_samples), barrier(met), sample(number) {}

    Result<void> change(std::size_t watched, ops::Datum& value) override {
      all.measured_[sample] = all.measure_(watched, sample, value);
      all.watched_ = watched;  // equal for all, since nodes run in one order
      all.running_.release();
      barrier.arrive_and_wait();
      all.running_.acquire();
      if (all.shift_.size() == all.measured_[sample].means.size() && !all.shift_.empty())
        shift_channels(value.array, all.layers_[watched].channels_first, all.shift_);
      return {};
    }
  };

  // Also called when a run ends or fails.
  void met() {
    if (ended_) return;
    try {
      shift_ = meet_(watched_, measured_);
    } catch (const std::bad_alloc&) {
      shift_.clear();
      no_memory_ = true;
    }
  }

  const runtime::Executor& executor_;
  const std::vector<MeasuredLayer>& layers_;
  const Measure measure_;
  const Meet meet_;
  std::counting_semaphore<> running_;  // limits the number of running threads
  std::vector<Measured> measured_;     // by sample
  std::atomic<std::size_t> watched_ = 0;
  std::atomic<bool> ended_ = false;
  bool no_memory_ = false;
  std::vector<double> shift_;
};

// The scales of a quantized bias, per channel; empty for a float bias.
std::vector<double> steps_of_bias(const Graph& graph, const graph::Index& index, const std::string& output) {
  const int producer = index.producer(output);
  if (producer < 0 || graph.nodes[static_cast<std::size_t>(producer)].inputs.size() < 3) return {};
  const int decoder = index.producer(graph.nodes[static_cast<std::size_t>(producer)].inputs[2]);
  if (decoder < 0) return {};
  const Node& node = graph.nodes[static_cast<std::size_t>(decoder)];
  if (!graph::dequantizes(node)) return {};
  const auto steps = graph::floats(index.constant(graph::input(node, graph::QdqInputs::scale)))
                         .value_or(std::vector<float>());
  return {steps.begin(), steps.end()};
}

// Rounds to multiples of the bias scale: later values can depend on the last bit if many are equal, as in the
// blank background of an image.
std::vector<double> in_steps(std::vector<double> shift, const std::vector<double>& steps) {
  for (std::size_t i = 0; i < shift.size() && !steps.empty(); ++i) {
    const double step = steps[steps.size() == shift.size() ? i : 0];
    if (step > 0) shift[i] = std::nearbyint(shift[i] / step) * step;
  }
  return shift;
}

// The number of samples that can run at once within the memory limit.
std::size_t fitting(std::size_t samples, std::int64_t bytes_each, std::int64_t max_memory) {
  constexpr std::int64_t kMost = 1 << 30;
  const std::int64_t bytes = max_memory > 0 ? std::min(kMost, max_memory / 2) : kMost;
  const std::int64_t most = std::max<std::int64_t>(bytes / std::max<std::int64_t>(bytes_each, 1), 1);
  return std::min(samples, static_cast<std::size_t>(most));
}

}  // namespace

Result<FloatSums> float_sums(const Model& floating, const std::shared_ptr<const MeasuredLayers>& layers,
                             std::span<const Sample> samples, const runtime::ExecutorOptions& with) {
  runtime::ExecutorOptions options = with;
  options.watch = layers->outputs();
  const auto executor = TRY(runtime::Executor::make(std::make_shared<const Model>(floating), options));
  const std::int64_t weights = executor->memory().used();
  FloatSums found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const ops::RepeatableDraws draws(i);
    auto sums = std::make_shared<LayerSums>(layers);
    TRY(executor->run(samples[i], nullptr, sums.get()));
    found.by_sample.push_back(std::move(sums));
    if (i > 0) continue;
    found.run_bytes = executor->memory().peak() - weights;
    samples = samples.first(fitting(samples.size(), found.run_bytes, with.max_memory));
  }
  return found;
}

Result<std::vector<std::vector<double>>> mean_errors(const Model& floating, const Model& quantized,
                                                     std::span<const int> nodes,
                                                     std::span<const Sample> samples,
                                                     const runtime::ExecutorOptions& with,
                                                     const FloatSums& known) {
  std::vector<std::vector<double>> errors(nodes.size());
  if (has_graphs_inside(*floating.graph)) return errors;
  const auto layers = MeasuredLayers::of(floating, nodes, with);
  FloatSums own;
  if (!known.cover(samples.size(), *layers)) own = TRY(float_sums(floating, layers, samples, with));
  const FloatSums& right = own.by_sample.empty() ? known : own;
  samples = samples.first(fitting(samples.size(), right.run_bytes, with.max_memory));
  runtime::ExecutorOptions options = with;
  options.watch = layers->outputs();
  options.threads = 1;
  const graph::Index index(*quantized.graph);
  const auto executor = TRY(runtime::Executor::make(std::make_shared<const Model>(quantized), options));
  const auto measure = [&](std::size_t i, std::size_t sample, const ops::Datum& value) {
    const MeasuredLayer& layer = layers->all()[i];
    return measured(*right.by_sample[sample]->of(layer), sums_in(value, layer), layer.function);
  };
  const auto meet = [&](std::size_t i, std::span<const Measured> found) {
    return errors[i] = in_steps(shift_of(found), steps_of_bias(*quantized.graph, index, options.watch[i]));
  };
  SideBySide all(*executor, layers->all(), with.threads, measure, meet);
  TRY(all.run(samples));
  return errors;
}

namespace {

Result<std::int64_t> refine(Refining& work) {
  if (formats::flag(work.parameters, "convolutions"))
    std::erase_if(work.layers, [&](int at) {
      return !is_convolution(work.model.graph->nodes[static_cast<std::size_t>(at)]);
    });
  if (work.layers.empty()) return 0;
  work.layers = with_biases(*work.model.graph, std::move(work.layers));
  const Model quantized = TRY(work.quantized());
  const auto errors =
      TRY(mean_errors(work.model, quantized, work.layers, work.samples, work.options, work.seen));
  return shift_biases(*work.model.graph, work.layers, errors);
}

}  // namespace

std::span<const Descriptor> bias_correction_descriptors() {
  static const Descriptor all[] = {
      {.name = "bias-correction",
       .alias = "means",
       .summary = "bias correction: biases compensate the shift of output means on calibration data",
       .phase = Descriptor::Phase::after,
       .needs_samples = true,
       .compares_sums = true,
       .parameters = {{.name = "samples",
                       .preset = std::int64_t{8},
                       .doc = "number of calibration samples",
                       .low = 2,
                       .high = 1024},
                      {.name = "convolutions", .preset = false, .doc = "correct convolutions only"}},
       .includes = "sum-preserving-rounding",
       .serves = may_have_bias,
       .refine = refine}};
  return all;
}

}  // namespace anybit::quantizing
