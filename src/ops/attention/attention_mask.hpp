// The attention masks of ONNX Runtime's operators.
#pragma once

#include "ops/attention/scaled_dot_product.hpp"

namespace anybit::ops {

struct MaskedSizes {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
};

// Turns the integer mask in input `input` into an additive one: 0 for keys that take part,
// `mask_filter_value` for the others. Its shape selects the meaning: [batch] holds ends, [2 · batch] ends
// then starts, [batch, keys] or [batch, queries, keys] 0 for masked keys.
template <class C>
Result<HeadsView<const C>> filter_mask(Frame& frame, std::size_t input, const MaskedSizes& sizes);
extern template Result<HeadsView<const float>> filter_mask(Frame&, std::size_t, const MaskedSizes&);
extern template Result<HeadsView<const double>> filter_mask(Frame&, std::size_t, const MaskedSizes&);

// The additive bias of the scores in input `input`: [batch or 1, heads or 1, queries, keys].
template <class C>
Result<HeadsView<const C>> score_bias(Frame& frame, std::size_t input, const MaskedSizes& sizes);
extern template Result<HeadsView<const float>> score_bias(Frame&, std::size_t, const MaskedSizes&);
extern template Result<HeadsView<const double>> score_bias(Frame&, std::size_t, const MaskedSizes&);

}  // namespace anybit::ops
