// SumTo(x, shape): sums over the axes along which `shape` would be broadcast to the shape of x, the adjoint
// of broadcasting. Sums are in double over fixed parts. Domain ai.anybit.training.
#include <algorithm>
#include <array>

#include "kernels/reduce/reduce.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/norm/stats.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kPart = 1 << 15;  // elements of one partial sum

Result<Values> infer_sum_to(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, shape_in(call, 1)));
}

// Axes in storage order, neighbours of the same kind together: kept and summed ones alternate.
struct Runs {
  std::array<std::int64_t, Dims::kCapacity + 2> sizes;
  std::array<bool, Dims::kCapacity + 2> summed;
  std::size_t count = 0;

  void add(std::int64_t size, bool sum) {
    if (size == 1) return;
    if (count > 0 && summed[count - 1] == sum) {
      sizes[count - 1] *= size;
      return;
    }
    sizes[count] = size;
    summed[count++] = sum;
  }
};

bool is_summed(const Dims& x, const Dims& to, std::size_t axis) {
  const std::size_t offset = x.size() - to.size();
  return axis < offset || (to[axis - offset] == 1 && x[axis] != 1);
}

// A blocked tensor is summed as it is stored if its channels are kept or summed as a whole and the result has
// only channels.
bool sums_as_stored(const Array& x, const Dims& to) {
  if (x.layout() == Layout::plain) return true;
  if (x.rank() < 2 || x.dim(1) % 8 != 0) return false;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis != 1 && x.dim(axis) != 1 && !is_summed(x.dims(), to, axis)) return false;
  }
  return true;
}

Runs runs_of(const Array& x, const Dims& to) {
  Runs runs;
  const bool plain = x.layout() == Layout::plain, last = x.layout() == Layout::channels_last;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const bool channels = !plain && axis == 1;
    if (channels && last) continue;
    runs.add(channels ? x.dim(1) / 8 : x.dim(axis), is_summed(x.dims(), to, axis));
  }
  if (!plain) runs.add(last ? x.dim(1) : 8, is_summed(x.dims(), to, 1));
  return runs;
}

// Sums of [rows][n] over each row.
template <class T>
void sum_rows(const Frame& frame, const T* x, std::int64_t rows, std::int64_t n, double* sums) {
  parallel(frame, rows, 1.0 + 0.2 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) sums[i] = row_sum(kernels::Summand::value, x + i * n, n);
  });
}

template <class T>
void sum_columns(const T* x, std::int64_t rows, std::int64_t columns, double* sums) {
  if constexpr (std::is_same_v<T, float>) {
    const auto width = static_cast<std::size_t>(columns);
    kernels::column_sums(kernels::Summand::value, x, static_cast<std::size_t>(rows), width, width, sums);
  } else {
    std::fill_n(sums, columns, 0.0);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < columns; ++i) sums[i] += static_cast<double>(x[row * columns + i]);
    }
  }
}

// Sums of [outer][n][inner] over n: in fixed parts, which are added in order.
template <class T>
Result<void> sum_middle(Frame& frame, const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner,
                        double* sums) {
  const std::int64_t rows = std::max<std::int64_t>(1, kPart / inner), parts = (n + rows - 1) / rows;
  if (parts == 1 && inner == 1) {
    sum_rows(frame, x, outer, n, sums);
    return {};
  }
  double* partial = parts == 1 ? sums : TRY(frame.scratch_of<double>(outer * parts * inner)).data();
  const double cost = 0.3 * static_cast<double>(std::min(rows, n) * inner);
  parallel(frame, outer * parts, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = i % parts * rows, count = std::min(rows, n - row);
      const T* from = x + (i / parts * n + row) * inner;
      double* to = partial + i * inner;
      if (inner == 1) {
        *to = row_sum(kernels::Summand::value, from, count);
      } else {
        sum_columns(from, count, inner, to);
      }
    }
  });
  if (parts == 1) return {};
  for (std::int64_t i = 0; i < outer; ++i)
    sum_columns(partial + i * parts * inner, parts, inner, sums + i * inner);
  return {};
}

// Sums over the last of the summed axes, and goes on with the rest.
template <class T>
Result<const double*> sum_runs(Frame& frame, const T* x, const Runs& runs) {
  std::size_t at = runs.count;
  while (at > 0 && !runs.summed[at - 1]) --at;
  if (at == 0) return nullptr;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i + 1 < at; ++i) outer *= runs.sizes[i];
  for (std::size_t i = at; i < runs.count; ++i) inner *= runs.sizes[i];
  const auto sums = TRY(frame.scratch_of<double>(outer * inner));
  TRY(sum_middle(frame, x, outer, runs.sizes[at - 1], inner, sums.data()));
  Runs left;
  for (std::size_t i = 0; i < runs.count; ++i) left.add(i + 1 == at ? 1 : runs.sizes[i], runs.summed[i]);
  const double* rest = TRY(sum_runs<double>(frame, sums.data(), left));
  return rest ? rest : static_cast<const double*>(sums.data());
}

Result<void> run_sum_to(Frame& frame) {
  TRY(expect_trained(frame, 0));
  const Dims to = TRY(sizes_from(frame, 1));
  const Dims dims = frame.in(0).dims();
  const auto broadcast = broadcast_dims(dims, to);
  if (to.size() > dims.size() || !broadcast.ok() || !(*broadcast == dims)) {
    return wrong(fmt::format("{} cannot be summed to {}", to_string(dims), to_string(to)),
                 "a shape that broadcasts to the input's");
  }
  if (!sums_as_stored(frame.in(0), to)) TRY(frame.make_plain(0));
  const Array& x = frame.in(0);
  const Runs runs = runs_of(x, to);
  const bool any =
      std::any_of(runs.summed.begin(), runs.summed.begin() + static_cast<std::ptrdiff_t>(runs.count),
                  [](bool sum) { return sum; });
  if (!any) {
    TRY(frame.make_plain(0));
    return frame.share(0, 0, to);
  }
  Array* out = TRY(frame.out(0, x.type(), to));
  if (out->count() == 0) return {};
  Result<void> done;
  for_trained(x.type(), [&]<class T>(T) {
    done = [&]() -> Result<void> {
      const auto elements = out->elements<T>();
      if (x.count() == 0) {
        std::ranges::fill(elements, T(0));
        return {};
      }
      const double* sums = TRY(sum_runs<T>(frame, x.data<T>(), runs));
      for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(sums[i]);
      return {};
    }();
  });
  return done;
}

}  // namespace

std::span<const Descriptor> sum_to_descriptors() {
  static const Descriptor all[] = {training_operator("SumTo", infer_sum_to, run_sum_to, 2, Layouts::each)};
  return all;
}

}  // namespace anybit::ops
