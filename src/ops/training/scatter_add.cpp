// ScatterAdd(indices, updates, data_shape; axis): the adjoint of Gather. Adds each slice of `updates` to the
// slice of a tensor of zeros that its index names. Each sum is in the order of the indices. Domain
// ai.anybit.training.
#include <algorithm>

#include "ops/move/data_movement.hpp"
#include "ops/reals.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kColumns = 64;  // of a slice, by one task

Result<Values> infer_scatter_add(const Call& call) {
  return outputs_of(call, tensor(call.in(1).type, shape_in(call, 2)));
}

Result<void> check_updates(const Frame& frame, const Dims& dims, std::size_t axis) {
  Dims expected;
  for (std::size_t i = 0; i < axis; ++i) expected.push_back(dims[i]);
  for (const std::int64_t dim : frame.in(0).dims()) expected.push_back(dim);
  for (std::size_t i = axis + 1; i < dims.size(); ++i) expected.push_back(dims[i]);
  return expect_dims(frame, 1, expected, "updates");
}

template <class T, class Index>
void add_slices(const Frame& frame, const Dims& dims, std::size_t axis, T* to) {
  const std::span<const Index> indices = frame.in(0).elements<Index>();
  const T* updates = frame.in(1).data<T>();
  const std::int64_t size = dims[axis], inner = dims.product(axis + 1, dims.size());
  const std::int64_t outer = dims.product(0, axis), count = std::ssize(indices);
  const std::int64_t parts = (inner + kColumns - 1) / kColumns;
  const double cost =
      static_cast<double>(std::min(inner, kColumns)) * 0.3 * static_cast<double>(count + size);
  parallel(frame, outer * parts, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t column = part % parts * kColumns, width = std::min(kColumns, inner - column);
      T* slices = to + part / parts * size * inner + column;
      const T* from = updates + part / parts * count * inner + column;
      for (std::int64_t i = 0; i < size; ++i) std::fill_n(slices + i * inner, width, T(0));
      for (std::int64_t i = 0; i < count; ++i) {
        T* sum = slices + place_of(indices[static_cast<std::size_t>(i)], size) * inner;
        for (std::int64_t k = 0; k < width; ++k) sum[k] += from[i * inner + k];
      }
    }
  });
}

Result<void> run_scatter_add(Frame& frame) {
  TRY(expect_trained(frame, 1));
  if (!for_index(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  const Dims dims = TRY(sizes_from(frame, 2));
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), dims.size()));
  if (dims.size() - 1 + frame.in(0).rank() > Dims::kCapacity)
    return wrong(fmt::format("the updates would have rank {}", dims.size() - 1 + frame.in(0).rank()),
                 "a smaller one");
  TRY(check_updates(frame, dims, axis));
  TRY(check_indices(frame, 0, dims[axis]));
  Array* out = TRY(frame.out(0, frame.in(1).type(), dims));
  if (out->count() == 0) return {};
  for_index(frame.in(0).type(), [&]<class Index>(Index) {
    for_trained(out->type(),
                [&]<class T>(T) { add_slices<T, Index>(frame, dims, axis, out->mutable_data<T>()); });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> scatter_add_descriptors() {
  static const Descriptor all[] = {training_operator("ScatterAdd", infer_scatter_add, run_scatter_add, 3)};
  return all;
}

}  // namespace anybit::ops
