// MeanVarianceNormalization (ONNX: -9, -13): mean 0 and variance 1 over some axes. LpNormalization (ONNX: -1,
// -22): length 1 along one axis.
#include <algorithm>
#include <array>

#include "ops/norm/stats.hpp"
#include "ops/reals.hpp"
#include "ops/reduce/reduction_walk.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Calls body(offset) for each contiguous run of the elements that are normalized together.
template <class Body>
void each_run(const AxisReduction& folding, const Body& body) {
  for (std::int64_t r = 0; r < folding.reduced.count(); ++r) body(folding.reduced.offset(r));
}

template <class C>
void normalize(const AxisReduction& folding, const C* x, C* y) {
  const auto count = static_cast<double>(folding.folded());
  double mean = 0, variance = 0;
  each_run(folding, [&](std::int64_t at) { mean += row_sum(kernels::Summand::value, x + at, folding.run); });
  mean /= count;
  each_run(folding, [&](std::int64_t at) { variance += row_deviation(x + at, folding.run, mean); });
  // ONNX defines the operator as a function that adds epsilon to the standard deviation, not to the variance.
  const double inverse = 1 / (std::sqrt(variance / count) + 1e-9);
  each_run(folding,
           [&](std::int64_t at) { scale_row(x + at, folding.run, inverse, -mean * inverse, y + at); });
}

template <class C>
Result<void> run_mean_variance_in(Frame& frame) {
  const Array& x = frame.in(0);
  static constexpr std::int64_t kDefault[] = {0, 2, 3};
  std::array<bool, Dims::kCapacity> gone{};
  for (const std::int64_t axis : frame.ints("axes").value_or(kDefault))
    gone[TRY(axis_of(axis, x.rank()))] = true;
  const auto from = TRY(reals_in<C>(frame, x));
  auto to = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, x.type(), x.dims()))));
  if (x.count() == 0) return {};
  const AxisReduction folding = axis_reduction_of(x.dims(), std::span(gone).first(x.rank()));
  const std::int64_t kept = folding.kept.count() * folding.columns;
  parallel(frame, kept, 2 * static_cast<double>(folding.folded()),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t i = first; i < last; ++i) {
               const std::int64_t at = folding.kept.offset(i / folding.columns) + i % folding.columns;
               normalize(folding, from.data() + at, to.data() + at);
             }
           });
  to.finish();
  return {};
}

Result<void> run_mean_variance(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_mean_variance_in<double>(frame)
                                          : run_mean_variance_in<float>(frame);
}

// Vectors of length 0 stay 0.
template <class T>
void shrink(const T* x, std::int64_t n, std::int64_t stride, bool squares, T* y) {
  const auto at = [&](std::int64_t i) {
    return static_cast<double>(static_cast<Computed<T>>(x[i * stride]));
  };
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += squares ? at(i) * at(i) : std::abs(at(i));
  const double length = squares ? std::sqrt(sum) : sum;
  for (std::int64_t i = 0; i < n; ++i) {
    y[i * stride] = T(static_cast<Computed<T>>(length == 0 ? 0.0 : at(i) / length));
  }
}

Result<void> run_lp(Frame& frame) {
  const Array& x = frame.in(0);
  const std::int64_t p = frame.integer("p", 2);
  if (p != 1 && p != 2) return wrong(fmt::format("p is {}", p), "1 or 2");
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), x.rank()));
  const std::int64_t n = x.dim(axis), inner = x.dims().product(axis + 1, x.rank());
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* y = TRY(frame.out_over(0, 0, x.type(), x.dims()));
  if (x.count() == 0) return {};
  for_real(x.type(), [&]<class T>(T) {
    T* to = y->mutable_data<T>();
    parallel(frame, x.count() / n, 2 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / inner * n * inner + i % inner;
        shrink(x.data<T>() + at, n, inner, p == 2, to + at);
      }
    });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> mean_variance_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "LpNormalization",
       .domain = "",
       .since = {1, 22},
       .infer = infer_same,
       .run = run_lp,
       .traits = computes_sensitive()},
      {.name = "MeanVarianceNormalization",
       .domain = "",
       .since = {9, 13},
       .infer = infer_same,
       .run = run_mean_variance,
       .traits = computes_sensitive()},
  };
  return all;
}

}  // namespace anybit::ops
