// QLinearReduceMean of ONNX Runtime: means of an 8- or 16-bit quantized tensor over axes, from exact sums
// with one requantization. Inputs: the tensor, its scale and zero point; scale and zero point of the result.
#include <cmath>

#include "formats/affine.hpp"
#include "ops/frame.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/reduce/reduction_walk.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const Value& x = call.in(0);
  const auto axes = call.integers("axes");
  if (!x.shape || !axes) return outputs_of(call, tensor(x.type, std::nullopt));
  const bool keep = call.integer("keepdims", 1) != 0;
  std::vector<std::size_t> gone;  // duplicate axes count once
  for (const std::int64_t axis : *axes) gone.push_back(TRY(axis_of(axis, x.shape->size())));
  return outputs_of(call, tensor(x.type, reduced_shape(*x.shape, gone, keep)));
}

struct Means {
  const AxisReduction& folding;
  Quantization from, to;
  float multiplier;
};

template <class T>
T mean_of(const Means& means, std::int64_t sum) {
  const std::int64_t zeros = means.folding.folded() * means.from.zero_point;
  return static_cast<T>(formats::requantize(sum, -zeros, means.multiplier, means.to.zero_point,
                                            std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Results whose reduced elements are contiguous runs.
template <class T>
void add_runs(const Means& means, const T* x, std::int64_t first, std::int64_t last, T* y) {
  for (std::int64_t i = first; i < last; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < means.folding.reduced.count(); ++r) {
      const T* run = x + means.folding.kept.offset(i) + means.folding.reduced.offset(r);
      for (std::int64_t k = 0; k < means.folding.run; ++k) sum += run[k];
    }
    y[i] = mean_of<T>(means, sum);
  }
}

// Adjacent results whose reduced elements are adjacent, too.
template <class T>
void add_columns(const Means& means, const T* x, std::int64_t n, T* y) {
  std::int64_t sums[kFoldedTogether] = {};
  for (std::int64_t r = 0; r < means.folding.reduced.count(); ++r) {
    const T* row = x + means.folding.reduced.offset(r);
    for (std::int64_t i = 0; i < n; ++i) sums[i] += row[i];
  }
  for (std::int64_t i = 0; i < n; ++i) y[i] = mean_of<T>(means, sums[i]);
}

template <class T>
void add_all(Frame& frame, const Means& means, const T* x, T* y) {
  reduce_in_parallel(
      frame, means.folding,
      [&](std::int64_t first, std::int64_t last) { add_runs(means, x, first, last, y); },
      [&](std::int64_t from, std::int64_t n, std::int64_t to) { add_columns(means, x + from, n, y + to); });
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_code(x.type())) return wrong_type(frame, 0);
  const auto axes = frame.ints("axes");
  if (!axes) return wrong("the attribute axes is missing", "the axes to take means over");
  const Reduced reduced = TRY(reduced_of(x.dims(), *axes, frame.integer("keepdims", 1) != 0));
  const auto from = TRY(quantization_at(frame, 1, 2, x.type()));
  const auto to = TRY(quantization_at(frame, 3, 4, x.type()));
  Means means{reduced.folding, from, to, 0};
  const double count = static_cast<double>(std::max<std::int64_t>(reduced.folding.folded(), 1));
  means.multiplier = static_cast<float>(static_cast<double>(means.from.scale) /
                                        (static_cast<double>(means.to.scale) * count));
  if (!std::isfinite(means.multiplier))
    return wrong(fmt::format("the scales are {} and {}", means.from.scale, means.to.scale),
                 "finite, above 0");
  Array* y = TRY(frame.out(0, x.type(), reduced.dims));
  if (y->count() == 0) return {};
  for_code(x.type(), [&]<class T>(T) { add_all(frame, means, x.data<T>(), y->mutable_data<T>()); });
  return {};
}

}  // namespace

std::span<const Descriptor> qlinear_reduce_mean_descriptors() {
  static const Descriptor all[] = {
      {.name = "QLinearReduceMean",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}},
       .run = run,
       .required = 4}};
  return all;
}

}  // namespace anybit::ops
