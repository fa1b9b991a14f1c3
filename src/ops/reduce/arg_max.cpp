// ArgMax and ArgMin: the index of the largest or smallest element along an axis. ONNX: -1 … -13
// (select_last_index since 12).
#include "base/nan.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return outputs_of(call, tensor(ElementType::int64, std::nullopt));
  // A scalar has one element, at index 0.
  const std::size_t axis = TRY(axis_of(call.integer("axis", 0), std::max<std::size_t>(shape->size(), 1)));
  Shape reduced = *shape;
  if (!shape->empty() && call.integer("keepdims", 1) != 0)
    reduced[axis] = 1;
  else if (!shape->empty())
    reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(axis));
  return outputs_of(call, tensor(ElementType::int64, std::move(reduced)));
}

// The first NaN wins over every number, as in numpy.
template <bool Largest, class T>
bool beats(T x, T best, bool ties_win) {
  if constexpr (std::is_floating_point_v<T>) {
    if (is_nan(best)) return false;
    if (is_nan(x)) return true;
  }
  return (Largest ? x > best : x < best) || (ties_win && x == best);
}

template <bool Largest, class T>
std::int64_t find(const T* x, std::int64_t n, std::int64_t stride, bool last) {
  std::int64_t found = 0;
  auto best = static_cast<Computed<T>>(x[0]);
  for (std::int64_t i = 1; i < n; ++i) {
    const auto v = static_cast<Computed<T>>(x[i * stride]);
    if (!beats<Largest>(v, best, last)) continue;
    best = v;
    found = i;
  }
  return found;
}

template <bool Largest>
Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Dims in = x.rank() == 0 ? Dims{1} : x.dims();
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), in.size()));
  const std::int64_t n = in[axis], inner = in.product(axis + 1, in.size());
  Dims dims = x.dims();
  if (x.rank() > 0 && frame.integer("keepdims", 1) != 0)
    dims[axis] = 1;
  else if (x.rank() > 0)
    dims.erase(axis);
  if (n == 0 && dims.count() > 0) return wrong(fmt::format("axis {} of {} is empty", axis, to_string(in)));
  if (!for_number(x.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* y = TRY(frame.out(0, ElementType::int64, dims));
  const bool last = frame.flag("select_last_index");
  for_number(x.type(), [&]<class T>(T) {
    auto* to = y->mutable_data<std::int64_t>();
    parallel(frame, y->count(), static_cast<double>(n), [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i) {
        to[i] = find<Largest>(x.data<T>() + i / inner * n * inner + i % inner, n, inner, last);
      }
    });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> arg_max_descriptors() {
  static const Descriptor all[] = {
      {.name = "ArgMax",
       .domain = "",
       .since = {1, 11, 12, 13},
       .infer = infer,
       .run = run<true>,
       .traits = computes()},
      {.name = "ArgMin",
       .domain = "",
       .since = {1, 11, 12, 13},
       .infer = infer,
       .run = run<false>,
       .traits = computes()},
  };
  return all;
}

}  // namespace anybit::ops
