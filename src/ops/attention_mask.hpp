// The masks of ONNX Runtime's attention operators.
#pragma once

#include "ops/attend.hpp"

namespace anybit::ops {

struct MaskedSizes {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
};

// Input `input`, whole numbers, as numbers to add: 0 for keys that count, `mask_filter_value` for others. Its
// shape tells what it is: [batch] ends, [2 · batch] ends then beginnings, [batch, keys] or [batch, queries,
// keys] with 0 for keys that do not count.
template <class C>
Result<HeadsView<const C>> filter_mask(Frame& frame, std::size_t input, const MaskedSizes& sizes);
extern template Result<HeadsView<const float>> filter_mask(Frame&, std::size_t, const MaskedSizes&);
extern template Result<HeadsView<const double>> filter_mask(Frame&, std::size_t, const MaskedSizes&);

// Input `input`, added to the scores: [batch or 1, heads or 1, queries, keys].
template <class C>
Result<HeadsView<const C>> score_bias(Frame& frame, std::size_t input, const MaskedSizes& sizes);
extern template Result<HeadsView<const float>> score_bias(Frame&, std::size_t, const MaskedSizes&);
extern template Result<HeadsView<const double>> score_bias(Frame&, std::size_t, const MaskedSizes&);

}  // namespace anybit::ops
