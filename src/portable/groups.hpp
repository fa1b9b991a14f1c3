// Reshapes a tensor of any rank so that the values of a group (those with shared parameters) lie along fixed
// axes. The dimensions are read at run time, in ONNX operators.
//
//   tensor   [all]                            shared over axis 0
//   channel  [before, channels, behind]       shared over axes 0 and 2
//   block    [before, blocks, size, behind]   shared over axis 2; no `behind` if the axis is the last one
//   element  unchanged
#pragma once

#include <optional>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

struct Layout {
  formats::Granularity granularity = formats::Granularity::element;
  std::int64_t axis = -1;       // of channels and blocks
  std::int64_t block_size = 0;  // of blocks
  bool last() const { return axis == -1; }
};

// Errors: those of formats::resolve for axis, granularity and block; 2-D blocks are not supported.
Result<Layout> layout_of(const formats::Use& given, const formats::Descriptor& format);

class Groups {
 public:
  // `dims`: the dimensions of the tensor, as a list.
  Groups(const Layout& layout, const Term& dims);
  const Layout& layout() const { return layout_; }

  // Reshapes a tensor to the layout; incomplete blocks are padded.
  Term split(const Term& tensor, const Term& padding) const;
  // The inverse; drops the padding.
  Term join(const Term& laid_out) const;

  // Reductions over the values of each group; the axes are kept with length 1.
  Term largest(const Term& laid_out) const;       // at least 0
  Term smallest(const Term& laid_out) const;      // at most 0
  Term sum(const Term& laid_out) const;           // of integers: the order is irrelevant
  Term sum_in_order(const Term& laid_out) const;  // in the order of formats::chunked_sum
  // Reshapes a field with one value per group so that it broadcasts to a tensor in the layout.
  Term spread(const Term& field) const;

  // Reshapes unpacked rows [rows, codes per row], whose axis is the last one, to the layout.
  Term split_rows(const Term& rows, const Term& padding) const;
  Term row_length() const;  // codes per row

  // For formats where the position in the group matters: transposes to [a, groups, b, size], and back.
  Term places(const Term& laid_out) const;
  Term from_places(const Term& placed) const;

 private:
  std::vector<std::int64_t> shared_axes() const;
  Term split_blocks(const Term& tensor, const Term& padding) const;
  // A list of these numbers, and of `behind_` if the layout has it.
  Term with_behind(std::vector<Term> numbers) const;

  Layout layout_;
  Term dims_, one_;
  // Lists of one number. Channels and blocks: product of the dimensions before the axis, its length, product
  // of those behind it.
  std::optional<Term> before_, length_, behind_;
  // Blocks: block size; padding of the last block; number of blocks.
  std::optional<Term> size_, missing_, blocks_;
};

}  // namespace anybit::portable
