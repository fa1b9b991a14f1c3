// Quantizes weights to integers of an ONNX type, in the tensor's own order, with the scales of AffineCodec.
// TensorCodec has the same result, but takes six times as long with separate passes to choose, encode, decode
// and measure. Here a tensor is [outer, axis, inner], and contiguous runs of values that share a scale, or
// whose scales are contiguous, are quantized and measured in one pass.
#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

#include "base/error.hpp"
#include "base/try.hpp"
#include "kernels/codec/integer_weights.hpp"
#include "kernels/codec/packing.hpp"
#include "quantize/parameters.hpp"
#include "refine/range_search.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;
using graph::IntegerRange;
using lower::Parameters;

constexpr std::int64_t kChunk = 1 << 16;  // values per chunk of a thread

// The minimum and maximum of each group, including zero; and the magnitudes as bits, to check that all are
// finite.
struct GroupEnds {
  std::vector<float> low, high;
  std::uint32_t largest = 0;

  explicit GroupEnds(std::size_t groups) : low(groups), high(groups) {}
  void merge(const GroupEnds& other) {
    for (std::size_t i = 0; i < low.size(); ++i) {
      low[i] = std::min(low[i], other.low[i]);
      high[i] = std::max(high[i], other.high[i]);
    }
    largest = std::max(largest, other.largest);
  }
};

// Contiguous values with one scale (step 0) or contiguous scales (step 1).
struct Run {
  std::int64_t at, count;
  std::size_t scale, step;

  std::int64_t end() const { return at + count; }
};

// A tensor as [outer, axis, inner], and the layout of its scales.
struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;  // length: of the axis
  std::int64_t group = 1;                         // axis indices per scale
  std::int64_t groups = 1;                        // number of groups
  bool blocks = false;                            // every index of the other axes has its own scales

  lower::Places places = {};

  // The index of the scale of the value at `at`.
  std::size_t scale_of(std::int64_t at) const { return static_cast<std::size_t>(places.of(at)); }

  std::int64_t scales() const { return blocks ? outer * groups * inner : groups; }
  std::int64_t count() const { return outer * length * inner; }

  std::int64_t runs() const {
    if (groups == 1 && !blocks) return (count() + kChunk - 1) / kChunk;  // per tensor
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
  // Runs per chunk of a thread. No two threads share the scale of a block, or a byte of packed values.
  std::int64_t chunk() const {
    const std::int64_t each = std::max<std::int64_t>(1, count() / std::max<std::int64_t>(1, runs()));
    return up(std::max<std::int64_t>(1, kChunk / each), step());
  }

 private:
  static std::int64_t up(std::int64_t n, std::int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }
  // The number of runs after which whole blocks, and groups of eight values, are complete.
  std::int64_t step() const {
    constexpr std::int64_t kEight = 8;
    if (groups == 1 && !blocks) return 1;
    if (inner > 1) {
      const std::int64_t rows = blocks ? group : 1;
      if (length % rows == 0) return rows * (kEight / std::gcd(kEight, rows * inner));
      return length * (kEight / std::gcd(kEight, length * inner));
    }
    if (blocks && length % group == 0) return kEight / std::gcd(kEight, group);
    return (blocks ? groups : 1) * (kEight / std::gcd(kEight, length));
  }
};

Layout layout_of(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis) {
  Layout layout;
  if (spec.granularity() == Granularity::tensor || tensor.dims.empty()) {
    layout.inner = tensor.count();
    return layout;
  }
  for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? layout.outer : at == axis ? layout.length : layout.inner) *= tensor.dims[i];
  }
  layout.blocks = spec.granularity() == Granularity::block;
  layout.group = layout.blocks ? spec.block_size() : 1;
  layout.groups = (layout.length + layout.group - 1) / layout.group;
  layout.places = lower::Places(tensor.dims, axis, layout.blocks ? layout.group : 0);
  return layout;
}

