// FlexAttention: attention with subgraphs that modify the scores and the probabilities. ONNX:
// ai.onnx.preview, -1.
#include <cmath>

#include "ops/attention/scaled_dot_product.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& q = call.in(0).shape;
  const auto& k = call.in(1).shape;
  const auto& v = call.in(2).shape;
  const bool known = q && k && v && q->size() == 4 && k->size() == 4 && v->size() == 4;
  if (known) {
    const auto precision = call.integer("softmax_precision");
    const ElementType own =
        call.in(0).type == ElementType::float64 ? ElementType::float64 : ElementType::float32;
    const Value scores =
        tensor(precision ? type_of(*precision) : own, Shape{(*q)[0], (*q)[1], (*q)[2], (*k)[2]});
    for (const char* name : {"score_mod", "prob_mod"}) {
      if (const graph::Graph* graph = call.graph(name))
        call.repeat(TRY(call.enter(*graph, {scores}, name)), 1);
    }
  }
  return outputs_of(call,
                    tensor(call.in(0).type,
                           known ? std::optional(Shape{(*q)[0], (*q)[1], (*q)[2], (*v)[3]}) : std::nullopt));
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto& q = call.in(0).shape;
  const auto& k = call.in(1).shape;
  const auto& v = call.in(2).shape;
  if (!q || !k || !v || q->size() != 4 || k->size() != 4 || v->size() != 4) return {};
  return (*q)[0] * (*q)[1] * (*q)[2] * (*k)[2] * ((*q)[3] + (*v)[3]);
}

struct Sizes {
  std::int64_t batch, heads, kv_heads, queries, keys, size, v_size;
};

Result<Sizes> sizes_of(const Frame& frame) {
  for (const std::size_t i : {0, 1, 2}) {
    if (frame.in(i).rank() != 4)
      return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))), "rank 4");
  }
  const Dims &q = frame.in(0).dims(), &k = frame.in(1).dims(), &v = frame.in(2).dims();
  if (k[1] < 1 || q[1] % k[1] != 0)
    return wrong(fmt::format("{} query heads cannot share {} key heads", q[1], k[1]), "a divisor");
  TRY(expect_dims(frame, 1, {q[0], k[1], k[2], q[3]}, "key"));
  TRY(expect_dims(frame, 2, {q[0], k[1], k[2], v[3]}, "value"));
  return Sizes{q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
}

// Applies a subgraph to the scores. The result is copied, since it may be the subgraph's input.
template <class C>
Result<void> change(Frame& frame, const char* graph, ElementType type, Array& scores) {
  if (!frame.graph(graph)) return {};
  Array given = scores;
  if (type != scores.type()) {
    given = TRY(Array::make(frame.memory(), type, scores.dims()));
    for_real(type, [&]<class T>(T) {
      for (std::int64_t i = 0; i < scores.count(); ++i)
        given.mutable_data<T>()[i] = T(static_cast<Computed<T>>(scores.data<C>()[i]));
    });
  }
  const Datum input(given);
  const auto results = TRY(frame.call(graph, std::span(&input, 1)));
  if (results.size() != 1 || !results[0].is_array() || !(results[0].array.dims() == scores.dims())) {
    return wrong(fmt::format("{} does not return one tensor of shape {}", graph, to_string(scores.dims())));
  }
  const auto made = TRY(reals_in<C>(frame, results[0].array));
  Array changed = TRY(Array::make(frame.memory(), scores.type(), scores.dims()));
  std::copy(made.begin(), made.end(), changed.mutable_data<C>());
  scores = std::move(changed);
  return {};
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Sizes s = TRY(sizes_of(frame));
  const C* q = TRY(reals_in<C>(frame, frame.in(0))).data();
  const C* k = TRY(reals_in<C>(frame, frame.in(1))).data();
  const C* v = TRY(reals_in<C>(frame, frame.in(2))).data();
  const auto precision = frame.integer("softmax_precision");
  const ElementType type = precision ? type_of(*precision) : kTypeOf<C>;
  const double scale = frame.real("scale", 1 / std::sqrt(static_cast<double>(s.size)));
  const std::int64_t all = s.batch * s.heads, group = s.heads / s.kv_heads;
  if (precision && !for_real(type, [](auto) {}))
    return wrong(fmt::format("softmax_precision {} is not a floating-point type", *precision));
  if (only_checks(frame)) return {};
  Array scores = TRY(Array::make(frame.memory(), kTypeOf<C>, {s.batch, s.heads, s.queries, s.keys}));
  const auto kv = [&](std::int64_t i) { return i / s.heads * s.kv_heads + i % s.heads / group; };
  for (std::int64_t i = 0; i < all; ++i) {
    small_gemm(frame, s.queries, s.keys, s.size, q + i * s.queries * s.size, s.size,
               k + kv(i) * s.keys * s.size, s.size, true, scale,
               scores.mutable_data<C>() + i * s.queries * s.keys, s.keys);
  }
  TRY(change<C>(frame, "score_mod", type, scores));
  for (std::int64_t i = 0; i < all * s.queries; ++i)
    softmax_in_place(scores.mutable_data<C>() + i * s.keys, s.keys);
  TRY(change<C>(frame, "prob_mod", type, scores));
  Array* out = TRY(frame.out(0, frame.in(0).type(), {s.batch, s.heads, s.queries, s.v_size}));
  auto y = TRY(RealOutput<C>::make(frame, out));
  for (std::int64_t i = 0; i < all; ++i) {
    small_gemm(frame, s.queries, s.v_size, s.keys, scores.data<C>() + i * s.queries * s.keys, s.keys,
               v + kv(i) * s.keys * s.v_size, s.v_size, false, 1, y.data() + i * s.queries * s.v_size,
               s.v_size);
  }
  y.finish();
  return {};
}

Result<void> run(Frame& frame) {
  const bool wide = wants_double(frame.in(0).type()) ||
                    frame.integer("softmax_precision", 1) == static_cast<std::int64_t>(ElementType::float64);
  return wide ? run_in<double>(frame) : run_in<float>(frame);
}

}  // namespace

std::span<const Descriptor> flex_attention_descriptors() {
  static const Descriptor all[] = {{.name = "FlexAttention",
                                    .domain = "ai.onnx.preview",
                                    .since = {1},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .required = 3,
                                    .traits = computes_sensitive({0, 1, 2})}};
  return all;
}

}  // namespace anybit::ops
