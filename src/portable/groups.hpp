// How a tensor of whatever dimensions is laid out while a function works on it: so that the values which
// share parameters lie along axes that the function knows. Dimensions are taken at run time.
//
//   tensor   [all]                            shared over axis 0
//   channel  [before, channels, behind]       shared over axes 0 and 2
//   block    [before, blocks, size, behind]   shared over axis 2; `behind` is left out for the last axis
//   element  as it is
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

// Errors: what formats::resolve says of the axis, the granularity and the block; a box as a block.
Result<Layout> layout_of(const formats::Use& use, const formats::Descriptor& format);

class Groups {
 public:
  // `dims`: the tensor's, a list.
  Groups(const Layout& layout, const Term& dims);
  const Layout& layout() const { return layout_; }

  // A tensor in the layout; short blocks are filled up.
  Term split(const Term& tensor, const Term& padding) const;
  // Back, without what was filled up.
  Term join(const Term& laid_out) const;

  // Over the values that share parameters; as many axes as the layout, those of length 1.
  Term largest(const Term& laid_out) const;       // at least 0: of magnitudes
  Term smallest(const Term& laid_out) const;      // at most 0
  Term sum(const Term& laid_out) const;           // of whole numbers: in any order
  Term sum_in_order(const Term& laid_out) const;  // as formats::chunked_sum adds
  // A field with one value for each group, so that it goes with a tensor in the layout.
  Term spread(const Term& field) const;

  // The layout of rows of packed codes, whose axis comes last, from [rows, codes in a row].
  Term split_rows(const Term& rows, const Term& padding) const;
  Term row_length() const;  // codes in a row

  // For formats in whose groups a value's place matters: [a, groups, b, size], and back.
  Term places(const Term& laid_out) const;
  Term from_places(const Term& placed) const;

 private:
  std::vector<std::int64_t> shared_axes() const;
  Term split_blocks(const Term& tensor, const Term& padding) const;
  // The list of these numbers, and of `behind` if the layout has it.
  Term with_behind(std::vector<Term> numbers) const;

  Layout layout_;
  Term dims_, one_;
  // Lists of one number. Channels and blocks: dimensions before the axis, of it, behind it.
  std::optional<Term> before_, length_, behind_;
  // Blocks: values in one; how many are missing in the last; how many blocks.
  std::optional<Term> size_, missing_, blocks_;
};

}  // namespace anybit::portable