// In any order, since minimum and maximum do not depend on it. Every block belongs to one thread; for other
// groups every thread has its own partial result.
GroupEnds group_ends(const float* x, const Layout& layout, ThreadPool& pool) {
  GroupEnds all(static_cast<std::size_t>(layout.scales()));
  std::mutex mutex;
  pool.run(layout.runs(), layout.chunk(), [&](std::int64_t begin, std::int64_t end) {
    GroupEnds mine(layout.blocks ? 0 : all.low.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const Run run = layout.run(i);
      GroupEnds& ends = layout.blocks ? all : mine;
      const std::uint32_t largest =
          kernels::widen(x + run.at, static_cast<std::size_t>(run.count), ends.low.data() + run.scale,
                         ends.high.data() + run.scale, run.step);
      mine.largest = std::max(mine.largest, largest);
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
                  largest == 0x7F800000U ? "a weight is infinite" : "a weight is NaN",
                  "leave the node in float (--exclude), or fix the model");
}

// One scale per group. A group of zeros gets the largest of the others' scales, so that its bias keeps
// precision.
Parameters parameters_of(const GroupEnds& ends, const Spec& spec, ThreadPool& pool) {
  const std::size_t groups = ends.low.size();
  Parameters all{.type = spec.element()};
  all.scales.resize(groups);
  all.zero_points.resize(groups);
  const auto codec = affine_codec(spec);
  pool.run(static_cast<std::int64_t>(groups), kChunk / 8, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto made = over(*codec, {ends.low[i], ends.high[i]});
      all.scales[i] = ends.low[i] == 0 && ends.high[i] == 0 ? 0 : made.scale;
      all.zero_points[i] = made.zero_point;
    }
  });
  float largest = 0;
  for (const float scale : all.scales) largest = std::max(largest, scale);
  for (float& scale : all.scales) {
    if (scale == 0) scale = largest > 0 ? largest : 1.0F;
  }
  return all;
}

Parameters given_parameters(const Spec& spec, std::size_t groups) {
  if (spec.given.range) {
    Parameters all = from_given(spec);
    all.scales.resize(groups, all.scales[0]);
    all.zero_points.resize(groups, all.zero_points[0]);
    return all;
  }
  Parameters all{.type = spec.element()};
  for (std::size_t i = 0; i < groups; ++i) {
    const std::vector<float>& scales = spec.given.scales;
    all.scales.push_back(scales[scales.size() == 1 ? 0 : i]);
    all.zero_points.push_back(given_zero_point(spec, i));
  }
  return all;
}

kernels::Loss& operator+=(kernels::Loss& sums, const kernels::Loss& more) {
  sums.signal += more.signal;
  sums.noise += more.noise;
  return sums;
}

