#include "refine/sum_preserving_rounding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kTile = 16;        // outputs per tile: columns of a matrix share cache lines
constexpr std::int64_t kChunk = 1 << 15;  // approximate values per chunk of a thread

// The cost of changing a rounding, in squared steps: 0 for a value at the midpoint of two quantized values, 1
// for an exact one. About every tenth value costs at most kNear.
constexpr double kNear = 0.1, kAny = 2;

// The weights of one output; buffers are reused.
class Row {
 public:
  Row(std::int64_t length, double mean)
      : values(static_cast<std::size_t>(length)), rounded(values.size()), other(values.size()), mean_(mean) {}

  Rounded keep() {
    Rounded result;
    Lanes errors{}, noise{}, signal{};
    for_lanes([&](std::size_t i, std::size_t lane) {
      const double error = error_of(rounded[i], i), value = static_cast<double>(values[i]);
      errors[lane] += error;
      noise[lane] += error * error;
      signal[lane] += value * value;
    });
    double sum = total(errors);
    result.noise = total(noise);
    result.signal = total(signal);
    const double usual = usual_square(sum);
    // Values near a tie mostly suffice; others are only tried if not.
    if (take_moves(sum, usual, -kAny, kNear, result)) take_moves(sum, usual, kNear, kAny, result);
    return result;
  }

  std::vector<float> values, rounded, other;

 private:
  struct Move {
    double cost, by;  // cost: see take_moves(); by: change of the sum
    std::size_t at;
  };
  // Heap order: cheapest first, then by index.
  static bool later(const Move& a, const Move& b) { return a.cost != b.cost ? a.cost > b.cost : a.at > b.at; }

  double error_of(float to, std::size_t i) const {
    return static_cast<double>(to) - static_cast<double>(values[i]);
  }
  double step_of(std::size_t i) const {
    return static_cast<double>(other[i]) - static_cast<double>(rounded[i]);
  }

  // Four independent partial sums.
  using Lanes = std::array<double, 4>;
  static double total(const Lanes& lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }
  template <class Body>
  void for_lanes(const Body& body) const {
    std::size_t i = 0;
    for (; i + 4 <= values.size(); i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) body(i + lane, lane);
    }
    for (; i < values.size(); ++i) body(i, 0);
  }

  // The mean square of the steps that reduce the error of the sum; also finds the shortest one.
  double usual_square(double sum) {
    Lanes squares{}, count{}, least;
    least.fill(std::numeric_limits<double>::infinity());
    for_lanes([&](std::size_t i, std::size_t lane) {
      const double by = step_of(i), counts = by * sum < 0 ? 1 : 0;
      squares[lane] += counts * by * by;
      count[lane] += counts;
      least[lane] = std::min(least[lane], by * sum < 0 ? std::abs(by) : least[lane]);
    });
    shortest_ = std::ranges::min(least);
    return total(squares) / std::max(1.0, total(count));
  }

  // Applies changes with low <= cost < high, relative to `usual`, that reduce the error of the sum. Returns
  // true if more expensive ones may help, too. Costs are relative to the step of each value: by absolute
  // error, hundreds of small floats with fine steps would change instead of one large one, which measured
  // worse (mx4, mxfp8).
  bool take_moves(double& sum, double usual, double low, double high, Rounded& result) {
    moves_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double by = step_of(i), square = by * by;
      const double grows = by * (by + 2 * error_of(rounded[i], i));  // (error + by)² − error²
      // A single unpredictable branch instead of several.
      if (static_cast<int>(by * sum < 0) & static_cast<int>(grows >= low * square) &
          static_cast<int>(grows < high * square))
        moves_.push_back({grows / square * usual, by, i});
    }
    std::ranges::make_heap(moves_, later);
    // longer steps would only flip the sign of the error
    while (!moves_.empty() && shortest_ < 2 * std::abs(sum)) {
      std::ranges::pop_heap(moves_, later);
      const Move move = moves_.back();
      moves_.pop_back();
      if (move.cost > mean_ * sum * sum) return false;  // no error of the sum justifies this cost
      const double moved = sum + move.by;
      if (move.cost >= mean_ * (sum * sum - moved * moved)) continue;
      const double now = error_of(rounded[move.at], move.at);
      result.noise += move.by * (move.by + 2 * now);
      rounded[move.at] = other[move.at];
      sum = moved;
      ++result.moved;
    }
    return shortest_ < 2 * std::abs(sum) && high * usual <= mean_ * sum * sum;
  }

  double mean_;
  std::vector<Move> moves_;
  double shortest_ = 0;
};

// Outputs with more weights have enough values near a tie.
constexpr std::int64_t kFew = 32;
constexpr double kNothing = 1e-6;  // a negligible gain, relative to the squared error of the sum

// The weights of one output within a tensor.
class Trimmed {
 public:
  Trimmed(const float* values, std::span<float> kept, const Outputs& outputs, std::int64_t output,
          double mean)
      : values_(values), kept_(kept), outputs_(outputs), first_(output * outputs.stride), mean_(mean) {
    for (std::int64_t k = 0; k < outputs.length; ++k) sum_ += error(at(k));
  }

