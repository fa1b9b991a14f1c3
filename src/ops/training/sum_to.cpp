// SumTo(x, shape): the sum of x over the axes along which numpy's broadcasting would repeat `shape` to get the
// shape of x. The gradient of broadcasting, for shapes that are known only when the model runs.
#include "ops/frame.hpp"
#include "ops/check.hpp"
#include "ops/gradient.hpp"
#include "ops/reduce/reduction_walk.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kTogether = 64;

Result<Values> infer(const Call& call) {
  const auto& sizes = call.in(1).elements;
  return outputs_of(call, tensor(call.in(0).type, sizes ? std::optional<Shape>(*sizes) : std::nullopt));
}

template <class T>
void sum(const Frame& frame, const AxisReduction& folding, const T* x, T* y) {
  const std::int64_t rows = folding.reduced.count();
  const auto wide = [](T value) { return static_cast<double>(static_cast<Computed<T>>(value)); };
  const auto narrow = [](double value) { return static_cast<T>(static_cast<Computed<T>>(value)); };
  reduce_in_parallel(
      frame, folding,
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          double held = 0;
          for (std::int64_t r = 0; r < rows; ++r) {
            const T* run = x + folding.kept.offset(i) + folding.reduced.offset(r);
            for (std::int64_t k = 0; k < folding.run; ++k) held += wide(run[k]);
          }
          y[i] = narrow(held);
        }
      },
      [&](std::int64_t from, std::int64_t n, std::int64_t to) {
        for (std::int64_t begin = 0; begin < n; begin += kTogether) {
          double held[kTogether] = {};
          const std::int64_t width = std::min(kTogether, n - begin);
          for (std::int64_t r = 0; r < rows; ++r) {
            const T* row = x + from + begin + folding.reduced.offset(r);
            for (std::int64_t k = 0; k < width; ++k) held[k] += wide(row[k]);
          }
          for (std::int64_t k = 0; k < width; ++k) y[to + begin + k] = narrow(held[k]);
        }
      });
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_float(x.type())) return wrong_type(frame, 0);
  const Dims dims = TRY(dims_from(frame.in(1), "the shape"));
  if (dims == x.dims()) return frame.share(0, 0, dims);
  if (!(TRY(broadcast_dims(dims, x.dims())) == x.dims())) {
    return wrong(fmt::format("the shape is {}, and the input is {}", to_string(dims), to_string(x)),
                 "a shape that broadcasts to the input's");
  }
  const std::size_t leading = x.rank() - dims.size();
  Dims axes;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (axis < leading || dims[axis - leading] != x.dim(axis)) axes.push_back(static_cast<std::int64_t>(axis));
  }
  const Reduced reduced = TRY(reduced_of(x.dims(), axes.span(), true));
  Array* y = TRY(frame.out(0, x.type(), dims));
  for_real(x.type(),
           [&]<class T>(T) { sum<T>(frame, reduced.folding, x.data<T>(), y->mutable_data<T>()); });
  return {};
}

}  // namespace

std::span<const Descriptor> sum_to_descriptors() {
  static const Descriptor all[] = {
      {.name = "SumTo", .domain = kTraining, .since = {1}, .infer = infer, .run = run, .required = 2}};
  return all;
}

}  // namespace anybit::ops
