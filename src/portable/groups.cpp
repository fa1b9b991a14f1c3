#include "portable/groups.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/sums.hpp"

namespace anybit::portable {

using formats::Granularity;

Result<Layout> layout_of(const formats::Use& use, const formats::Descriptor& format) {
  if (!use.grouping.block.empty()) {
    return error_at(
        Code::unsupported, {},
        fmt::format("{} on blocks of [{}] has no function", use.format, fmt::join(use.grouping.block, ", ")),
        "block_size along an axis");
  }
  const std::int64_t axis = use.grouping.axis.value_or(-1);
  constexpr std::int64_t kMostDims = 32;
  const std::int64_t least = axis < 0 ? -std::max(axis, -kMostDims - 1) : std::min(axis, kMostDims) + 1;
  const std::int64_t rank = use.rank.value_or(least);
  if (rank < 0 || rank > kMostDims) {
    return invalid_argument(fmt::format("rank {} is not possible", rank), fmt::format("0 to {}", kMostDims));
  }
  const formats::Dims dims(static_cast<std::size_t>(rank), 1);
  const formats::Grouping grouping = TRY(formats::resolve(format, dims, use.grouping));
  return Layout{grouping.granularity, axis == rank - 1 && use.rank ? -1 : axis,
                use.grouping.block_size.value_or(format.block_size)};
}

// The dimensions get a 1 in front, so that a single value has an axis too.
Groups::Groups(const Layout& layout, const Value& dims)
    : layout_(layout), dims_(concat({dims.body().integers({1}), dims})), one_(dims.body().integers({1})) {
  if (layout_.granularity != Granularity::channel && layout_.granularity != Granularity::block) return;
  const std::int64_t axis = layout_.axis < 0 ? layout_.axis : layout_.axis + 1;
  before_ = product(slice(dims_, 0, axis));
  length_ = slice(dims_, axis, layout_.last() ? kEnd : axis + 1);
  behind_ = layout_.last() ? one_ : product(slice(dims_, axis + 1, kEnd));
  if (layout_.granularity != Granularity::block) return;
  size_ = max(min(*length_, one_.body().integers({layout_.block_size})), one_);
  missing_ = one_.body().op("Mod", {-*length_, *size_});
  blocks_ = (*length_ + *missing_) / *size_;
}

Value Groups::with_behind(std::vector<Value> numbers) const {
  if (!layout_.last()) numbers.push_back(*behind_);
  return concat(numbers);
}

Value Groups::split_blocks(const Value& tensor, const Value& padding) const {
  return reshape(pad(tensor, 1, *missing_, padding), with_behind({*before_, *blocks_, *size_}));
}

Value Groups::split(const Value& tensor, const Value& padding) const {
  switch (layout_.granularity) {
    case Granularity::element:
      break;
    case Granularity::tensor:
      return reshape(tensor, product(dims_));
    case Granularity::channel:
      return reshape(tensor, concat({*before_, *length_, *behind_}));
    case Granularity::block:
      return split_blocks(reshape(tensor, with_behind({*before_, *length_})), padding);
  }
  return tensor;
}

Value Groups::join(const Value& laid_out) const {
  const Value dims = slice(dims_, 1, kEnd);
  if (layout_.granularity != Granularity::block) return reshape(laid_out, dims);
  const Value rows = reshape(laid_out, with_behind({*before_, *length_ + *missing_}));
  return reshape(slice(rows, 1, one_.body().integers({0}), *length_), dims);
}

std::vector<std::int64_t> Groups::shared_axes() const {
  if (layout_.granularity == Granularity::channel) return {0, 2};
  if (layout_.granularity == Granularity::block) return {2};
  return {};
}

Value Groups::largest(const Value& laid_out) const {
  return max(reduce("ReduceMax", laid_out, shared_axes()), 0);
}
Value Groups::smallest(const Value& laid_out) const {
  return min(reduce("ReduceMin", laid_out, shared_axes()), 0);
}
Value Groups::sum(const Value& laid_out) const { return reduce("ReduceSum", laid_out, shared_axes()); }

// Running sums add one value after the other in every runtime; what ReduceSum does is its own affair.
Value Groups::sum_in_order(const Value& laid_out) const {
  Body& body = one_.body();
  const auto add_up = [&](const Value& lines) {  // the last of the running sums along the last axis
    const Value running = body.op("CumSum", {lines, body.integer(-1)});
    return slice(running, -1, body.integers({-1}), body.integers({kEnd}));
  };
  const Value lines = places(laid_out);
  const Value length = slice(shape(lines), -1, kEnd);
  const Value chunk = max(min(length, body.integers({formats::kSumChunk})), one_);
  const Value filled = pad(lines, 3, body.op("Mod", {-length, chunk}), body.real(0));
  const Value chunks = (length + chunk - one_) / chunk;
  const Value parts = add_up(reshape(filled, concat({slice(shape(lines), 0, -1), chunks, chunk})));
  return spread(add_up(reshape(parts, concat({slice(shape(lines), 0, -1), chunks}))));
}

// A tensor without values has no groups, and so no values in its fields.
Value Groups::spread(const Value& field) const {
  const auto one_if_any = [&](const Value& count) { return min(count, one_); };
  switch (layout_.granularity) {
    case Granularity::element:
    case Granularity::tensor:
      return reshape(field, one_if_any(product(dims_)));
    case Granularity::channel:
      return reshape(field, concat({one_if_any(*before_), *length_, one_if_any(*behind_)}));
    case Granularity::block:
      break;
  }
  return reshape(field, with_behind({*before_, *blocks_, one_}));
}

Value Groups::row_length() const {
  return layout_.granularity == Granularity::block ? *length_ : slice(dims_, -1, kEnd);
}

Value Groups::split_rows(const Value& rows, const Value& padding) const {
  if (layout_.granularity != Granularity::block) return split(rows, padding);
  if (layout_.last()) return split_blocks(rows, padding);
  const Value axis_last = reshape(rows, concat({*before_, *behind_, *length_}));
  return split_blocks(transpose(axis_last, {0, 2, 1}), padding);
}

Value Groups::places(const Value& laid_out) const {
  switch (layout_.granularity) {
    case Granularity::element:
    case Granularity::tensor:
      return reshape(laid_out, concat({one_, one_, one_, product(dims_)}));
    case Granularity::channel:
      return reshape(transpose(laid_out, {1, 0, 2}), concat({one_, *length_, one_, *before_ * *behind_}));
    case Granularity::block:
      break;
  }
  if (!layout_.last()) return transpose(laid_out, {0, 1, 3, 2});
  return reshape(laid_out, concat({*before_, *blocks_, one_, *size_}));
}

Value Groups::from_places(const Value& placed) const {
  switch (layout_.granularity) {
    case Granularity::element:
    case Granularity::tensor:
      return reshape(placed, product(dims_));
    case Granularity::channel:
      return transpose(reshape(placed, concat({*length_, *before_, *behind_})), {1, 0, 2});
    case Granularity::block:
      break;
  }
  return layout_.last() ? reshape(placed, concat({*before_, *blocks_, *size_}))
                        : transpose(placed, {0, 1, 3, 2});
}

}  // namespace anybit::portable