// Uninitialized memory: the threads that write it touch it first.
template <class T>
std::shared_ptr<T[]> room_for(std::int64_t count) {
  return std::make_shared_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

class Coder {
 public:
  Coder(const float* x, const Parameters& parameters, const Layout& layout)
      : x_(x), parameters_(parameters), layout_(layout), integers_(graph::integer_range(parameters.type)) {
    if (integers_.bits < 8) range_.mask = (1 << integers_.bits) - 1;
    range_.low = integers_.low;
    range_.high = integers_.high;
  }

  Bytes code(ThreadPool& pool, kernels::Loss& loss) const {
    if (integers_.bits < 8) return packed(pool, loss);
    switch (parameters_.type) {
      case ElementType::int8:
        return plain<std::int8_t>(pool, loss);
      case ElementType::uint8:
        return plain<std::uint8_t>(pool, loss);
      case ElementType::int16:
        return plain<std::int16_t>(pool, loss);
      default:
        return plain<std::uint16_t>(pool, loss);
    }
  }

 private:
  template <class T>
  Bytes plain(ThreadPool& pool, kernels::Loss& loss) const {
    const auto room = room_for<T>(layout_.count());
    in_chunks(pool, loss, [&](std::int64_t begin, std::int64_t end) {
      return code_runs(begin, end, room.get() + layout_.run(begin).at);
    });
    return {room, std::as_bytes(std::span(room.get(), static_cast<std::size_t>(layout_.count())))};
  }

  // Packs the values of a chunk while they are in cache.
  Bytes packed(ThreadPool& pool, kernels::Loss& loss) const {
    const auto bytes = kernels::packed_size(static_cast<std::size_t>(layout_.count()), integers_.bits);
    const auto room = room_for<std::uint8_t>(static_cast<std::int64_t>(bytes));
    in_chunks(pool, loss, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = layout_.run(begin).at, behind = layout_.run(end - 1).end();
      const auto quantized = room_for<std::uint8_t>(behind - first);
      const kernels::Loss lost = code_runs(begin, end, quantized.get());
      kernels::pack(quantized.get(), static_cast<std::size_t>(behind - first), integers_.bits,
                    room.get() + first * integers_.bits / 8);
      return lost;
    });
    return {room, std::as_bytes(std::span(room.get(), bytes))};
  }

  template <class T>
  kernels::Loss code_runs(std::int64_t begin, std::int64_t end, T* out) const {
    kernels::Loss loss;
    const std::int64_t first = layout_.run(begin).at;
    for (std::int64_t i = begin; i < end; ++i) {
      const Run run = layout_.run(i);
      const kernels::Scales scales{parameters_.scales.data() + run.scale,
                                   parameters_.zero_points.data() + run.scale, run.step};
      loss += kernels::code(x_ + run.at, scales, range_, out + (run.at - first),
                            static_cast<std::size_t>(run.count));
    }
    return loss;
  }

  // Errors are summed in index order: the result is the same for any number of threads.
  template <class Code>
  void in_chunks(ThreadPool& pool, kernels::Loss& loss, const Code& code) const {
    const std::int64_t chunk = layout_.chunk();
    std::vector<kernels::Loss> parts(static_cast<std::size_t>((layout_.runs() + chunk - 1) / chunk));
    pool.run(layout_.runs(), chunk, [&](std::int64_t begin, std::int64_t end) {
      parts[static_cast<std::size_t>(begin / chunk)] = code(begin, end);
    });
    for (const kernels::Loss& part : parts) loss += part;
  }

  const float* x_;
  const Parameters& parameters_;
  const Layout& layout_;
  IntegerRange integers_;
  kernels::CodeRange range_;
};

// The real values of integers, and their neighbors.
class Grid {
 public:
  Grid(const Parameters& parameters, const Layout& layout, std::int64_t step)
      : parameters_(parameters),
        layout_(layout),
        integers_(graph::integer_range(parameters.type)),
        step_(step) {}

  float nearest(std::int64_t at, float x) const { return steps(layout_.scale_of(at)).nearest(x); }
  void nearest(std::int64_t at, std::int64_t step, std::span<const float> values,
               std::span<float> rounded) const {
    for (std::size_t i = 0; i < values.size(); ++i, at += step) rounded[i] = nearest(at, values[i]);
  }
  // Adds the squared errors of a run of values to the sums of their groups.
  void add_errors(const float* x, std::int64_t at, std::int64_t count, std::size_t scale, std::size_t step,
                  std::span<const float> importance, std::span<double> sums) const {
    Steps steps = this->steps(scale);
    double sum = 0;
    for (std::int64_t i = at; i < at + count; ++i) {
      if (step != 0) steps = this->steps(scale + static_cast<std::size_t>(i - at) * step);
      const auto error = static_cast<double>(x[i] - steps.nearest(x[i]));
      const double weight =
          importance.empty() ? 1 : static_cast<double>(importance[static_cast<std::size_t>(i)]);
      sum += weight * error * error;
      if (step == 0) continue;
      sums[scale + static_cast<std::size_t>(i - at) * step] += sum;
      sum = 0;
    }
    if (step == 0) sums[scale] += sum;
  }
  // The same, for weights `x` that may move by less than a step.
  void near(const float* x, std::int64_t at, std::int64_t step, std::span<const float> values,
            std::span<float> rounded) const {
    for (std::size_t i = 0; i < values.size(); ++i, at += step) {
      const Steps steps = this->steps(layout_.scale_of(at));
      const float one = steps.nearest(x[at]), other = steps.nearest(mirrored(x[at], one));
      rounded[i] = std::clamp(steps.nearest(values[i]), std::min(one, other), std::max(one, other));
    }
  }
  void operator()(std::int64_t at, std::span<const float> values, std::span<float> rounded,
                  std::span<float> other) const {
    const auto count = static_cast<std::int64_t>(values.size());
    const std::size_t first = layout_.scale_of(at);
    if (!layout_.blocks && layout_.scale_of(at + (count - 1) * step_) == first)
      return fill(values, rounded, other, [steps = steps(first)](std::size_t) { return steps; });
    fill(values, rounded, other,
         [&](std::size_t i) { return steps(layout_.scale_of(at + static_cast<std::int64_t>(i) * step_)); });
  }

