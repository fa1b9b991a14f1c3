// SoftmaxGradient and LogSoftmaxGradient(dy, y; axis): the gradient of the input from that of the output and
// the output itself, along one axis as in Softmax-13. Domain ai.anybit.training.
#include "base/math.hpp"
#include "kernels/reduce/gradient_rows.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

// One line of n elements, `stride` apart.
template <class T>
void gradient_of_line(const T* dy, const T* y, std::int64_t n, std::int64_t stride, bool logarithm, T* dx) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto gradient = static_cast<double>(dy[i * stride]);
    sum += logarithm ? gradient : gradient * static_cast<double>(y[i * stride]);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto gradient = static_cast<double>(dy[i * stride]), value = static_cast<double>(y[i * stride]);
    dx[i * stride] = static_cast<T>(logarithm ? gradient - math::exp(value) * sum : value * (gradient - sum));
  }
}

Result<void> softmax_gradient_of(Frame& frame, bool logarithm) {
  TRY(expect_trained(frame, 0));
  TRY(expect_like(frame, 1, 0));
  const Array &dy = frame.in(0), &y = frame.in(1);
  const Dims& dims = dy.dims();
  const std::size_t axis = dims.empty() ? 0 : TRY(axis_of(frame.integer("axis", -1), dims.size()));
  Array* dx = TRY(frame.out_over(0, 0, dy.type(), dims));
  if (dx->count() == 0) return {};
  const std::int64_t n = dims.empty() ? 1 : dims[axis];
  const std::int64_t inner = dims.empty() ? 1 : dims.product(axis + 1, dims.size());
  const double cost = static_cast<double>(n) * (inner == 1 ? 1.0 : 6.0);
  for_trained(dy.type(), [&]<class T>(T) {
    const T *from = dy.data<T>(), *values = y.data<T>();
    T* to = dx->mutable_data<T>();
    parallel(frame, dy.count() / n, cost, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / inner * n * inner + i % inner;
        if constexpr (std::is_same_v<T, float>) {
          if (inner == 1) {
            kernels::softmax_gradient(from + at, values + at, static_cast<std::size_t>(n), logarithm,
                                      to + at);
            continue;
          }
        }
        gradient_of_line(from + at, values + at, n, inner, logarithm, to + at);
      }
    });
  });
  return {};
}

Result<void> run_softmax_gradient(Frame& frame) { return softmax_gradient_of(frame, false); }
Result<void> run_log_softmax_gradient(Frame& frame) { return softmax_gradient_of(frame, true); }

}  // namespace

std::span<const Descriptor> softmax_gradient_descriptors() {
  static const Descriptor all[] = {
      training_operator("SoftmaxGradient", infer_same, run_softmax_gradient, 2),
      training_operator("LogSoftmaxGradient", infer_same, run_log_softmax_gradient, 2),
  };
  return all;
}

}  // namespace anybit::ops
