#include "refine/gptq.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "calibrate/second_moment.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kTile = 32;  // outputs that are rounded together
constexpr int kMostDampings = 12;   // each ten times the one before

// The order in which inputs are rounded, and what that order needs of H.
struct Feedback {
  std::vector<std::int64_t> inputs;  // in the reverse of the order
  std::vector<float> factor;         // the unit factor, transposed, in that reverse order
  std::vector<float> moment;         // H, likewise
  std::vector<char> dead;            // inputs that are always zero
};

double mean_of_diagonal(const Square& moment) {
  double sum = 0;
  for (std::int64_t i = 0; i < moment.size; ++i) sum += moment.at(i, i);
  return sum / static_cast<double>(std::max<std::int64_t>(1, moment.size));
}

// H in the reverse order, damped. Inputs that are always zero get the mean square of the others.
Square damped(const Square& moment, const std::vector<std::int64_t>& inputs, double mean, double damp) {
  Square result(moment.size);
  for (std::int64_t i = 0; i < moment.size; ++i) {
    const std::int64_t from = inputs[static_cast<std::size_t>(i)];
    for (std::int64_t k = i; k < moment.size; ++k)
      result.at(i, k) = moment.at(from, inputs[static_cast<std::size_t>(k)]);
    if (result.at(i, i) <= 0) result.at(i, i) = mean;
    result.at(i, i) += damp * mean;
  }
  return result;
}

std::optional<Feedback> feedback_of(const Square& moment, const GptqOptions& options, ThreadPool& pool) {
  const double mean = mean_of_diagonal(moment);
  if (!(mean > 0) || !std::isfinite(mean)) return std::nullopt;
  const std::int64_t n = moment.size;
  Feedback feedback;
  feedback.inputs.resize(static_cast<std::size_t>(n));
  std::iota(feedback.inputs.rbegin(), feedback.inputs.rend(), 0);
  if (options.act_order)
    std::ranges::stable_sort(
        feedback.inputs, [&](std::int64_t a, std::int64_t b) { return moment.at(a, a) < moment.at(b, b); });
  double damp = options.damp;
  Square factor = damped(moment, feedback.inputs, mean, damp);
  for (int i = 0; !factorize(factor, 1e-12 * mean, pool); ++i) {
    if (i == kMostDampings) return std::nullopt;
    damp = std::max(1e-6, damp * 10);
    factor = damped(moment, feedback.inputs, mean, damp);
  }
  const Square symmetric = damped(moment, feedback.inputs, mean, damp);
  feedback.factor.resize(factor.data.size());
  feedback.moment.resize(factor.data.size());
  for (std::int64_t i = 0; i < n; ++i) {
    feedback.dead.push_back(moment.at(feedback.inputs[static_cast<std::size_t>(i)],
                                      feedback.inputs[static_cast<std::size_t>(i)]) <= 0);
    for (std::int64_t k = i; k < n; ++k) {
      const auto upper = static_cast<std::size_t>(i * n + k), lower = static_cast<std::size_t>(k * n + i);
      feedback.factor[upper] = static_cast<float>(factor.at(i, k));
      feedback.moment[upper] = feedback.moment[lower] = static_cast<float>(symmetric.at(i, k) / mean);
    }
  }
  return feedback;
}

// A few outputs: their weights and errors, input by input in the reverse order of rounding.
class Tile {
 public:
  Tile(const Feedback& feedback, const RoundingTask& task, std::int64_t first, std::int64_t count)
      : feedback_(feedback),
        task_(task),
        first_(first),
        count_(static_cast<std::size_t>(count)),
        inputs_(std::ssize(feedback.inputs)),
        errors_(static_cast<std::size_t>(inputs_ * kTile)) {}

  // From the last input to the first: the errors of those behind are fed back.
  void round() {
    for (std::int64_t i = inputs_; i-- > 0;) {
      float targets[kTile] = {}, rounded[kTile];
      if (feedback_.dead[static_cast<std::size_t>(i)] == 0) add_behind(i, targets);
      for (std::size_t o = 0; o < count_; ++o) targets[o] += value(i, o);
      round_to(i, targets, rounded);
      for (std::size_t o = 0; o < count_; ++o) keep(i, o, rounded[o]);
    }
  }

