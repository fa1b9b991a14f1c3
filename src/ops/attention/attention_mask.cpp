#include "ops/attention/attention_mask.hpp"

#include "ops/check.hpp"

namespace anybit::ops {
namespace {

Error misshapen(const Frame& frame, std::size_t input) {
  return wrong(fmt::format("the mask (input {}) is {}", input, to_string(frame.in(input))),
               "[batch], [2 · batch], [batch, keys] or [batch, queries, keys]");
}

}  // namespace

template <class C>
Result<HeadsView<const C>> filter_mask(Frame& frame, std::size_t input, const MaskedSizes& sizes) {
  if (!frame.has(input)) return HeadsView<const C>();
  const Array& mask = frame.in(input);
  if (mask.type() != ElementType::int32) return wrong_type(frame, input);
  const auto filter = static_cast<C>(frame.real("mask_filter_value", -10000));
  const auto [batch, heads, queries, keys] = sizes;
  const auto* numbers = mask.data<std::int32_t>();
  if (mask.rank() == 1) {
    const bool begins = mask.count() == 2 * batch;
    if (mask.count() != batch && !begins) return misshapen(frame, input);
    if (only_checks(frame)) return HeadsView<const C>();
    const auto made = TRY(frame.scratch_of<C>(batch * keys));
    for (std::int64_t i = 0; i < batch * keys; ++i) {
      const std::int64_t b = i / keys, j = i % keys;
      const bool counts = j < numbers[b] && (!begins || j >= numbers[batch + b]);
      made[static_cast<std::size_t>(i)] = counts ? C(0) : filter;
    }
    return HeadsView<const C>{made.data(), keys, 0, 0};
  }
  const bool by_query = mask.dims() == Dims{batch, queries, keys};
  if (!by_query && !(mask.dims() == Dims{batch, keys})) return misshapen(frame, input);
  if (only_checks(frame)) return HeadsView<const C>();
  const auto made = TRY(frame.scratch_of<C>(mask.count()));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = numbers[i] > 0 ? C(0) : filter;
  if (by_query) return HeadsView<const C>{made.data(), queries * keys, 0, keys};
  return HeadsView<const C>{made.data(), keys, 0, 0};
}
template Result<HeadsView<const float>> filter_mask(Frame&, std::size_t, const MaskedSizes&);
template Result<HeadsView<const double>> filter_mask(Frame&, std::size_t, const MaskedSizes&);

template <class C>
Result<HeadsView<const C>> score_bias(Frame& frame, std::size_t input, const MaskedSizes& sizes) {
  if (!frame.has(input)) return HeadsView<const C>();
  const Dims& dims = frame.in(input).dims();
  const auto [batch, heads, queries, keys] = sizes;
  const bool fits = dims.size() == 4 && (dims[0] == 1 || dims[0] == batch) &&
                    (dims[1] == 1 || dims[1] == heads) && dims[2] == queries && dims[3] == keys;
  if (!fits) {
    return wrong(
        fmt::format("attention_bias (input {}) is {}", input, to_string(frame.in(input))),
        fmt::format("shape {}, or 1 for the first two", to_string(Dims{batch, heads, queries, keys})));
  }
  auto view = heads_first(TRY(reals_in<C>(frame, frame.in(input))).data(), dims[1], queries, keys);
  if (dims[0] == 1) view.batch = 0;
  if (dims[1] == 1) view.head = 0;
  return view;
}
template Result<HeadsView<const float>> score_bias(Frame&, std::size_t, const MaskedSizes&);
template Result<HeadsView<const double>> score_bias(Frame&, std::size_t, const MaskedSizes&);

}  // namespace anybit::ops
