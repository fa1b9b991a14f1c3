#include "quantize/reduce_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/node.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kOutputsAtOnce = 1 << 16;  // approximate values per chunk of a thread
constexpr int kBound = 128;                       // of |w0 + w1|

std::int64_t chunk_of(const ReductionOrder& order) {
  return std::max<std::int64_t>(1, kOutputsAtOnce / std::max<std::int64_t>(1, order.length()));
}

// Calls see(output, at, other, count): pairs of `count` contiguous outputs begin at `at` and `other`. A last
// value without a neighbor is paired with zeros.
template <class See>
void each_pair(const ReductionOrder& order, std::int64_t begin, std::int64_t end, const See& see) {
  while (begin < end) {
    const std::int64_t count = std::min(end - begin, order.columns - begin % order.columns);
    for (std::int64_t k = 0; k + 1 < order.length(); k += 2)
      see(begin, order.first(begin) + order.offset(k), order.first(begin) + order.offset(k + 1), count);
    begin += count;
  }
}

// [blocks, length, columns], the right operand of a MatMul.
ReductionOrder columns_of(std::span<const std::int64_t> dims) {
  const std::int64_t length = dims[dims.size() - 2], columns = dims.back();
  ReductionOrder order{.columns = columns, .block = length * columns, .inner = length, .inner_step = columns};
  for (const std::int64_t size : dims.first(dims.size() - 2)) order.blocks *= size;
  return order;
}

// [blocks, length]: the values of an output are contiguous.
ReductionOrder rows_of(std::span<const std::int64_t> dims) {
  ReductionOrder order{.block = dims.back(), .inner = dims.back()};
  for (const std::int64_t size : dims.first(dims.size() - 1)) order.blocks *= size;
  return order;
}

// [outputs, channels, taps…]: reduced over channels first, then taps, since activations are NHWC.
ReductionOrder kernel_of(std::span<const std::int64_t> dims) {
  std::int64_t taps = 1;
  for (const std::int64_t size : dims.subspan(2)) taps *= size;
  return {.blocks = dims[0],
          .block = dims[1] * taps,
          .inner = dims[1],
          .inner_step = taps,
          .outer = taps,
          .outer_step = 1};
}

bool is_depthwise(const graph::Node& node, std::span<const std::int64_t> dims) {
  const auto groups = graph::attribute_or<std::int64_t>(node, "group", 1);
  return groups > 1 && dims[1] == 1 && dims[0] == groups;
}

}  // namespace

std::optional<ReductionOrder> reduction_order(const graph::Node& node, int input,
                                              std::span<const std::int64_t> dims, bool dynamic) {
  const std::string& op = node.op_type.str();
  if (input == 0 || std::ranges::count(dims, 0) > 0) return std::nullopt;
  if (op == "Conv" && dims.size() > 2 && !dynamic && !is_depthwise(node, dims)) return kernel_of(dims);
  if (op == "LSTM" && dims.size() == 3 && dynamic) return rows_of(dims);
  if (dims.size() < 2 || (op != "MatMul" && op != "Gemm" && op != "Attention")) return std::nullopt;
  const bool turned = op == "Gemm" && graph::attribute_or<std::int64_t>(node, "transB", 0) != 0;
  return turned ? rows_of(dims) : columns_of(dims);
}

std::vector<double> least_scales(const float* values, const ReductionOrder& order, ThreadPool& pool) {
  // Half of the sum cannot overflow. The last factor compensates its rounding.
  constexpr double kFactor = 2.0 / (kBound - 1) * (1 + 0x1p-20);
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max()) / kBound;
  std::vector<float> halves(static_cast<std::size_t>(order.outputs()));
  pool.run(order.outputs(), chunk_of(order), [&](std::int64_t begin, std::int64_t end) {
    each_pair(order, begin, end,
              [&](std::int64_t output, std::int64_t at, std::int64_t other, std::int64_t count) {
                for (std::int64_t i = 0; i < count; ++i) {
                  float& most = halves[static_cast<std::size_t>(output + i)];
                  most = std::max(most, std::abs(0.5F * values[at + i] + 0.5F * values[other + i]));
                }
              });
  });
  std::vector<double> least;
  for (const float half : halves) least.push_back(std::min(static_cast<double>(half) * kFactor, kMost));
  return least;
}

std::int64_t saturating_pairs(const std::int8_t* weights, const ReductionOrder& order, ThreadPool& pool) {
  const std::int64_t chunk = chunk_of(order);
  std::vector<std::int64_t> found(static_cast<std::size_t>((order.outputs() + chunk - 1) / chunk));
  pool.run(order.outputs(), chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t& mine = found[static_cast<std::size_t>(begin / chunk)];
    each_pair(order, begin, end, [&](std::int64_t, std::int64_t at, std::int64_t other, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i)
        mine += std::abs(weights[at + i] + weights[other + i]) > kBound;
    });
  });
  std::int64_t all = 0;
  for (const std::int64_t one : found) all += one;
  return all;
}

}  // namespace anybit::quantizing
