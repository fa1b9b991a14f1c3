#include "refine/bias_correction.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "ops/create/random_stream.hpp"
#include "refine/shift_bias.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

// The channels of a convolution's output are its second axis; those of other linear operators are the last.
bool is_convolution(const Node& node) { return graph::is(node, "Conv") || graph::is(node, "ConvTranspose"); }

// Sums over all axes but the channels.
struct Sum {
  std::vector<double> channels;  // empty: not available
  std::int64_t places = 0;
};

// The layout of channels in an array: `outer` rows of `inner` elements at stride `place`.
struct Channels {
  std::int64_t count = 0, outer = 1, inner = 1;
  // strides of a channel, of a group of eight channels, and of a position
  std::int64_t channel = 1, group = 8, place = 1;

  static std::optional<Channels> of(const ops::Array& array, bool first) {
    if (array.type() != graph::ElementType::float32 || array.rank() < (first ? 2U : 1U)) return std::nullopt;
    const std::size_t axis = first ? 1 : array.rank() - 1;
    Channels found{.count = array.dim(axis)};
    for (std::size_t i = 0; i < axis; ++i) found.outer *= array.dim(i);
    if (array.count() == 0 || (!first && array.layout() != ops::Layout::plain)) return std::nullopt;
    found.inner = array.count() / (found.outer * found.count);
    if (array.layout() == ops::Layout::plain) found.channel = found.inner, found.group = 8 * found.inner;
    if (array.layout() == ops::Layout::channels_last) found.place = found.count;
    if (array.layout() == ops::Layout::blocked8) found.group = 8 * found.inner, found.place = 8;
    return found;
  }

  // Calls see(first channel, up to eight, elements) for groups of eight channels.
  template <class T, class See>
  void each(T* numbers, See see) const {
    for (std::int64_t n = 0; n < outer; ++n, numbers += count * inner) {
      for (std::int64_t c = 0; c < count; c += 8)
        see(c, std::min<std::int64_t>(count - c, 8), numbers + c / 8 * group);
    }
  }
};

Sum sum_of(const ops::Datum& value, bool channels_first) {
  if (!value.is_array()) return {};
  const auto at = Channels::of(value.array, channels_first);
  if (!at) return {};
  Sum sum{std::vector<double>(static_cast<std::size_t>(at->count)), at->outer * at->inner};
  at->each(value.array.data<float>(), [&](std::int64_t first, std::int64_t channels, const float* x) {
    double totals[8] = {};
    if (at->channel == 1) {  // contiguous channels
      for (std::int64_t i = 0; i < at->inner; ++i) {
        for (std::int64_t c = 0; c < channels; ++c) totals[c] += static_cast<double>(x[i * at->place + c]);
      }
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < at->inner; ++i) totals[c] += static_cast<double>(x[c * at->channel + i]);
      }
    }
    for (std::int64_t c = 0; c < channels; ++c)
      sum.channels[static_cast<std::size_t>(first + c)] += totals[c];
  });
  return sum;
}

// Adds a shift to every channel.
void pull(ops::Array& array, bool channels_first, std::span<const double> shift) {
  const auto at = Channels::of(array, channels_first);
  at->each(array.mutable_data<float>(), [&](std::int64_t first, std::int64_t channels, float* x) {
    for (std::int64_t i = 0; i < at->inner; ++i) {
      for (std::int64_t c = 0; c < channels; ++c)
        x[c * at->channel + i * at->place] += static_cast<float>(shift[static_cast<std::size_t>(first + c)]);
    }
  });
}

// Estimates by how much the means are too low, per channel. The estimate is shrunk by the variance between
// samples: the full difference if all samples agree, nothing if there is only one sample.
std::vector<double> difference(std::span<const Sum> right, std::span<const Sum> found) {
  const auto n = static_cast<double>(right.size());
  if (right.size() < 2 || right.size() != found.size()) return {};
  std::vector<double> sum(right[0].channels.size()), squares(sum.size());
  for (std::size_t s = 0; s < right.size(); ++s) {
    if (right[s].channels.size() != sum.size() || found[s].channels.size() != sum.size()) return {};
    if (right[s].places != found[s].places || right[s].places == 0) return {};
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double one = (right[s].channels[i] - found[s].channels[i]) / static_cast<double>(right[s].places);
      sum[i] += one;
      squares[i] += one * one;
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double mean = sum[i] / n, variance = std::max(squares[i] - n * mean * mean, 0.0) / (n - 1);
    sum[i] = mean == 0 ? 0 : mean * (mean * mean / (mean * mean + variance / n));
    if (!std::isfinite(sum[i])) return {};
  }
  return sum;
}

// Sums up values sample by sample.
struct Sums final : runtime::Watcher {
  const std::vector<bool>& channels_first;
  std::vector<std::vector<Sum>> sums;  // by value and sample

