#include "refine/smoothing_error.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/gemm/gemm.hpp"

namespace anybit::quantizing {
namespace {

// One scale for all, with a zero point, as activations have.
void round_rows(std::span<float> rows, float low, float high, int bits) {
  const float levels = static_cast<float>((1 << bits) - 1);
  low = std::min(low, 0.0F);
  const float scale = (std::max(high, 0.0F) - low) / levels;
  if (!(scale > 0)) return;
  const float zero = std::nearbyint(-low / scale);
  for (float& one : rows) one = (std::clamp(std::nearbyint(one / scale) + zero, 0.0F, levels) - zero) * scale;
}

// Symmetric, one scale for each column and block of rows.
void round_columns(std::vector<float>& matrix, std::size_t rows, std::size_t columns, const LayerBits& bits) {
  const std::size_t block = bits.block > 0 ? static_cast<std::size_t>(bits.block) : rows;
  const float top = static_cast<float>((1 << (bits.weights - 1)) - 1);
  std::vector<float> scales(columns);
  for (std::size_t begin = 0; begin < rows; begin += block) {
    const std::size_t end = std::min(rows, begin + block);
    std::ranges::fill(scales, 0.0F);
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t n = 0; n < columns; ++n)
        scales[n] = std::max(scales[n], std::abs(matrix[k * columns + n]));
    }
    for (float& one : scales) one = one > 0 ? one / top : 1;
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t n = 0; n < columns; ++n) {
        float& one = matrix[k * columns + n];
        one = std::nearbyint(one / scales[n]) * scales[n];
      }
    }
  }
}

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, std::int64_t m,
                           std::int64_t k, std::int64_t n) {
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const kernels::PlainFloats right({b.data(), n, 1}, n);
  ThreadPool pool;
  kernels::gemm({.m = m, .n = n, .k = k, .a = {a.data(), k, 1}, .b = &right, .c = c.data(), .c_stride = n},
                pool);
  return c;
}

}  // namespace

void SeenRows::see(const ops::Datum& value) {
  if (!value.is_array() || value.array.type() != graph::ElementType::float32 ||
      value.array.layout() != ops::Layout::plain || value.array.dims().size() < 2)
    return;
  const auto channels = static_cast<std::size_t>(value.array.dims()[value.array.dims().size() - 1]);
  const auto elements = value.array.elements<float>();
  if (channels == 0 || elements.empty() || (!low.empty() && low.size() != channels)) return;
  low.resize(channels);
  high.resize(channels);
  const std::size_t all = elements.size() / channels;
  const std::size_t step = std::max<std::size_t>(1, all / static_cast<std::size_t>(kRowsOfSample));
  for (std::size_t row = 0; row < all; ++row) {
    const auto of = elements.subspan(row * channels, channels);
    for (std::size_t j = 0; j < channels; ++j) {
      low[j] = std::min(low[j], of[j]);
      high[j] = std::max(high[j], of[j]);
    }
    if (row % step != 0 || count >= kMostRows || row / step >= static_cast<std::size_t>(kRowsOfSample))
      continue;
    rows.insert(rows.end(), of.begin(), of.end());
    ++count;
  }
}

double smoothing_error(const SeenRows& seen, std::span<const passes::Linear* const> layers,
                       const std::vector<double>& factors, const LayerBits& bits) {
  const std::size_t channels = factors.size();
  std::vector<float> rows = seen.rows;
  float low = 0, high = 0;
  for (std::size_t j = 0; j < channels; ++j) {
    const auto divisor = static_cast<float>(factors[j]);
    low = std::min(low, seen.low[j] / divisor);
    high = std::max(high, seen.high[j] / divisor);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] /= static_cast<float>(factors[i % channels]);
  if (bits.data > 0 && bits.data <= 16) round_rows(rows, low, high, bits.data);
  double noise = 0, signal = 0;
  for (const passes::Linear* layer : layers) {
    const auto outputs = static_cast<std::size_t>(layer->outputs);
    std::vector<float> plain(channels * outputs), rounded(plain.size());
    layer->each_weight([&](std::size_t i, std::size_t output, std::size_t input) {
      plain[input * outputs + output] = layer->weights[i];
      rounded[input * outputs + output] = layer->weights[i] * static_cast<float>(factors[input]);
    });
    if (bits.weights > 1 && bits.weights <= 16) round_columns(rounded, channels, outputs, bits);
    const auto k = static_cast<std::int64_t>(channels);
    const std::vector<float> right = product(seen.rows, plain, seen.count, k, layer->outputs);
    const std::vector<float> made = product(rows, rounded, seen.count, k, layer->outputs);
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto value = static_cast<double>(right[i]), error = value - static_cast<double>(made[i]);
      signal += value * value;
      noise += error * error;
    }
  }
  return signal > 0 ? noise / signal : 0;
}

}  // namespace anybit::quantizing