  // Takes the tile as it was rounded otherwise.
  void take_kept() {
    for (std::int64_t i = 0; i < inputs_; ++i) {
      for (std::size_t o = 0; o < count_; ++o) error(i, o) = value(i, o) - task_.rounded[at(i, o)];
    }
  }

  // e·H·eᵀ over the outputs.
  double squared_error() {
    find_slopes();
    double sum = 0;
    for (std::size_t i = 0; i < errors_.size(); ++i)
      sum += static_cast<double>(errors_[i]) * static_cast<double>(slopes_[i]);
    return sum;
  }

  // Coordinate descent on e·H·eᵀ: each weight in turn moves to the best value of the format.
  void sweep(std::int64_t sweeps) {
    find_slopes();
    bool moved = true;
    for (std::int64_t sweep = 0; sweep < sweeps && moved; ++sweep) {
      moved = false;
      for (std::int64_t i = inputs_; i-- > 0;) {
        if (feedback_.dead[static_cast<std::size_t>(i)] == 0) moved |= descend(i);
      }
    }
  }

 private:
  std::size_t at(std::int64_t i, std::size_t o) const {
    const std::int64_t input = feedback_.inputs[static_cast<std::size_t>(i)];
    return static_cast<std::size_t>((first_ + static_cast<std::int64_t>(o)) * task_.outputs.stride +
                                    input * task_.outputs.step);
  }
  float value(std::int64_t i, std::size_t o) const { return task_.values[at(i, o)]; }
  float& error(std::int64_t i, std::size_t o) { return errors_[static_cast<std::size_t>(i * kTile) + o]; }
  void keep(std::int64_t i, std::size_t o, float rounded) {
    task_.rounded[at(i, o)] = rounded;
    error(i, o) = value(i, o) - rounded;
  }
  void round_to(std::int64_t i, const float* targets, float* rounded) const {
    (*task_.at)(static_cast<std::int64_t>(at(i, 0)), task_.outputs.stride, std::span(targets, count_),
                std::span(rounded, count_));
  }

  // sums += row[k] · errors of input k, for k in [begin, inputs)
  void add_errors(const float* row, std::int64_t begin, float* sums) const {
    const float* errors = &errors_[0] + begin * kTile;
    float all[kTile];
    std::copy_n(sums, kTile, all);
    for (std::int64_t k = begin; k < inputs_; ++k, errors += kTile) {
      const float factor = row[k];
      for (std::int64_t o = 0; o < kTile; ++o) all[o] += factor * errors[o];
    }
    std::copy_n(all, kTile, sums);
  }
  void add_behind(std::int64_t i, float* sums) const {
    add_errors(&feedback_.factor[static_cast<std::size_t>(i * inputs_)], i + 1, sums);
  }
  void find_slopes() {
    slopes_.assign(errors_.size(), 0);
    for (std::int64_t i = 0; i < inputs_; ++i)
      add_errors(&feedback_.moment[static_cast<std::size_t>(i * inputs_)], 0,
                 &slopes_[static_cast<std::size_t>(i * kTile)]);
  }

  bool descend(std::int64_t i) {
    const float* const row = &feedback_.moment[static_cast<std::size_t>(i * inputs_)];
    const float curve = row[i];
    float targets[kTile], rounded[kTile], moves[kTile] = {};
    for (std::size_t o = 0; o < count_; ++o)
      targets[o] = task_.rounded[at(i, o)] + slopes_[static_cast<std::size_t>(i * kTile) + o] / curve;
    round_to(i, targets, rounded);
    bool moved = false;
    for (std::size_t o = 0; o < count_; ++o) {
      const float move = task_.rounded[at(i, o)] - rounded[o];
      const float slope = slopes_[static_cast<std::size_t>(i * kTile) + o];
      if (!(move * (2 * slope + move * curve) < -1e-6F * move * move * curve)) continue;
      moves[o] = move;
      keep(i, o, rounded[o]);
      moved = true;
    }
    if (!moved) return false;
    float* slopes = slopes_.data();
    for (std::int64_t k = 0; k < inputs_; ++k, slopes += kTile) {
      for (std::int64_t o = 0; o < kTile; ++o) slopes[o] += row[k] * moves[o];
    }
    return true;
  }

