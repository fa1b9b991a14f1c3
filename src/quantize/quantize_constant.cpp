// Weights to codes. A tensor is seen as [outer, axis, inner]; runs of values that lie side by side and share
// a scale, or whose scales lie side by side, are coded at once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/try.hpp"
#include "kernels/quantize.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;
using lower::Codes;
using lower::Parameters;

constexpr std::int64_t kChunk = 1 << 16;  // values that one thread takes at a time

struct Ends {
  float low = 0, high = 0;
};

// Where the values and their scales are.
struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;  // length: of the axis
  std::int64_t group = 1;                         // indices of the axis that share a scale
  std::int64_t groups = 1;                        // of them
  bool keeps_rest = false;  // blocks: every index of the other axes has scales of its own

  // Runs: of `inner` values for each index of the axis. The scale of a run's first value, and whether the
  // next ones follow.
  std::int64_t scale_at(std::int64_t out, std::int64_t index) const {
    const std::int64_t block = index / group;
    return keeps_rest ? (out * groups + block) * inner : block;
  }
  std::int64_t scales() const { return keeps_rest ? outer * groups * inner : groups; }
};

Layout layout_of(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis) {
  Layout layout;
  if (spec.granularity == Granularity::tensor || tensor.dims.empty()) {
    layout.inner = tensor.count();
    return layout;
  }
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? layout.outer : at == axis ? layout.length : layout.inner) *= tensor.dims[i];
  }
  layout.keeps_rest = spec.granularity == Granularity::block;
  layout.group = layout.keeps_rest ? spec.block_size : 1;
  layout.groups = (layout.length + layout.group - 1) / layout.group;
  return layout;
}

// The smallest and largest of every group, and zero.
std::vector<Ends> ends_of(const float* x, const Layout& layout) {
  std::vector<Ends> ends(static_cast<std::size_t>(layout.scales()));
  for (std::int64_t out = 0; out < layout.outer; ++out) {
    for (std::int64_t index = 0; index < layout.length; ++index) {
      const float* run = x + (out * layout.length + index) * layout.inner;
      Ends* group = ends.data() + layout.scale_at(out, index);
      if (!layout.keeps_rest) {
        const kernels::Ends found = kernels::ends(run, static_cast<std::size_t>(layout.inner));
        group->low = std::min(group->low, found.low);
        group->high = std::max(group->high, found.high);
        continue;
      }
      for (std::int64_t i = 0; i < layout.inner; ++i) {
        group[i].low = std::min(group[i].low, run[i]);
        group[i].high = std::max(group[i].high, run[i]);
      }
    }
  }
  return ends;
}

Result<void> check_finite(const float* x, std::int64_t n, const graph::Tensor& tensor) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU);
  if (largest < 0x7F800000U) return {};
  return error_at(Code::invalid_data, fmt::format("initializer '{}'", shown(tensor.name.str())),
                  largest == 0x7F800000U ? "an infinite weight" : "a weight that is not a number",
                  "leave the node in float (--exclude), or mend the model");
}

// One scale for each group; a group of zeros takes the largest of the others, so that its bias keeps
// precision.
Parameters parameters_of(const std::vector<Ends>& ends, const Spec& spec) {
  Spec each = spec;
  Parameters all{.type = spec.element()};
  const Codes codes = lower::codes_of(spec.element());
  const std::int32_t middle = codes.low < 0 ? 0 : 1 << (codes.bits - 1);
  const double top = spec.narrow || codes.low == 0 ? codes.high - middle : -static_cast<double>(codes.low);
  float largest = 0;
  for (const Ends& one : ends) {
    if (one.low == 0 && one.high == 0) {
      all.scales.push_back(0);
      all.zero_points.push_back(spec.symmetric ? middle : codes.low);
      continue;
    }
    Parameters made = from_range({one.low, one.high}, each);
    if (spec.symmetric) {
      const double scale = static_cast<double>(std::max(-one.low, one.high)) / top;
      if (scale >= static_cast<double>(std::numeric_limits<float>::min()))
        made.scales[0] = static_cast<float>(scale);
    }
    all.scales.push_back(made.scales[0]);
    all.zero_points.push_back(made.zero_points[0]);
    largest = std::max(largest, made.scales[0]);
  }
  for (float& scale : all.scales) {
    if (scale == 0) scale = largest > 0 ? largest : 1.0F;
  }
  return all;
}

// Codes of a run, one byte or one int32 each.
template <class T>
void code_run(const float* x, const float* scales, const std::int32_t* zeros, std::size_t step, std::size_t n,
              const Codes& codes, T* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t zero = zeros[i * step];
    const float low = static_cast<float>(codes.low - zero), high = static_cast<float>(codes.high - zero);
    const float steps = std::clamp(x[i] / scales[i * step], low, high);
    // Half to even for all that fits 22 bits; nearbyint is a call on baseline CPUs.
    const float rounded = (steps + 12582912.0F) - 12582912.0F;
    out[i] = static_cast<T>(static_cast<std::int32_t>(rounded) + zero);
  }
}

struct Coder {
  const float* x;
  const Layout& layout;
  const Parameters& parameters;
  Codes codes;
  std::uint8_t* bytes;   // 8 bits and less: a byte for each code
  std::int16_t* halves;  // 16 bits

  void run(std::int64_t out, std::int64_t index) const {
    const std::int64_t at = (out * layout.length + index) * layout.inner;
    const auto n = static_cast<std::size_t>(layout.inner);
    const auto first = static_cast<std::size_t>(layout.scale_at(out, index));
    code(at, first, layout.keeps_rest ? 1 : 0, n);
  }