 private:
  struct Steps {
    float scale, low, high;  // the bounds in units of the scale

    // Rounds half to even: the sum has no fractional bits left, and quantized values have at most 16 bits.
    float nearest(float x) const {
      constexpr float kInteger = 0x1.8p23F;
      const float units = std::min(std::max(x / scale, low), high);
      return ((units + kInteger) - kInteger) * scale;
    }
  };

  Steps steps(std::size_t i) const {
    const auto zero = static_cast<float>(parameters_.zero_points[i]);
    return {parameters_.scales[i], static_cast<float>(integers_.low) - zero,
            static_cast<float>(integers_.high) - zero};
  }

  template <class StepsOf>
  static void fill(std::span<const float> values, std::span<float> rounded, std::span<float> other,
                   const StepsOf& steps_of) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Steps steps = steps_of(i);
      rounded[i] = steps.nearest(values[i]);
      other[i] = steps.nearest(mirrored(values[i], rounded[i]));
    }
  }

  const Parameters& parameters_;
  const Layout& layout_;
  IntegerRange integers_;
  std::int64_t step_;
};

// The parameters with the least squared error of each group's values, weighted by `importance`, unless empty.
Parameters searched_parameters(const float* x, const GroupEnds& ends, const Spec& spec, const Layout& layout,
                               std::span<const float> importance, ThreadPool& pool) {
  const auto scaled = [&](double factor) {
    GroupEnds some = ends;
    for (float& one : some.low) one *= static_cast<float>(factor);
    for (float& one : some.high) one *= static_cast<float>(factor);
    ThreadPool alone(1);
    return parameters_of(some, spec, alone);
  };
  const auto errors = [&](std::size_t which, std::span<double> sums) {
    const Parameters parameters = scaled(range_factors()[which]);
    const Grid grid(parameters, layout, 1);
    for (std::int64_t i = 0; i < layout.runs(); ++i) {
      const Run run = layout.run(i);
      grid.add_errors(x, run.at, run.count, run.scale, run.step, importance, sums);
    }
  };
  const std::vector<std::size_t> best = best_factors(ends.low.size(), ErrorsAt(errors), pool);
  GroupEnds chosen = ends;
  for (std::size_t i = 0; i < best.size(); ++i) {
    chosen.low[i] *= static_cast<float>(range_factors()[best[i]]);
    chosen.high[i] *= static_cast<float>(range_factors()[best[i]]);
  }
  return parameters_of(chosen, spec, pool);
}

// The squares of larger or smaller weights overflow or underflow float32.
bool has_plain_squares(std::uint32_t largest) {
  const auto most = std::bit_cast<float>(largest);
  return most > 1e-15F && most < 1e15F;
}

kernels::Loss exact_loss(const float* x, const Grid& grid, std::int64_t count) {
  kernels::Loss loss;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(x[i]);
    const double lost = value - static_cast<double>(grid.nearest(i, x[i]));
    loss.signal += value * value;
    loss.noise += lost * lost;
  }
  return loss;
}

