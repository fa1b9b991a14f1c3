#include "quantize/keep_sums.hpp"

#include <algorithm>
#include <vector>

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kTile = 16;        // outputs at a time: columns of a matrix share the caches' lines
constexpr std::int64_t kChunk = 1 << 15;  // values that one thread takes at a time, about

// The square of the inputs' mean, in units of their variance: the errors d of the weights make an error of
// the output of Σd² + mean²·(Σd)². Behind a Relu it is 1.75 for values that were normal before it, in
// pictures more. Results hardly change from 2 to infinity.
constexpr double kMean = 4;

// One output's weights; memory is kept from one to the next.
class Row {
 public:
  explicit Row(std::int64_t length)
      : values(static_cast<std::size_t>(length)), rounded(values.size()), other(values.size()) {}

  Kept keep() {
    Kept result;
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = error_of(rounded[i], i);
      sum += error;
      result.noise += error * error;
      result.signal += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    find_moves(sum);
    while (!moves_.empty()) {
      std::ranges::pop_heap(moves_, later);
      const Move move = moves_.back();
      moves_.pop_back();
      if (move.cost > kMean * sum * sum) break;  // no sum gains as much
      const double moved = sum + move.by;
      if (move.cost >= kMean * (sum * sum - moved * moved)) continue;
      rounded[move.at] = other[move.at];
      sum = moved;
      result.noise += move.grows;
      ++result.moved;
    }
    return result;
  }

  std::vector<float> values, rounded, other;

 private:
  struct Move {
    double cost, by;  // see find_moves(); what the sum changes by
    std::size_t at;
    double grows = 0;  // what the squared error grows by
  };
  // Of a heap, the first comes out last; the cheapest are to come first, among equals the earlier.
  static bool later(const Move& a, const Move& b) { return a.cost != b.cost ? a.cost > b.cost : a.at > b.at; }

  double error_of(float to, std::size_t i) const {
    return static_cast<double>(to) - static_cast<double>(values[i]);
  }

  // Those that bring the sum nearer to what it was. An error costs what it is in steps of its own: by its
  // size alone, hundreds of small floats with fine steps would move for one large one, which measured worse
  // (mx4, mxfp8).
  void find_moves(double sum) {
    moves_.resize(values.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {  // without a branch that nobody can foresee
      const double by = static_cast<double>(other[i]) - static_cast<double>(rounded[i]);
      const double now = error_of(rounded[i], i), then = error_of(other[i], i);
      moves_[count] = {then * then - now * now, by, i};
      count += by * sum < 0 ? 1U : 0U;
    }
    moves_.resize(count);
    double squares = 0;
    for (const Move& move : moves_) squares += move.by * move.by;
    const double usual = squares / static_cast<double>(std::max<std::size_t>(1, count));
    for (Move& move : moves_) {
      move.grows = move.cost;
      move.cost *= usual / (move.by * move.by);
    }
    std::ranges::make_heap(moves_, later);
  }

  std::vector<Move> moves_;
};

}  // namespace

Outputs outputs_of(std::span<const std::int64_t> dims, std::int64_t axis) {
  if (axis < 0 || dims.size() < 2) return {};
  std::int64_t count = 1;
  for (const std::int64_t size : dims) count *= size;
  if (count == 0) return {};
  if (axis == 0) return {dims[0], count / dims[0], count / dims[0], 1};
  if (axis == 1 && dims.size() == 2) return {dims[1], dims[0], 1, dims[1]};
  return {};
}

Kept keep_sums(const float* values, const Outputs& outputs, const Neighbours& neighbours, float* kept,
               ThreadPool& pool) {
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunk / (outputs.length * kTile)) * kTile;
  std::vector<Kept> parts(static_cast<std::size_t>((outputs.count + chunk - 1) / chunk));
  pool.run(outputs.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Row> rows(static_cast<std::size_t>(std::min(kTile, end - begin)), Row(outputs.length));
    Kept& part = parts[static_cast<std::size_t>(begin / chunk)];
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
        const Kept one = rows[row].keep();
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
  Kept all;
  for (const Kept& part : parts) {  // in index order
    all.moved += part.moved;
    all.signal += part.signal;
    all.noise += part.noise;
  }
  return all;
}

}  // namespace anybit::quantizing
