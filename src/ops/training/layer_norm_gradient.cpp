// LayerNormalizationGradient(dy, x, scale) = dx, dscale, dbias. The scale has the shape of the normalized
// axes.
#include <cmath>

#include "kernels/reduce/gradient_rows.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kColumns = 64;

Result<Values> infer(const Call& call) {
  Values values(call.output_count(), tensor(call.in(0).type, call.in(2).shape));
  if (!values.empty()) values[0].shape = call.in(1).shape;
  return values;
}

struct RowStats {
  double mean = 0, inverse = 0;  // 1 / deviation
};

template <class T>
RowStats stats_of_row(const T* x, std::int64_t n, double epsilon) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double away = static_cast<double>(x[i]) - mean;
    squares += away * away;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + epsilon)};
}

kernels::PairSums sums_of_row(const float* dy, const float* x, double mean, std::int64_t n) {
  return kernels::pair_sums(dy, x, static_cast<float>(mean), static_cast<std::size_t>(n));
}
kernels::PairSums sums_of_row(const double* dy, const double* x, double mean, std::int64_t n) {
  kernels::PairSums sums;
  for (std::int64_t i = 0; i < n; ++i) {
    sums.plain += dy[i];
    sums.weighted += dy[i] * (x[i] - mean);
  }
  return sums;
}

// dx = a · dx + b · (x - mean) + c
void mix_row(const float* x, std::int64_t n, double mean, double a, double b, double c, float* dx) {
  kernels::mix_rows(dx, x, static_cast<std::size_t>(n), static_cast<float>(a), static_cast<float>(b),
                    static_cast<float>(c - b * mean), dx);
}
void mix_row(const double* x, std::int64_t n, double mean, double a, double b, double c, double* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = a * dx[i] + b * (x[i] - mean) + c;
}

// With g = dy · scale: dx = (g - mean(g) - x̂ · mean(g · x̂)) / deviation.
template <class T>
void step_row(const T* dy, const T* x, const T* scale, std::int64_t n, const RowStats& stats, T* dx) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * scale[i];
  const kernels::PairSums sums = sums_of_row(dx, x, stats.mean, n);
  const double inverse = stats.inverse, count = static_cast<double>(n);
  const double of_x = -inverse * inverse * inverse * sums.weighted / count;
  mix_row(x, n, stats.mean, inverse, of_x, -inverse * sums.plain / count, dx);
}

template <class T>
void sum_columns(const Frame& frame, const T* dy, const T* x, const RowStats* stats, std::int64_t rows,
                 std::int64_t n, T* dscale, T* dbias) {
  const std::int64_t blocks = (n + kColumns - 1) / kColumns;
  parallel(frame, blocks, static_cast<double>(rows * kColumns), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t begin = block * kColumns, width = std::min(kColumns, n - begin);
      double scale[kColumns] = {}, bias[kColumns] = {};
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t k = 0; k < width; ++k) {
          const std::int64_t at = r * n + begin + k;
          const auto g = static_cast<double>(dy[at]);
          bias[k] += g;
          scale[k] += g * (static_cast<double>(x[at]) - stats[r].mean) * stats[r].inverse;
        }
      }
      for (std::int64_t k = 0; k < width; ++k) {
        if (dscale) dscale[begin + k] = static_cast<T>(scale[k]);
        if (dbias) dbias[begin + k] = static_cast<T>(bias[k]);
      }
    }
  });
}

template <class T>
Result<void> run_as(Frame& frame, std::int64_t rows, std::int64_t n) {
  const Array &dy = frame.in(0), &x = frame.in(1), &scale = frame.in(2);
  Array* out[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    if (frame.wants(i)) out[i] = TRY(frame.out(i, x.type(), i == 0 ? x.dims() : scale.dims()));
  }
  const double epsilon = static_cast<double>(static_cast<float>(frame.real("epsilon", 1e-5)));
  const auto stats = TRY(frame.scratch_of<RowStats>(rows));
  parallel(frame, rows, 5 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const T* row = x.data<T>() + r * n;
      const RowStats& at = stats[static_cast<std::size_t>(r)] = stats_of_row(row, n, epsilon);
      if (out[0])
        step_row(dy.data<T>() + r * n, row, scale.data<T>(), n, at, out[0]->mutable_data<T>() + r * n);
    }
  });
  if (out[1] || out[2]) {
    sum_columns(frame, dy.data<T>(), x.data<T>(), stats.data(), rows, n,
                out[1] ? out[1]->mutable_data<T>() : nullptr, out[2] ? out[2]->mutable_data<T>() : nullptr);
  }
  return {};
}

Result<void> run(Frame& frame) {
  const Array &dy = frame.in(0), &x = frame.in(1), &scale = frame.in(2);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), x.rank()));
  const std::int64_t n = x.dims().product(axis, x.rank()), rows = x.dims().product(0, axis);
  if (!(dy.dims() == x.dims()) || dy.type() != x.type() || scale.type() != x.type() || scale.count() != n) {
    return wrong(fmt::format("the inputs are {}, {} and {}", to_string(dy), to_string(x), to_string(scale)),
                 "the same type, and the shapes of x, of x and of the normalized axes");
  }
  if (x.type() == ElementType::float32) return run_as<float>(frame, rows, n);
  if (x.type() == ElementType::float64) return run_as<double>(frame, rows, n);
  return wrong_type(frame, 1);
}

}  // namespace

std::span<const Descriptor> layer_norm_gradient_descriptors() {
  static const Descriptor all[] = {{.name = "LayerNormalizationGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 3}};
  return all;
}

}  // namespace anybit::ops
