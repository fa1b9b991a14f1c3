// Weights to codes. A tensor is seen as [outer, axis, inner]; runs of values that lie side by side and share
// a scale, or whose scales lie side by side, are coded at once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

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

// The smallest and largest of each group, and zero; magnitudes as bits tell whether all are finite.
struct Ends {
  std::vector<float> low, high;
  std::uint32_t largest = 0;

  explicit Ends(std::size_t groups) : low(groups), high(groups) {}
  void merge(const Ends& other) {
    for (std::size_t i = 0; i < low.size(); ++i) {
      low[i] = std::min(low[i], other.low[i]);
      high[i] = std::max(high[i], other.high[i]);
    }
    largest = std::max(largest, other.largest);
  }
};

// Values side by side, with one scale for all (step 0) or scales side by side, too (step 1).
struct Run {
  std::int64_t at, count;
  std::size_t scale, step;
};

// A tensor as [outer, axis, inner], and how its values share scales.
struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;  // length: of the axis
  std::int64_t group = 1;                         // indices of the axis that share a scale
  std::int64_t groups = 1;                        // of them
  bool blocks = false;                            // every index of the other axes has scales of its own

  std::int64_t scales() const { return blocks ? outer * groups * inner : groups; }
  std::int64_t count() const { return outer * length * inner; }

  std::int64_t runs() const {
    if (groups == 1 && !blocks) return (count() + kChunk - 1) / kChunk;  // one scale for all
    if (inner > 1) return outer * length;
    return blocks ? outer * groups : outer;
  }
  Run run(std::int64_t i) const {
    if (groups == 1 && !blocks) return {i * kChunk, std::min(kChunk, count() - i * kChunk), 0, 0};
    if (inner > 1) {
      const std::int64_t block = i % length / group;
      const std::int64_t scale = blocks ? (i / length * groups + block) * inner : block;
      return {i * inner, inner, static_cast<std::size_t>(scale), blocks ? 1U : 0U};
    }
    if (!blocks) return {i * length, length, 0, 1};
    const std::int64_t first = i % groups * group;
    return {i / groups * length + first, std::min(group, length - first), static_cast<std::size_t>(i), 0};
  }
  // Runs that a thread takes at a time. No two threads share the scale of a block.
  std::int64_t chunk() const {
    const std::int64_t each = std::max<std::int64_t>(1, count() / std::max<std::int64_t>(1, runs()));
    const std::int64_t some = std::max<std::int64_t>(1, kChunk / each);
    return blocks && inner > 1 ? length * std::max<std::int64_t>(1, some / length) : some;
  }
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
  layout.blocks = spec.granularity == Granularity::block;
  layout.group = layout.blocks ? spec.block_size : 1;
  layout.groups = (layout.length + layout.group - 1) / layout.group;
  return layout;
}

std::uint32_t largest_of(const float* x, std::size_t n) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU);
  return largest;
}

void look_at(const float* x, const Run& run, Ends& ends) {
  const auto n = static_cast<std::size_t>(run.count);
  float *low = ends.low.data() + run.scale, *high = ends.high.data() + run.scale;
  if (run.step == 0) {
    const kernels::Ends found = kernels::ends(x, n);
    *low = std::min(*low, found.low);
    *high = std::max(*high, found.high);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    low[i] = x[i] < low[i] ? x[i] : low[i];
    high[i] = x[i] > high[i] ? x[i] : high[i];
  }
}

// In any order: the smallest and largest do not depend on it. Blocks belong to one thread each; of others
// every thread has ends of its own.
Ends ends_of(const float* x, const Layout& layout, ThreadPool& pool) {
  Ends all(static_cast<std::size_t>(layout.scales()));
  std::mutex mutex;
  pool.run(layout.runs(), layout.chunk(), [&](std::int64_t begin, std::int64_t end) {
    Ends mine(layout.blocks ? 0 : all.low.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const Run run = layout.run(i);
      mine.largest = std::max(mine.largest, largest_of(x + run.at, static_cast<std::size_t>(run.count)));
      look_at(x + run.at, run, layout.blocks ? all : mine);
    }
    const std::lock_guard lock(mutex);
    if (!layout.blocks) all.merge(mine);
    all.largest = std::max(all.largest, mine.largest);
  });
  return all;
}

Result<void> check_finite(std::uint32_t largest, const graph::Tensor& tensor) {
  if (largest < 0x7F800000U) return {};
  return error_at(Code::invalid_data, fmt::format("initializer '{}'", shown(tensor.name.str())),
                  largest == 0x7F800000U ? "an infinite weight" : "a weight that is not a number",
                  "leave the node in float (--exclude), or mend the model");
}