  void code(std::int64_t at, std::size_t scale, std::size_t step, std::size_t n) const {
    const float* scales = parameters.scales.data() + scale;
    const std::int32_t* zeros = parameters.zero_points.data() + scale;
    switch (parameters.type) {
      case ElementType::int8:
        kernels::quantize(x + at, {scales, zeros, step}, reinterpret_cast<std::int8_t*>(bytes) + at, n);
        break;
      case ElementType::uint8:
        kernels::quantize(x + at, {scales, zeros, step}, bytes + at, n);
        break;
      case ElementType::int16:
      case ElementType::uint16:
        code_run(x + at, scales, zeros, step, n, codes, halves + at);
        break;
      default:
        code_run(x + at, scales, zeros, step, n, codes, bytes + at);
        break;
    }
  }

  // What lies side by side in memory also does in the scales: channels of the last axis.
  bool last_axis() const { return layout.inner == 1 && layout.group == 1; }
};

void code_all(const Coder& coder, ThreadPool& pool) {
  const Layout& layout = coder.layout;
  if (coder.last_axis()) {
    const std::int64_t rows = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, layout.length));
    pool.run(layout.outer, rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        coder.code(row * layout.length, 0, 1, static_cast<std::size_t>(layout.length));
    });
    return;
  }
  if (layout.outer * layout.length == 1) {
    pool.run(layout.inner, kChunk, [&](std::int64_t begin, std::int64_t end) {
      coder.code(begin, 0, 0, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  const std::int64_t runs = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(1, layout.inner));
  pool.run(layout.outer * layout.length, runs, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) coder.run(i / layout.length, i % layout.length);
  });
}

std::vector<std::int64_t> scale_dims(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                     const Layout& layout) {
  if (spec.granularity == Granularity::tensor || tensor.dims.empty()) return {};
  if (spec.granularity == Granularity::channel) return {layout.groups};
  std::vector<std::int64_t> dims = tensor.dims;
  dims[static_cast<std::size_t>(axis)] = layout.groups;
  return dims;
}

// Sums of squares, in chunks of index order: the same for any number of threads.
void measure(const Coder& coder, std::int64_t count, QuantizedConstant& result, ThreadPool& pool) {
  const Layout& layout = coder.layout;
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<std::pair<double, double>> sums(static_cast<std::size_t>(chunks));
  pool.run(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
    auto& [signal, noise] = sums[static_cast<std::size_t>(begin / kChunk)];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t run = i / layout.inner;
      const auto at = static_cast<std::size_t>(layout.scale_at(run / layout.length, run % layout.length) +
                                               (layout.keeps_rest ? i % layout.inner : 0));
      const std::int32_t zero = coder.parameters.zero_points[at];
      std::int32_t code = 0;
      switch (coder.parameters.type) {
        case ElementType::int16:
          code = coder.halves[i];
          break;
        case ElementType::uint16:
          code = static_cast<std::uint16_t>(coder.halves[i]);
          break;
        case ElementType::uint8:
        case ElementType::uint4:
        case ElementType::uint2:
          code = coder.bytes[i];
          break;
        default:
          code = static_cast<std::int8_t>(coder.bytes[i]);
          break;
      }
      const auto x = static_cast<double>(coder.x[i]);
      const double lost =
          x - static_cast<double>(code - zero) * static_cast<double>(coder.parameters.scales[at]);
      signal += x * x;
      noise += lost * lost;
    }
  });
  for (const auto& [signal, noise] : sums) {
    result.signal += signal;
    result.noise += noise;
  }
}

}  // namespace

Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool) {
  const Bytes held = tensor.data.aligned(alignof(float));
  const auto* x = reinterpret_cast<const float*>(held.data());
  const std::int64_t count = tensor.count();
  TRY(check_finite(x, count, tensor));
  const Layout layout = layout_of(tensor, spec, axis);
  QuantizedConstant result;
  result.parameters = parameters_of(ends_of(x, layout), spec);
  Parameters& parameters = result.parameters;
  for (std::size_t i = 0; i < parameters.scales.size() && !least.empty(); ++i) {
    const double floor = least.size() == 1 ? least[0] : i < least.size() ? least[i] : 0.0;
    if (static_cast<double>(parameters.scales[i]) >= floor) continue;
    parameters.scales[i] = static_cast<float>(floor);
    ++result.raised;
  }
  parameters.axis = axis;
  parameters.dims = scale_dims(tensor, spec, axis, layout);
  parameters.block_size = spec.granularity == Granularity::block ? spec.block_size : 0;
  const Codes codes = lower::codes_of(spec.element());
  std::vector<std::uint8_t> bytes(codes.bits <= 8 ? static_cast<std::size_t>(count) : 0);
  std::vector<std::int16_t> halves(codes.bits > 8 ? static_cast<std::size_t>(count) : 0);
  const Coder coder{x, layout, parameters, codes, bytes.data(), halves.data()};
  code_all(coder, pool);
  measure(coder, count, result, pool);
  result.codes.element = static_cast<std::int32_t>(spec.element());
  result.codes.dims = tensor.dims;
  result.codes.data =
      codes.bits > 8 ? Bytes::own(std::move(halves)) : lower::pack(std::move(bytes), codes.bits);
  return result;
}

}  // namespace anybit::quantizing
