// ONNX Runtime's MultiHeadAttention (com.microsoft): Q, K and V are already projected, except for a bias. K
// and V may be packed together, packed with Q, or have their heads first.
#include <cmath>

#include "ops/attention/attention_mask.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum Input : std::size_t { kQuery, kKey, kValue, kBias, kMask, kScoreBias, kPastKey, kPastValue };

// Q, K, V are already projected; the heads are part of the last axis.
Result<Values> infer(const Call& call) {
  const auto& q = call.in(0).shape;
  const auto& v = call.in(2).shape;
  if (!q || !v || q->size() != 3 || v->size() != 3)
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  return outputs_of(call, tensor(call.in(0).type, Shape{(*q)[0], (*q)[1], (*v)[2]}));
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto& q = call.in(0).shape;
  const auto& k = call.in(1).shape;
  const auto& v = call.in(2).shape;
  if (!q || !k || !v || q->size() != 3 || k->size() != 3 || v->size() != 3 || call.has(6)) return {};
  return (*q)[0] * (*q)[1] * (*k)[1] * ((*q)[2] + (*v)[2]);
}

// Sizes and packing of Q, K and V.
struct Sizes {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, size = 0, v_size = 0, past = 0;
  enum class Packing { none, kv, qkv, heads_first } packing = Packing::none;
};

Error misshapen(const Frame& frame) {
  return wrong(fmt::format("query {}, key {} and value {} do not fit together",
                           to_string(frame.datum(kQuery)), to_string(frame.datum(kKey)),
                           to_string(frame.datum(kValue))));
}

Result<Sizes> sizes_of(const Frame& frame) {
  using enum Sizes::Packing;
  const Dims& q = frame.in(kQuery).dims();
  Sizes s;
  s.heads = frame.integer("num_heads", 0);
  if (s.heads < 1) return wrong(fmt::format("num_heads is {}", s.heads));
  if (q.size() == 5) {
    if (q[2] != s.heads || q[3] != 3 || frame.has(kKey) || frame.has(kValue)) return misshapen(frame);
    s.batch = q[0], s.queries = s.keys = q[1], s.size = s.v_size = q[4], s.packing = qkv;
    return s;
  }
  if (q.size() != 3 || q[2] % s.heads != 0 || !frame.has(kKey)) return misshapen(frame);
  s.batch = q[0], s.queries = q[1], s.size = q[2] / s.heads;
  const Dims& k = frame.in(kKey).dims();
  if (k.size() == 5) {
    if (!(k == Dims{s.batch, k[1], s.heads, 2, s.size}) || frame.has(kValue)) return misshapen(frame);
    s.keys = k[1], s.v_size = s.size, s.packing = kv;
    return s;
  }
  if (!frame.has(kValue)) return misshapen(frame);
  const Dims& v = frame.in(kValue).dims();
  if (k.size() == 4) {
    if (v.size() != 4 || !(k == Dims{s.batch, s.heads, k[2], s.size}) ||
        !(v == Dims{s.batch, s.heads, k[2], v[3]}))
      return misshapen(frame);
    s.keys = k[2], s.v_size = v[3], s.packing = heads_first;
  } else {
    const bool fits = k.size() == 3 && v.size() == 3 && k == Dims{s.batch, k[1], q[2]} &&
                      v == Dims{s.batch, k[1], v[2]} && v[2] % s.heads == 0;
    if (!fits) return misshapen(frame);
    s.keys = k[1], s.v_size = v[2] / s.heads;
  }
  return s;
}

template <class C>
struct Heads {
  HeadsView<const C> q, k, v;
};

template <class C>
Result<Heads<C>> heads_of(Frame& frame, const Sizes& s) {
  using enum Sizes::Packing;
  const std::int64_t d = s.size, width = s.heads * d;
  const C* q = TRY(reals_in<C>(frame, frame.in(kQuery))).data();
  const auto slices = [&](const C* data, std::int64_t which, std::int64_t of, std::int64_t positions) {
    return HeadsView<const C>{data + which * d, positions * width * of, of * d, width * of};
  };
  if (s.packing == qkv)
    return Heads<C>{slices(q, 0, 3, s.queries), slices(q, 1, 3, s.keys), slices(q, 2, 3, s.keys)};
  Heads<C> all;
  all.q = heads_last(q, s.queries, d, width);
  const C* k = TRY(reals_in<C>(frame, frame.in(kKey))).data();
  if (s.packing == kv) {
    all.k = slices(k, 0, 2, s.keys);
    all.v = slices(k, 1, 2, s.keys);
    return all;
  }
  const C* v = TRY(reals_in<C>(frame, frame.in(kValue))).data();
  const bool first = s.packing == heads_first;
  all.k = first ? ops::heads_first(k, s.heads, s.keys, d) : heads_last(k, s.keys, d, width);
  all.v = first ? ops::heads_first(v, s.heads, s.keys, s.v_size)
                : heads_last(v, s.keys, s.v_size, s.heads * s.v_size);
  return all;
}