// One scale for each group; a group of zeros takes the largest of the others, so that its bias keeps
// precision.
Parameters parameters_of(const Ends& ends, const Spec& spec) {
  Parameters all{.type = spec.element()};
  const Codes codes = lower::codes_of(spec.element());
  const std::int32_t middle = codes.low < 0 ? 0 : 1 << (codes.bits - 1);
  const double top = spec.narrow || codes.low == 0 ? codes.high - middle : -static_cast<double>(codes.low);
  float largest = 0;
  for (std::size_t i = 0; i < ends.low.size(); ++i) {
    const float low = ends.low[i], high = ends.high[i];
    if (low == 0 && high == 0) {
      all.scales.push_back(0);
      all.zero_points.push_back(spec.symmetric ? middle : codes.low);
      continue;
    }
    Parameters made = from_range({low, high}, spec);
    if (spec.symmetric) {
      const double scale = static_cast<double>(std::max(-low, high)) / top;
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

struct Sums {
  double signal = 0, noise = 0;
};

template <class T>
Sums sums_of(const float* x, const T* codes, const float* scales, const std::int32_t* zeros, std::size_t step,
             std::size_t n) {
  constexpr std::size_t kLanes = 8;  // sums of their own, so that one does not wait for the other
  float signal[kLanes] = {}, noise[kLanes] = {};
  std::size_t i = 0;
  const auto add = [&](std::size_t at, std::size_t lane) {
    const float value =
        static_cast<float>(static_cast<std::int32_t>(codes[at]) - zeros[at * step]) * scales[at * step];
    const float lost = x[at] - value;
    signal[lane] += x[at] * x[at];
    noise[lane] += lost * lost;
  };
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < n; ++i) add(i, 0);
  Sums sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.signal += static_cast<double>(signal[lane]);
    sums.noise += static_cast<double>(noise[lane]);
  }
  return sums;
}

struct Coder {
  const float* x;
  const Parameters& parameters;
  Codes codes;
  std::uint8_t* bytes;   // 8 bits and less: a byte for each code
  std::int16_t* halves;  // 16 bits

  Sums code(const Run& run) const {
    const float* scales = parameters.scales.data() + run.scale;
    const std::int32_t* zeros = parameters.zero_points.data() + run.scale;
    const float* from = x + run.at;
    const auto n = static_cast<std::size_t>(run.count);
    auto* octets = reinterpret_cast<std::int8_t*>(bytes) + run.at;
    auto* unsigned_halves = reinterpret_cast<std::uint16_t*>(halves) + run.at;
    switch (parameters.type) {
      case ElementType::int8:
        kernels::quantize(from, {scales, zeros, run.step}, octets, n);
        break;
      case ElementType::uint8:
        kernels::quantize(from, {scales, zeros, run.step}, bytes + run.at, n);
        break;
      case ElementType::int16:
        code_run(from, scales, zeros, run.step, n, codes, halves + run.at);
        break;
      case ElementType::uint16:
        code_run(from, scales, zeros, run.step, n, codes, unsigned_halves);
        break;
      default:
        code_run(from, scales, zeros, run.step, n, codes, octets);
        break;
    }
    if (codes.bits > 8 && codes.low < 0) return sums_of(from, halves + run.at, scales, zeros, run.step, n);
    if (codes.bits > 8) return sums_of(from, unsigned_halves, scales, zeros, run.step, n);
    if (codes.low < 0) return sums_of(from, octets, scales, zeros, run.step, n);
    return sums_of(from, bytes + run.at, scales, zeros, run.step, n);
  }
};

// The sums are added in chunks of index order: the same for any number of threads.
Sums code_all(const Coder& coder, const Layout& layout, ThreadPool& pool) {
  const std::int64_t chunk = layout.chunk();
  std::vector<Sums> parts(static_cast<std::size_t>((layout.runs() + chunk - 1) / chunk));
  pool.run(layout.runs(), chunk, [&](std::int64_t begin, std::int64_t end) {
    Sums& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (std::int64_t i = begin; i < end; ++i) {
      const Sums sums = coder.code(layout.run(i));
      part.signal += sums.signal;
      part.noise += sums.noise;
    }
  });
  Sums all;
  for (const Sums& part : parts) {
    all.signal += part.signal;
    all.noise += part.noise;
  }
  return all;
}

std::vector<std::int64_t> scale_dims(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                     const Layout& layout) {
  if (spec.granularity == Granularity::tensor || tensor.dims.empty()) return {};
  if (spec.granularity == Granularity::channel) return {layout.groups};
  std::vector<std::int64_t> dims = tensor.dims;
  dims[static_cast<std::size_t>(axis)] = layout.groups;
  return dims;
}

}  // namespace

Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool) {
  const Bytes held = tensor.data.aligned(alignof(float));
  const auto* x = reinterpret_cast<const float*>(held.data());
  const std::int64_t count = tensor.count();
  const Layout layout = layout_of(tensor, spec, axis);
  const Ends ends = ends_of(x, layout, pool);
  TRY(check_finite(ends.largest, tensor));
  QuantizedConstant result;
  result.parameters = parameters_of(ends, spec);
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
  const Sums sums = code_all({x, parameters, codes, bytes.data(), halves.data()}, layout, pool);
  result.signal = sums.signal;
  result.noise = sums.noise;
  result.codes.element = static_cast<std::int32_t>(spec.element());
  result.codes.dims = tensor.dims;
  result.codes.data =
      codes.bits > 8 ? Bytes::own(std::move(halves)) : lower::pack(std::move(bytes), codes.bits);
  return result;
}

}  // namespace anybit::quantizing
