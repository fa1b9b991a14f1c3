// What the ranges of groups mean for values outside of them: losses, and gradients of straight-through
// rounding.
#include <algorithm>

#include "formats/float_bits.hpp"
#include "kernels/codec/tensor_codec_runs.hpp"

namespace anybit::kernels {
namespace {

constexpr std::int64_t kValues = 4096;  // per chunk of a thread

constexpr std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

Counts TensorCodec::count_losses(std::span<const float> values, const Parameters& parameters,
                                 std::span<const float> quantized) const {
  Counts counts;
  if (count_ == 0) return counts;
  for (std::int64_t group = 0; group < grouping_.groups(); ++group) {
    const formats::Range range =
        codec_->range(std::span(parameters).subspan(to_size(group) * stride_, stride_));
    for_runs(group, [&](std::int64_t offset, std::int64_t length) {
      for (std::size_t i = to_size(offset); i < to_size(offset + length); ++i) {
        const float x = values[i];
        counts.not_a_number += formats::is_nan(x);
        counts.saturated += x > range.high || x < range.low;
        counts.flushed += x != 0 && quantized[i] == 0 && !formats::is_nan(x);
      }
    });
  }
  return counts;
}

void TensorCodec::pass_inside(std::span<const float> values, const Parameters& parameters, float widened,
                              Outside outside, const float* dy, float* dx, ThreadPool& pool) const {
  if (count_ == 0) return;
  const bool inward = outside == Outside::inward;
  const std::int64_t chunk = std::max<std::int64_t>(kValues / std::max<std::int64_t>(grouping_.size(), 1), 1);
  pool.run(grouping_.groups(), chunk, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t group = first; group < last; ++group) {
      const formats::Range range =
          codec_->range(std::span(parameters).subspan(to_size(group) * stride_, stride_));
      const float low = range.low * widened, high = range.high * widened;
      for_runs(group, [&](std::int64_t offset, std::int64_t length) {
        for (std::size_t i = to_size(offset); i < to_size(offset + length); ++i) {
          const float x = values[i], g = dy[i];
          const bool pass = (x <= high || (inward && g > 0)) && (x >= low || (inward && g < 0));
          dx[i] = pass ? g : 0.0F;
        }
      });
    }
  });
}

}  // namespace anybit::kernels
