// ResizeGradient(dy, x_shape, roi, scales, sizes): the adjoint of Resize with the same attributes, axis by
// axis. Domain ai.anybit.training.
#include <algorithm>

#include "ops/training/training.hpp"
#include "ops/vision/resize_plan.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kWidth = 512;  // of the lines that one task adds to

// The inputs that output j reads on one axis, and their weights; none where Resize extrapolates.
template <class T>
struct Reads {
  std::int64_t in, out, taps;
  std::span<const std::int64_t> first;
  std::span<const T> weights;  // [out][taps]
};

template <class T>
Result<Reads<T>> reads_of(Frame& frame, const ResizeRule& rule, const ResizeAxis& axis) {
  Reads<T> reads{axis.in, axis.out, 1, {}, {}};
  std::span<T> weights;
  if (rule.mode == ResizeRule::Mode::nearest) {
    reads.first = TRY(nearest_places(frame, rule, axis));
    weights = TRY(frame.scratch_of<T>(axis.out));
    std::ranges::fill(weights, T(1));
  } else {
    const kernels::Taps<T> taps = TRY(resize_taps<T>(frame, rule, axis));
    reads.taps = taps.taps;
    reads.first = taps.first;
    weights = TRY(frame.scratch_of<T>(axis.out * taps.taps));
    std::copy_n(taps.weights.data(), weights.size(), weights.data());
  }
  for (std::int64_t j = 0; j < axis.out; ++j) {
    if (axis.outside(rule, j)) std::fill_n(weights.data() + j * reads.taps, reads.taps, T(0));
  }
  reads.weights = weights;
  return reads;
}

// One line whose elements are adjacent.
template <class T>
void give_back_line(const Reads<T>& reads, const T* from, T* to) {
  std::fill_n(to, reads.in, T(0));
  const T* weight = reads.weights.data();
  for (std::int64_t j = 0; j < reads.out; ++j) {
    T* sum = to + reads.first[static_cast<std::size_t>(j)];
    for (std::int64_t t = 0; t < reads.taps; ++t) sum[t] += *weight++ * from[j];
  }
}

// to[in][inner] += weights · from[out][inner], for each of `outer` slices; a task has some columns of one
// slice.
template <class T>
void give_back(const Frame& frame, const Reads<T>& reads, std::int64_t outer, std::int64_t inner,
               const T* from, T* to) {
  if (inner == 1) {
    parallel(frame, outer, static_cast<double>(reads.taps * reads.out),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 give_back_line(reads, from + i * reads.out, to + i * reads.in);
             });
    return;
  }
  const std::int64_t parts = (inner + kWidth - 1) / kWidth;
  const double cost = static_cast<double>(std::min(inner, kWidth) * reads.taps * reads.out);
  parallel(frame, outer * parts, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t column = part % parts * kWidth, width = std::min(kWidth, inner - column);
      const T* source = from + part / parts * reads.out * inner + column;
      T* target = to + part / parts * reads.in * inner + column;
      for (std::int64_t i = 0; i < reads.in; ++i) std::fill_n(target + i * inner, width, T(0));
      for (std::int64_t j = 0; j < reads.out; ++j) {
        for (std::int64_t t = 0; t < reads.taps; ++t) {
          const T weight = reads.weights[static_cast<std::size_t>(j * reads.taps + t)];
          if (weight == 0) continue;
          T* sum = target + (reads.first[static_cast<std::size_t>(j)] + t) * inner;
          for (std::int64_t k = 0; k < width; ++k) sum[k] += weight * source[j * inner + k];
        }
      }
    }
  });
}

template <class T>
Result<void> give_back_all(Frame& frame, const ResizePlan& plan, const T* from, Array& out) {
  const std::size_t rank = plan.to.size();
  Dims dims = plan.to;
  std::size_t left = 0;  // remaining axes
  for (std::size_t i = 0; i < rank; ++i) left += plan.axes[i].still(plan.rule) ? 0 : 1;
  // The innermost axis first: it is the one whose lines are short.
  for (std::size_t i = rank; i-- > 0;) {
    const ResizeAxis& axis = plan.axes[i];
    if (axis.still(plan.rule)) continue;
    const Reads<T> reads = TRY(reads_of<T>(frame, plan.rule, axis));
    const std::int64_t outer = dims.product(0, i), inner = dims.product(i + 1, rank);
    dims[i] = axis.in;
    T* to = --left == 0 ? out.mutable_data<T>() : TRY(frame.scratch_of<T>(dims.count())).data();
    give_back(frame, reads, outer, inner, from, to);
    from = to;
  }
  return {};
}

Result<void> run_resize_gradient(Frame& frame) {
  TRY(expect_trained(frame, 0));
  const Dims dims = TRY(sizes_from(frame, 1));
  const ResizePlan plan = TRY(resize_plan_of_gradient(frame, dims));
  if (plan.still()) return frame.share(0, 0, dims);
  const Array& dy = frame.in(0);
  if (dy.count() > 0 && dims.count() == 0) return wrong("an empty input has no gradient");
  Array* out = TRY(frame.out(0, dy.type(), dims, plan.layout));
  if (out->count() == 0) return {};
  if (dy.count() == 0) {
    for_trained(dy.type(), [&]<class T>(T) { std::ranges::fill(out->elements<T>(), T(0)); });
    return {};
  }
  Result<void> done;
  for_trained(dy.type(), [&]<class T>(T) { done = give_back_all<T>(frame, plan, dy.data<T>(), *out); });
  return done;
}

Result<Values> infer_resize_gradient(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, shape_in(call, 1)));
}

}  // namespace

std::span<const Descriptor> resize_gradient_descriptors() {
  static const Descriptor all[] = {
      training_operator("ResizeGradient", infer_resize_gradient, run_resize_gradient, 2, Layouts::each)};
  return all;
}

}  // namespace anybit::ops