  explicit Sums(const std::vector<bool>& first) : channels_first(first), sums(first.size()) {}

  Result<void> see(std::size_t watched, const ops::Datum& value) override {
    sums[watched].push_back(sum_of(value, channels_first[watched]));
    return {};
  }
};

// Runs all samples in lockstep: every run stops at each watched value until all have reached it, then
// continues with the shift that `meet` computed from the sums of all. The runs have threads of their own
// rather than the pool's, since they wait for each other in the middle of a run. At most as many run at a
// time as there are to be threads.
class SideBySide {
 public:
  using Meet = std::function<std::vector<double>(std::size_t watched, std::span<const Sum> sums)>;

  SideBySide(const runtime::Executor& executor, const std::vector<bool>& channels_first, int threads,
             Meet meet)
      : executor_(executor), channels_first_(channels_first), meet_(std::move(meet)), running_(threads) {}

  Result<void> run(std::span<const Sample> samples) {
    sums_.resize(samples.size());
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
      const bool first = all.channels_first_[watched];
      all.sums_[sample] = sum_of(value, first);
      all.watched_ = watched;  // equal for all, since nodes run in one order
      all.running_.release();
      barrier.arrive_and_wait();
      all.running_.acquire();
      if (all.shift_.size() == all.sums_[sample].channels.size() && !all.shift_.empty())
        pull(value.array, first, all.shift_);
      return {};
    }
  };

  // Also called when a run ends or fails.
  void met() {
    if (ended_) return;
    try {
      shift_ = meet_(watched_, sums_);
    } catch (const std::bad_alloc&) {
      shift_.clear();
      no_memory_ = true;
    }
  }

  const runtime::Executor& executor_;
  const std::vector<bool>& channels_first_;
  const Meet meet_;
  std::counting_semaphore<> running_;  // limits the number of running threads
  std::vector<Sum> sums_;              // by sample
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

bool has_graphs_inside(const Graph& graph) {
  bool found = false;
  for (const Node& node : graph.nodes) graph::each_graph(node, [&](const Graph&) { found = true; });
  return found;
}

// The number of samples that can run at once within the memory limit.
std::size_t fitting(std::size_t samples, std::int64_t bytes_each, std::int64_t max_memory) {
  constexpr std::int64_t kMost = 1 << 30;
  const std::int64_t bytes = max_memory > 0 ? std::min(kMost, max_memory / 2) : kMost;
  const std::int64_t most = std::max<std::int64_t>(bytes / std::max<std::int64_t>(bytes_each, 1), 1);
  return std::min(samples, static_cast<std::size_t>(most));
}

}  // namespace

Result<std::vector<std::vector<double>>> mean_errors(const Model& floating, const Model& quantized,
                                                     std::span<const int> nodes,
                                                     std::span<const Sample> samples,
                                                     const runtime::ExecutorOptions& with) {
  std::vector<std::vector<double>> errors(nodes.size());
  if (has_graphs_inside(*floating.graph)) return errors;  // samples could take different branches
  runtime::ExecutorOptions options = with;
  std::vector<bool> channels_first;
  for (const int node : nodes) {
    const Node& linear = floating.graph->nodes[static_cast<std::size_t>(node)];
    options.watch.push_back(linear.outputs[0]);
    channels_first.push_back(is_convolution(linear));
  }
  const auto executor_of = [&](const Model& model) {
    return runtime::Executor::make(std::make_shared<const Model>(model), options);
  };
  Sums right(channels_first);
  {
    const auto executor = TRY(executor_of(floating));
    const std::int64_t weights = executor->memory().used();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const ops::RepeatableDraws draws(i);
      TRY(executor->run(samples[i], nullptr, &right));
      if (i == 0)
        samples =
            samples.first(fitting(samples.size(), executor->memory().peak() - weights, with.max_memory));
    }
  }
  options.threads = 1;
  const graph::Index index(*quantized.graph);
  const auto executor = TRY(executor_of(quantized));
  SideBySide all(*executor, channels_first, with.threads, [&](std::size_t i, std::span<const Sum> sums) {
    return errors[i] = in_steps(difference(right.sums[i], sums),
                                steps_of_bias(*quantized.graph, index, options.watch[i]));
  });
  TRY(all.run(samples));
  return errors;
}

namespace {

Result<std::int64_t> refine(Refining& work) {
  work.layers = with_biases(*work.model.graph, std::move(work.layers));
  const Model quantized = TRY(work.quantized());
  const auto errors = TRY(mean_errors(work.model, quantized, work.layers, work.samples, work.options));
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
       .parameters = {{.name = "samples",
                       .preset = std::int64_t{8},
                       .doc = "number of calibration samples",
                       .low = 2,
                       .high = 1024}},
       .includes = "sum-preserving-rounding",
       .serves = may_have_bias,
       .refine = refine}};
  return all;
}

}  // namespace anybit::quantizing