// All values of an output share a scale.
void raise_scales(const float* x, const ReductionOrder& order, const Layout& layout, Parameters& parameters,
                  ThreadPool& pool) {
  const std::vector<double> least = least_scales(x, order, pool);
  for (std::size_t i = 0; i < least.size(); ++i) {
    float& scale = parameters.scales[layout.scale_of(order.first(static_cast<std::int64_t>(i)))];
    scale = std::max(scale, static_cast<float>(least[i]));
  }
}

std::vector<std::int64_t> scale_dims(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                     const Layout& layout) {
  if (spec.granularity() == Granularity::tensor || tensor.dims.empty()) return {};
  if (spec.granularity() == Granularity::channel) return {layout.groups};
  std::vector<std::int64_t> dims = tensor.dims;
  dims[static_cast<std::size_t>(axis)] = layout.groups;
  return dims;
}

}  // namespace

Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool,
                                            const Rounder& rounding, std::int64_t outputs_axis,
                                            const ReductionOrder* bounded) {
  const Bytes held = tensor.data.aligned(alignof(float));
  const auto* x = reinterpret_cast<const float*>(held.data());
  const Layout layout = layout_of(tensor, spec, axis);
  const GroupEnds ends = group_ends(x, layout, pool);
  TRY(check_finite(ends.largest, tensor));
  QuantizedConstant result;
  result.parameters =
      spec.is_given() ? given_parameters(spec, ends.low.size()) : parameters_of(ends, spec, pool);
  Parameters& parameters = result.parameters;
  if (rounding.ranges && !spec.is_given())
    parameters = searched_parameters(x, ends, spec, layout,
                                     importance_of(rounding, outputs_of(tensor.dims, outputs_axis)), pool);
  if (bounded) raise_scales(x, *bounded, layout, parameters, pool);
  for (std::size_t i = 0; i < parameters.scales.size() && !least.empty() && !spec.is_given(); ++i) {
    const double floor = least.size() == 1 ? least[0] : i < least.size() ? least[i] : 0.0;
    if (static_cast<double>(parameters.scales[i]) >= floor) continue;
    parameters.scales[i] = static_cast<float>(floor);
    ++result.raised;
  }
  parameters.axis = axis;
  parameters.dims = scale_dims(tensor, spec, axis, layout);
  parameters.block_size = spec.granularity() == Granularity::block ? spec.block_size() : 0;
  kernels::Loss loss;
  const Outputs outputs = rounding ? outputs_of(tensor.dims, outputs_axis) : Outputs();
  if (outputs.count > 0) {
    const auto rounded = room_for<float>(layout.count());
    const Grid grid(parameters, layout, outputs.step);
    const Neighbours neighbours(grid);
    const auto any = [&](std::int64_t at, std::int64_t step, std::span<const float> values,
                         std::span<float> to) { grid.nearest(at, step, values, to); };
    const auto near = [&](std::int64_t at, std::int64_t step, std::span<const float> values,
                          std::span<float> to) { grid.near(x, at, step, values, to); };
    const NearestAt at = bounded ? NearestAt(near) : NearestAt(any);
    const Rounded done =
        rounding.round({x, outputs, neighbours, nullptr,
                        std::span(rounded.get(), static_cast<std::size_t>(layout.count())), pool, &at});
    result.quantized.data = Coder(rounded.get(), parameters, layout).code(pool, loss);
    loss = {done.signal, done.noise};
    result.moved = done.moved;
  } else {
    result.quantized.data = Coder(x, parameters, layout).code(pool, loss);
    if (!has_plain_squares(ends.largest)) loss = exact_loss(x, Grid(parameters, layout, 1), layout.count());
  }
  result.signal = loss.signal;
  result.noise = loss.noise;
  result.quantized.element = static_cast<std::int32_t>(spec.element());
  result.quantized.dims = tensor.dims;
  return result;
}

}  // namespace anybit::quantizing
