#include "ops/training/training.hpp"

#include "base/checked.hpp"

namespace anybit::ops {

Result<void> expect_trained(const Frame& frame, std::size_t i) {
  const ElementType type = frame.in(i).type();
  if (type == ElementType::float32 || type == ElementType::float64) return {};
  return wrong_type(frame, i);
}

Result<void> expect_like(const Frame& frame, std::size_t i, std::size_t other) {
  const Array &given = frame.in(i), &like = frame.in(other);
  if (given.type() == like.type() && given.dims() == like.dims()) return {};
  return wrong(fmt::format("input {} is {}", i, to_string(given)),
               fmt::format("like input {}: {}", other, to_string(like)));
}

Result<void> expect_number(const Frame& frame, std::size_t i) {
  const Array& given = frame.in(i);
  if (given.count() == 1 && for_number(given.type(), [](auto) {})) return {};
  return wrong(fmt::format("input {} is {}", i, to_string(given)), "a single number");
}

Result<Dims> sizes_from(const Frame& frame, std::size_t i) {
  const Array& array = frame.in(i);
  const std::string name = fmt::format("input {}", i);
  if (array.rank() != 1) return wrong(fmt::format("{} is {}", name, to_string(array)), "a list of sizes");
  Dims dims = TRY(dims_from(array, name));
  for (const std::int64_t size : dims) {
    if (size < 0) return wrong(fmt::format("{} is {}", name, to_string(dims)), "sizes of 0 or more");
  }
  if (!element_count(dims.span()))
    return wrong(fmt::format("{} is {}", name, to_string(dims)), "fewer elements");
  return dims;
}

std::optional<Shape> shape_in(const Call& call, std::size_t i) {
  const Value& sizes = call.in(i);
  if (sizes.elements) return *sizes.elements;
  if (!sizes.has_rank(1) || !(*sizes.shape)[0].known()) return std::nullopt;
  const std::int64_t rank = *(*sizes.shape)[0].size;
  if (rank < 0 || rank > static_cast<std::int64_t>(Dims::kCapacity)) return std::nullopt;
  return unknown_shape(static_cast<std::size_t>(rank));
}

Result<SameLayout> in_same_layout(Frame& frame, std::size_t first, std::size_t second) {
  const Layout one = frame.in(first).layout(), other = frame.in(second).layout();
  const Layout layout = one == Layout::plain ? other : one;
  SameLayout both;
  both.first = TRY(in_layout(frame, frame.in(first), layout));
  both.second = TRY(in_layout(frame, frame.in(second), layout));
  return both;
}

Result<Array*> out_like(Frame& frame, std::size_t over, const Array& like) {
  const Array& input = frame.in(over);
  if (input.layout() == like.layout()) return frame.out_over(0, over, like.type(), like.dims());
  return frame.out(0, like.type(), like.dims(), like.layout());
}

}  // namespace anybit::ops
