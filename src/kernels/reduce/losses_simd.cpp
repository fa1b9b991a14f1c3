#include "kernels/reduce/losses.hpp"

#include <cmath>
#include <limits>

#include "formats/float_bits.hpp"

namespace anybit::kernels {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 14;

struct Sums {
  double signal = 0, noise = 0, largest = -1;
  std::int64_t count = 0, lost = 0, largest_at = -1;

  void add(double x, double error, std::int64_t at) {
    signal += x * x;
    noise += error * error;
    ++count;
    if (error > largest) {
      largest = error;
      largest_at = at;
    }
  }
  // `later` follows this one in index order: of equal errors, the first is kept.
  void add(const Sums& later) {
    signal += later.signal;
    noise += later.noise;
    count += later.count;
    lost += later.lost;
    if (later.largest > largest) {
      largest = later.largest;
      largest_at = later.largest_at;
    }
  }
};

Sums sums_of(std::span<const float> values, std::span<const float> quantized, ThreadPool& pool) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<Sums> parts(static_cast<std::size_t>((count + kChunk - 1) / kChunk));
  pool.run(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
    Sums sums;
    for (std::int64_t i = begin; i < end; ++i) {
      const float x = values[static_cast<std::size_t>(i)], y = quantized[static_cast<std::size_t>(i)];
      if (!formats::is_finite(x)) continue;
      if (!formats::is_finite(y)) {
        ++sums.lost;
        continue;
      }
      sums.add(x, std::fabs(static_cast<double>(x) - y), i);
    }
    parts[static_cast<std::size_t>(begin / kChunk)] = sums;
  });
  Sums all;
  for (const Sums& part : parts) all.add(part);
  return all;
}

}  // namespace

Losses losses(const TensorCodec& codec, std::span<const float> values,
              const TensorCodec::Parameters& parameters, std::span<const float> quantized, ThreadPool& pool) {
  const Counts counts = codec.count_losses(values, parameters, quantized);
  const Sums sums = sums_of(values, quantized, pool);
  Losses result{.saturated = counts.saturated,
                .flushed = counts.flushed,
                .not_a_number = counts.not_a_number,
                .lost = sums.lost};
  result.sqnr =
      sums.noise > 0 ? 10 * std::log10(sums.signal / sums.noise) : std::numeric_limits<double>::infinity();
  if (sums.count == 0) return result;
  result.mean_squared_error = sums.noise / static_cast<double>(sums.count);
  result.largest_error = sums.largest;
  result.largest_error_at = sums.largest_at;
  return result;
}

}  // namespace anybit::kernels
