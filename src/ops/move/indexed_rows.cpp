#include "ops/move/indexed_rows.hpp"

#include "ops/rules.hpp"

namespace anybit::ops {

Result<ElementRows> element_rows(const Frame& frame) {
  const Array& data = frame.in(0);
  const Array& indices = frame.in(1);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), data.rank()));
  bool fits = data.rank() == indices.rank();
  for (std::size_t i = 0; fits && i < data.rank(); ++i) fits = i == axis || indices.dim(i) <= data.dim(i);
  if (!fits) {
    return wrong(fmt::format("indices {} do not fit {}", to_string(indices.dims()), to_string(data.dims())),
                 fmt::format("the same rank, and no larger on axes other than {}", axis));
  }
  TRY(check_indices(frame, 1, data.dim(axis)));
  const Dims strides = strides_of(data.dims());
  ElementRows rows;
  rows.axis_size = data.dim(axis);
  rows.axis_step = strides[axis];
  const std::size_t last = data.rank() - 1;
  rows.length = indices.dim(last);
  rows.step = last == axis ? 0 : 1;
  rows.count = indices.dims().product(0, last);
  for (std::size_t i = 0; i < last; ++i) {
    rows.sizes.push_back(indices.dim(i));
    rows.steps.push_back(i == axis ? 0 : strides[i]);
  }
  return rows;
}

}  // namespace anybit::ops
