// OneHot: a row of "off" values per index, with one "on" value. ONNX: OneHot-9, -11.
#include <algorithm>
#include <cmath>

#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_one_hot(const Call& call) {
  const auto& indices = call.in(0).shape;
  if (!indices) return outputs_of(call, tensor(call.in(2).type, std::nullopt));
  Shape shape = *indices;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), shape.size() + 1));
  const auto& depth = call.in(1).elements;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
               depth && depth->size() == 1 ? (*depth)[0] : Dim());
  return outputs_of(call, tensor(call.in(2).type, std::move(shape)));
}

// Converts an index of any type to a position on an axis of `depth`; -1 if it is out of range and the row
// stays "off".
template <class T>
std::int64_t hot_place(T index, std::int64_t depth) {
  if constexpr (kIsReal<T>) {
    const auto real = static_cast<double>(static_cast<Computed<T>>(index));
    return std::abs(real) < 0x1p62 ? place_of(static_cast<std::int64_t>(real), depth) : -1;
  } else {
    if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(index) > INT64_MAX) return -1;
    return place_of(static_cast<std::int64_t>(index), depth);
  }
}

Result<void> run(Frame& frame) {
  const Array& indices = frame.in(0);
  const Array& values = frame.in(2);
  const double depth_given = TRY(scalar_from(frame.in(1), "depth"));
  if (!(depth_given >= 0 && depth_given < 0x1p62)) return wrong(fmt::format("depth is {}", depth_given));
  if (values.count() != 2)
    return wrong(fmt::format("values are {}", to_string(frame.datum(2))), "off and on");
  if (indices.rank() == Dims::kCapacity) return wrong("the indices have too many axes");
  const auto depth = static_cast<std::int64_t>(depth_given);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), indices.rank() + 1));
  Dims dims = indices.dims();
  dims.insert(axis, depth);
  if (!for_number(indices.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, values.type(), dims));
  const std::int64_t inner = indices.dims().product(axis, indices.rank());
  const auto light = [&]<class T, class Index>() {
    const T off = values.data<T>()[0], on = values.data<T>()[1];
    T* to = out->mutable_data<T>();
    std::fill_n(to, out->count(), off);
    for (std::int64_t i = 0; i < indices.count(); ++i) {
      const std::int64_t place = hot_place(indices.data<Index>()[i], depth);
      if (place >= 0) to[(i / inner * depth + place) * inner + i % inner] = on;
    }
  };
  for_number(indices.type(), [&]<class Index>(Index) {
    for_copied(values.type(), [&]<class T>(T) { light.template operator()<T, Index>(); });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> one_hot_descriptors() {
  static const Descriptor all[] = {
      {.name = "OneHot", .domain = "", .since = {9, 11}, .infer = infer_one_hot, .run = run, .required = 3}};
  return all;
}

}  // namespace anybit::ops