  const Feedback& feedback_;
  const RoundingTask& task_;
  std::int64_t first_;
  std::size_t count_;
  std::int64_t inputs_;
  std::vector<float> errors_, slopes_;
};

}  // namespace

OutputError round_by_moment(const Square& moment, const RoundingTask& task, std::int64_t first,
                            std::int64_t count, const GptqOptions& options) {
  const auto feedback = feedback_of(moment, options, task.pool);
  if (!feedback) return {};
  std::vector<OutputError> errors(static_cast<std::size_t>((count + kTile - 1) / kTile));
  task.pool.run(count, kTile, [&](std::int64_t begin, std::int64_t end) {
    Tile tile(*feedback, task, first + begin, end - begin);
    OutputError& error = errors[static_cast<std::size_t>(begin / kTile)];
    tile.take_kept();
    error.nearest = tile.squared_error();
    tile.round();
    tile.sweep(options.sweeps);
    error.rounded = tile.squared_error();
  });
  OutputError all;
  for (const OutputError& one : errors) {
    all.nearest += one.nearest;
    all.rounded += one.rounded;
  }
  return all;
}

namespace {

// The sum of the second moments of all layers with this weight, which has to have rows of that length.
std::vector<Square> moments_of(const RoundingTask& task) {
  std::vector<Square> moments;
  for (const calibrate::Collector* one : task.collected) {
    const auto* seen = dynamic_cast<const calibrate::SecondMoment*>(one);
    if (!seen || seen->rows() == 0 || seen->length() != task.outputs.length ||
        task.outputs.count % seen->groups() != 0)
      continue;
    if (moments.empty()) moments.assign(static_cast<std::size_t>(seen->groups()), Square(seen->length()));
    if (std::ssize(moments) != seen->groups()) continue;
    for (std::int64_t group = 0; group < seen->groups(); ++group) {
      Square& to = moments[static_cast<std::size_t>(group)];
      for (std::int64_t i = 0; i < to.size; ++i) {
        for (std::int64_t k = i; k < to.size; ++k) {
          to.at(i, k) += seen->at(group, i, k);
          to.at(k, i) = to.at(i, k);
        }
      }
    }
  }
  return moments;
}

Rounded round_layer(const RoundingTask& task) {
  const GptqOptions options{.damp = formats::real(*task.parameters, "damp"),
                            .act_order = formats::flag(*task.parameters, "act_order"),
                            .sweeps = formats::integer(*task.parameters, "sweeps")};
  round_to_nearest(task);
  const std::vector<float> nearest(task.rounded.begin(), task.rounded.end());
  const std::vector<Square> moments = moments_of(task);
  const std::int64_t groups = std::ssize(moments);
  const std::int64_t count = groups == 0 ? 0 : task.outputs.count / groups;
  Rounded result;
  const auto one = [&](std::int64_t group) {
    round_by_moment(moments[static_cast<std::size_t>(group)], task, group * count, count, options);
  };
  if (groups == 1) one(0);
  // Groups are independent: those of depthwise convolutions are too small for several threads.
  if (groups > 1)
    task.pool.run(groups, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) one(group);
    });
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const double value = static_cast<double>(task.values[i]);
    const double error = value - static_cast<double>(task.rounded[i]);
    result.moved += task.rounded[i] != nearest[i] ? 1 : 0;
    result.signal += value * value;
    result.noise += error * error;
  }
  return result;
}

}  // namespace

std::span<const Descriptor> gptq_descriptors() {
  static const Descriptor all[] = {
      {.name = "gptq",
       .alias = "hessian",
       .summary = "GPTQ: later weights compensate the rounding errors of earlier ones on calibration data",
       .phase = Descriptor::Phase::rounding,
       .needs = {"second-moment"},
       .parameters = {{.name = "damp",
                       .preset = 0.01,
                       .doc = "added to the diagonal of the second moment, relative to its mean",
                       .low = 0,
                       .high = 10},
                      {.name = "act_order",
                       .preset = true,
                       .doc = "round the weights of inputs with large squares first"},
                      {.name = "sweeps",
                       .preset = std::int64_t{2},
                       .doc = "passes of coordinate descent after all weights are rounded",
                       .low = 0,
                       .high = 100}},
       .round = round_layer}};
  return all;
}

}  // namespace anybit::quantizing
