// SoftmaxGradient(dy, y) = y · (dy - Σ dy · y), LogSoftmaxGradient(dy, y) = dy - e^y · Σ dy, along `axis`.
#include "base/math.hpp"
#include "kernels/elementwise/unary.hpp"
#include "kernels/reduce/norm_gradient.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Rows along the last axis.
void softmax_row(const float* dy, const float* y, std::int64_t n, bool logs, float* dx) {
  kernels::GradientSums sums;
  kernels::add_gradient_sums(dy, y, 0.0f, n, sums);
  if (logs) {
    kernels::map(kernels::Map::exp, y, dx, static_cast<std::size_t>(n));
    const auto sum = static_cast<float>(sums.dy);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - dx[i] * sum;
  } else {
    const auto sum = static_cast<float>(sums.dy_x);
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - sum);
  }
}

template <class T>
void softmax_strided(const T* dy, const T* y, std::int64_t n, std::int64_t stride, bool logs, T* dx) {
  const auto wide = [](T value) { return static_cast<double>(static_cast<Computed<T>>(value)); };
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += wide(dy[i * stride]) * (logs ? 1 : wide(y[i * stride]));
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = wide(dy[i * stride]), value = wide(y[i * stride]);
    const double slope = logs ? g - math::exp(value) * sum : value * (g - sum);
    dx[i * stride] = static_cast<T>(static_cast<Computed<T>>(slope));
  }
}

template <bool kLogs>
Result<void> run(Frame& frame) {
  const Array &dy = frame.in(0), &y = frame.in(1);
  if (!(dy.dims() == y.dims()) || dy.type() != y.type()) {
    return wrong(fmt::format("the inputs are {} and {}", to_string(dy), to_string(y)),
                 "the same type and shape");
  }
  if (!is_float(y.type())) return wrong_type(frame, 1);
  if (y.rank() == 0) return wrong("the input has no axes", "a tensor of at least one axis");
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), y.rank()));
  const std::int64_t n = y.dim(axis), inner = y.dims().product(axis + 1, y.rank());
  const std::int64_t outer = y.dims().product(0, axis);
  Array* dx = TRY(frame.out(0, y.type(), y.dims()));
  for_real(y.type(), [&]<class T>(T) {
    parallel(frame, outer * inner, 5.0 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / inner * n * inner + i % inner;
        if constexpr (std::is_same_v<T, float>) {
          if (inner == 1) {
            softmax_row(dy.data<float>() + at, y.data<float>() + at, n, kLogs,
                        dx->mutable_data<float>() + at);
            continue;
          }
        }
        softmax_strided(dy.data<T>() + at, y.data<T>() + at, n, inner, kLogs, dx->mutable_data<T>() + at);
      }
    });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> softmax_gradient_descriptors() {
  static const Descriptor all[] = {{.name = "SoftmaxGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_same,
                                    .run = run<false>,
                                    .required = 2},
                                   {.name = "LogSoftmaxGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_same,
                                    .run = run<true>,
                                    .required = 2}};
  return all;
}

}  // namespace anybit::ops
