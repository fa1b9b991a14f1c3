#include "portable/groups.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/sums.hpp"

namespace anybit::portable {

using formats::Granularity;

Result<Layout> layout_of(const formats::Use& given, const formats::Descriptor& format) {
  formats::Use use = given;
  use.grouping = formats::with_profile(format, given.parameters, given.grouping);
  if (!use.grouping.block.empty()) {
    return error_at(Code::unsupported, {},
                    fmt::format("{} with blocks of [{}] cannot be written in ONNX operators", use.format,
                                fmt::join(use.grouping.block, ", ")),
                    "block_size along an axis");
  }
  const std::int64_t axis = use.grouping.axis.value_or(-1);
  constexpr std::int64_t kMostDims = 32;
  const std::int64_t least = axis < 0 ? -std::max(axis, -kMostDims - 1) : std::min(axis, kMostDims) + 1;
  const std::int64_t rank = use.rank.value_or(least);
  if (rank < 0 || rank > kMostDims) {
    return invalid_argument(fmt::format("rank {} is out of range", rank), fmt::format("0 to {}", kMostDims));
  }
  const formats::Dims dims(static_cast<std::size_t>(rank), 1);
  const formats::Grouping grouping = TRY(formats::resolve(format, dims, use.grouping));
  return Layout{grouping.granularity, axis == rank - 1 && use.rank ? -1 : axis,
                use.grouping.block_size.value_or(format.block_size)};
}

// Prepends a dimension of 1, so that scalars have an axis, too.
Groups::Groups(const Layout& layout, const Term& dims)
    : layout_(layout), dims_(concat({dims.body().integers({1}), dims})), one_(dims.body().integers({1})) {
  if (layout_.granularity != Granularity::channel && layout_.granularity != Granularity::block) return;
  const std::int64_t axis = layout_.axis < 0 ? layout_.axis : layout_.axis + 1;
  before_ = product(slice(dims_, 0, axis));
  length_ = slice(dims_, axis, layout_.last() ? FunctionBody::kEnd : axis + 1);
  behind_ = layout_.last() ? one_ : product(slice(dims_, axis + 1, FunctionBody::kEnd));
  if (layout_.granularity != Granularity::block) return;
  size_ = max(min(*length_, one_.body().integers({layout_.block_size})), one_);
  missing_ = one_.body().op("Mod", {-*length_, *size_});
  blocks_ = (*length_ + *missing_) / *size_;
}

Term Groups::with_behind(std::vector<Term> numbers) const {
  if (!layout_.last()) numbers.push_back(*behind_);
  return concat(numbers);
}

Term Groups::split_blocks(const Term& tensor, const Term& padding) const {
  return reshape(pad(tensor, 1, *missing_, padding), with_behind({*before_, *blocks_, *size_}));
}

Term Groups::split(const Term& tensor, const Term& padding) const {
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

Term Groups::join(const Term& laid_out) const {
  const Term dims = slice(dims_, 1, FunctionBody::kEnd);
  if (layout_.granularity != Granularity::block) return reshape(laid_out, dims);
  const Term rows = reshape(laid_out, with_behind({*before_, *length_ + *missing_}));
  return reshape(slice(rows, 1, one_.body().integers({0}), *length_), dims);
}

std::vector<std::int64_t> Groups::shared_axes() const {
  if (layout_.granularity == Granularity::channel) return {0, 2};
  if (layout_.granularity == Granularity::block) return {2};
  return {};
}

Term Groups::largest(const Term& laid_out) const {
  return max(reduce("ReduceMax", laid_out, shared_axes()), 0);
}
Term Groups::smallest(const Term& laid_out) const {
  return min(reduce("ReduceMin", laid_out, shared_axes()), 0);
}
Term Groups::sum(const Term& laid_out) const { return reduce("ReduceSum", laid_out, shared_axes()); }

// CumSum adds sequentially in every runtime; the order in ReduceSum is unspecified.
Term Groups::sum_in_order(const Term& laid_out) const {
  FunctionBody& body = one_.body();
  const auto add_up = [&](const Term& lines) {  // the last partial sum along the last axis
    const Term running = body.op("CumSum", {lines, body.integer(-1)});
    return slice(running, -1, body.integers({-1}), body.integers({FunctionBody::kEnd}));
  };
  const Term lines = places(laid_out);
  const Term length = slice(shape(lines), -1, FunctionBody::kEnd);
  const Term chunk = max(min(length, body.integers({formats::kSumChunk})), one_);
  const Term filled = pad(lines, 3, body.op("Mod", {-length, chunk}), body.real(0));
  const Term chunks = (length + chunk - one_) / chunk;
  const Term parts = add_up(reshape(filled, concat({slice(shape(lines), 0, -1), chunks, chunk})));
  return spread(add_up(reshape(parts, concat({slice(shape(lines), 0, -1), chunks}))));
}

// An empty tensor has no groups, so its fields are empty, too.
Term Groups::spread(const Term& field) const {
  const auto one_if_any = [&](const Term& count) { return min(count, one_); };
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

Term Groups::row_length() const {
  return layout_.granularity == Granularity::block ? *length_ : slice(dims_, -1, FunctionBody::kEnd);
}

Term Groups::split_rows(const Term& rows, const Term& padding) const {
  if (layout_.granularity != Granularity::block) return split(rows, padding);
  if (layout_.last()) return split_blocks(rows, padding);
  const Term axis_last = reshape(rows, concat({*before_, *behind_, *length_}));
  return split_blocks(transpose(axis_last, {0, 2, 1}), padding);
}

Term Groups::places(const Term& laid_out) const {
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

Term Groups::from_places(const Term& placed) const {
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