// Adds a bias of one value per head and element.
template <class C>
Result<HeadsView<const C>> biased(Frame& frame, const Sizes& s, HeadsView<const C> from,
                                  std::int64_t positions, std::int64_t size, const C* bias) {
  if (only_checks(frame)) return from;
  const auto made = TRY(frame.scratch_of<C>(s.batch * s.heads * positions * size));
  const auto to = heads_first(made.data(), s.heads, positions, size);
  for (std::int64_t i = 0; i < s.batch * s.heads * positions; ++i) {
    const std::int64_t b = i / positions / s.heads, h = i / positions % s.heads, p = i % positions;
    const C* in = from.at(b, h, p);
    C* out = to.at(b, h, p);
    for (std::int64_t e = 0; e < size; ++e) out[e] = in[e] + bias[h * size + e];
  }
  return heads_first<const C>(made.data(), s.heads, positions, size);
}

// Concatenates past and current keys or values, directly in the output `present` if it is used.
template <class C>
Result<HeadsView<const C>> joined(Frame& frame, const Sizes& s, HeadsView<const C> now, std::int64_t size,
                                  std::size_t past_input, std::size_t output) {
  if (s.past == 0 && !frame.wants(output)) return now;
  const Dims dims{s.batch, s.heads, s.past + s.keys, size};
  HeadsView<const C> past;
  if (s.past > 0) {
    TRY(expect_dims(frame, past_input, {s.batch, s.heads, s.past, size}, "past"));
    past = heads_first(TRY(reals_in<C>(frame, frame.in(past_input))).data(), s.heads, s.past, size);
  }
  if (only_checks(frame)) return now;
  std::optional<RealOutput<C>> present;
  if (frame.wants(output)) {
    present = TRY(RealOutput<C>::make(frame, TRY(frame.out(output, frame.in(kQuery).type(), dims))));
  }
  C* to = present ? present->data() : TRY(frame.scratch_of<C>(dims.count())).data();
  join_heads(s.batch, s.heads, size, past, s.past, now, s.keys, to);
  if (present) present->finish();
  return heads_first<const C>(to, s.heads, s.past + s.keys, size);
}

template <class C>
Result<void> run_in(Frame& frame) {
  Sizes s = TRY(sizes_of(frame));
  if (frame.has(kPastKey)) s.past = frame.in(kPastKey).rank() == 4 ? frame.in(kPastKey).dim(2) : 0;
  if (s.past > 0 && !frame.has(kPastValue)) return wrong("past_key is given without past_value");
  Heads<C> heads = TRY(heads_of<C>(frame, s));
  if (frame.has(kBias)) {
    const std::int64_t width = s.heads * s.size;
    TRY(expect_dims(frame, kBias, {2 * width + s.heads * s.v_size}, "bias"));
    const C* bias = TRY(reals_in<C>(frame, frame.in(kBias))).data();
    heads.q = TRY(biased(frame, s, heads.q, s.queries, s.size, bias));
    if (s.packing != Sizes::Packing::heads_first) {
      heads.k = TRY(biased(frame, s, heads.k, s.keys, s.size, bias + width));
      heads.v = TRY(biased(frame, s, heads.v, s.keys, s.v_size, bias + 2 * width));
    }
  }
  AttentionCall<C> all{.batch = s.batch,
                       .heads = s.heads,
                       .kv_heads = s.heads,
                       .queries = s.queries,
                       .keys = s.past + s.keys,
                       .size = s.size,
                       .v_size = s.v_size};
  all.q = heads.q;
  all.k = TRY(joined(frame, s, heads.k, s.size, kPastKey, 1));
  all.v = TRY(joined(frame, s, heads.v, s.v_size, kPastValue, 2));
  const double scale = frame.real("scale", 0);
  all.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(s.size)) : scale;
  all.causal = frame.flag("unidirectional");
  all.causal_offset = all.keys - s.queries;
  const MaskedSizes masked{s.batch, s.heads, s.queries, all.keys};
  all.biases[0] = TRY(filter_mask<C>(frame, kMask, masked));
  all.biases[1] = TRY(score_bias<C>(frame, kScoreBias, masked));
  const ElementType type = frame.in(kQuery).type();
  auto y = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, type, {s.batch, s.queries, s.heads * s.v_size}))));
  all.y = heads_last(y.data(), s.queries, s.v_size, s.heads * s.v_size);
  std::optional<RealOutput<C>> scores;
  if (frame.wants(3)) {
    const Dims dims{s.batch, s.heads, s.queries, all.keys};
    scores = TRY(RealOutput<C>::make(frame, TRY(frame.out(3, type, dims))));
    all.scores = scores->data();
    all.stage = Stage::softmax;
  }
  TRY(attend(frame, all));
  y.finish();
  if (scores) scores->finish();
  return {};
}

Result<void> run(Frame& frame) {
  return wants_double(frame.in(kQuery).type()) ? run_in<double>(frame) : run_in<float>(frame);
}

}  // namespace

std::span<const Descriptor> multi_head_attention_descriptors() {
  static const Descriptor all[] = {{.name = "MultiHeadAttention",
                                    .domain = kMicrosoft,
                                    .since = {1},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .traits = computes_sensitive({0, 1, 2}).with_mask(5)}};
  return all;
}

}  // namespace anybit::ops