  // The ideal value of each weight if it alone compensated the sum without being rounded: the minimum of
  // (error + by)² + mean · (sum + by)².
  void aim(std::span<float> targets) const {
    constexpr double kMost = std::numeric_limits<float>::max();
    for (std::int64_t k = 0; k < outputs_.length; ++k) {
      const double by = -(error(at(k)) + mean_ * sum_) / (1 + mean_);
      targets[at(k)] = static_cast<float>(std::clamp(static_cast<double>(kept_[at(k)]) + by, -kMost, kMost));
    }
  }

  // Changes the weight that gains most by moving to the value found near its target.
  bool move(std::span<const float> found) const {
    double least = -kNothing * sum_ * sum_;
    std::size_t best = kept_.size();
    for (std::int64_t k = 0; k < outputs_.length; ++k) {
      const double by = static_cast<double>(found[at(k)]) - static_cast<double>(kept_[at(k)]);
      const double change = by * (by + 2 * error(at(k))) + mean_ * by * (by + 2 * sum_);
      if (!(change < least)) continue;  // out of the format's range there may be NaN
      least = change;
      best = at(k);
    }
    if (best == kept_.size()) return false;
    kept_[best] = found[best];
    return true;
  }

 private:
  std::size_t at(std::int64_t k) const { return static_cast<std::size_t>(first_ + k * outputs_.step); }
  double error(std::size_t i) const {
    return static_cast<double>(kept_[i]) - static_cast<double>(values_[i]);
  }

  const float* values_;
  std::span<float> kept_;
  const Outputs& outputs_;
  std::int64_t first_;
  double mean_;
  double sum_ = 0;  // sum of the errors
};

}  // namespace

Rounded preserve_sums(const float* values, const Outputs& outputs, const Neighbours& neighbours, float* kept,
                      ThreadPool& pool, const SumOptions& options) {
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunk / (outputs.length * kTile)) * kTile;
  std::vector<Rounded> parts(static_cast<std::size_t>((outputs.count + chunk - 1) / chunk));
  pool.run(outputs.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Row> rows(static_cast<std::size_t>(std::min(kTile, end - begin)),
                          Row(outputs.length, options.mean));
    Rounded& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (std::int64_t first = begin; first < end; first += kTile) {
      const auto tile = static_cast<std::size_t>(std::min(kTile, end - first));
      const auto at = [&](std::size_t row, std::int64_t k) {
        return (first + static_cast<std::int64_t>(row)) * outputs.stride + k * outputs.step;
      };
      for (std::int64_t k = 0; k < outputs.length; ++k) {
        for (std::size_t row = 0; row < tile; ++row)
          rows[row].values[static_cast<std::size_t>(k)] = values[at(row, k)];
      }
      for (std::size_t row = 0; row < tile; ++row) {
        neighbours(at(row, 0), rows[row].values, rows[row].rounded, rows[row].other);
        const Rounded one = rows[row].keep();
        part.moved += one.moved;
        part.signal += one.signal;
        part.noise += one.noise;
      }
      for (std::int64_t k = 0; k < outputs.length; ++k) {
        for (std::size_t row = 0; row < tile; ++row)
          kept[at(row, k)] = rows[row].rounded[static_cast<std::size_t>(k)];
      }
    }
  });
  Rounded all;
  for (const Rounded& part : parts) {  // in index order
    all.moved += part.moved;
    all.signal += part.signal;
    all.noise += part.noise;
  }
  return all;
}

void refine_sums(const float* values, const Outputs& outputs, const Nearest& nearest, std::span<float> kept,
                 const SumOptions& options) {
  if (outputs.length > kFew) return;
  std::vector<float> targets(kept.size()), found(kept.size());
  bool moved = true;
  for (int i = 0; i < options.trims && moved; ++i) {
    for (std::int64_t output = 0; output < outputs.count; ++output)
      Trimmed(values, kept, outputs, output, options.mean).aim(targets);
    nearest(targets, found);
    moved = false;
    for (std::int64_t output = 0; output < outputs.count; ++output)
      moved |= Trimmed(values, kept, outputs, output, options.mean).move(found);
  }
}

namespace {

Rounded round(const RoundingTask& task) {
  const SumOptions options{.mean = formats::real(*task.parameters, "mean"),
                           .trims = formats::integer(*task.parameters, "trims")};
  const Rounded done =
      preserve_sums(task.values, task.outputs, task.neighbours, task.rounded.data(), task.pool, options);
  if (task.nearest) refine_sums(task.values, task.outputs, *task.nearest, task.rounded, options);
  return done;
}

}  // namespace

std::span<const Descriptor> sum_preserving_rounding_descriptors() {
  static const Descriptor all[] = {
      {.name = "sum-preserving-rounding",
       .alias = "sums",
       .summary = "sum-preserving rounding: every output channel keeps the sum of its weights",
       .phase = Descriptor::Phase::rounding,
       .parameters = {{.name = "mean",
                       .preset = 4.0,
                       .doc = "squared mean of the inputs relative to their variance: the weight of the sums",
                       .low = 0,
                       .high = 1e6},
                      {.name = "trims",
                       .preset = std::int64_t{8},
                       .doc = "maximum number of changed roundings per output with few weights",
                       .low = 0,
                       .high = 64}},
       .round = round}};
  return all;
}

}  // namespace anybit::quantizing
