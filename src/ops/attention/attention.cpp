// Attention: softmax(Q·Kᵀ)·V for each head. ONNX: -23, -24 (keys may be padded).
#include <cmath>
#include <limits>

#include "ops/attention/scaled_dot_product.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Q, K and V have rank 4 (batch, heads, sequence, size), or rank 3 with the heads inside the last axis.
struct Heads {
  Dim batch, heads, sequence, size;
};

std::optional<Heads> heads_of(const Value& value, std::int64_t count) {
  if (value.has_rank(4)) {
    const Shape& s = *value.shape;
    return Heads{s[0], s[1], s[2], s[3]};
  }
  if (!value.has_rank(3)) return std::nullopt;
  const Shape& s = *value.shape;
  return Heads{s[0], count > 0 ? Dim(count) : Dim(), s[1], floor_div(s[2], count)};
}

struct Operands {
  std::optional<Heads> q, k, v;
  Dim total;  // keys, with those of the past
};

Operands operands_of(const Call& call) {
  const std::int64_t q_heads = call.integer("q_num_heads", 0);
  const std::int64_t kv_heads = call.integer("kv_num_heads", q_heads);
  Operands all{
      heads_of(call.in(0), q_heads), heads_of(call.in(1), kv_heads), heads_of(call.in(2), kv_heads), {}};
  if (!all.k) return all;
  const bool past = call.has(4);
  const Dim before = !past ? Dim(0) : call.in(4).has_rank(4) ? (*call.in(4).shape)[2] : Dim();
  all.total = all.k->sequence + before;
  return all;
}

Result<Values> infer(const Call& call) {
  const auto [q, k, v, total] = operands_of(call);
  const ElementType type = call.in(0).type;
  Values values(call.output_count(), tensor(type, std::nullopt));
  for (std::size_t i = 1; i < 3 && i < values.size(); ++i) values[i].type = call.in(i).type;
  if (!q || !k || !v || values.empty()) return values;
  values[0].shape = call.in(0).has_rank(4) ? Shape{q->batch, q->heads, q->sequence, v->size}
                                           : Shape{q->batch, q->sequence, q->heads * v->size};
  if (values.size() > 1) values[1] = tensor(call.in(1).type, Shape{k->batch, k->heads, total, k->size});
  if (values.size() > 2) values[2] = tensor(call.in(2).type, Shape{v->batch, v->heads, total, v->size});
  if (values.size() > 3) values[3] = tensor(type, Shape{q->batch, q->heads, q->sequence, total});
  return values;
}

// Masked positions are counted: skipping them is up to the runtime.
Dim macs(const Call& call, std::span<const Value>) {
  const auto [q, k, v, total] = operands_of(call);
  if (!q || !k || !v) return {};
  return q->batch * q->heads * q->sequence * total * (k->size + v->size);
}

// Run-time layout of Q, K or V.
struct Layout4 {
  std::int64_t batch = 0, heads = 0, positions = 0, size = 0;
  bool flat = false;  // rank 3: heads inside the last axis

  template <class C>
  HeadsView<C> view(C* data) const {
    return flat ? heads_last(data, positions, size, heads * size) : heads_first(data, heads, positions, size);
  }
};

Result<Layout4> layout_of(const Frame& frame, std::size_t input, std::string_view heads_attribute) {
  const Dims& dims = frame.in(input).dims();
  if (dims.size() == 4) return Layout4{dims[0], dims[1], dims[2], dims[3], false};
  const std::int64_t heads = frame.integer(heads_attribute, 0);
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) {
    return wrong(
        fmt::format("input {} is {} with {} = {}", input, to_string(frame.in(input)), heads_attribute, heads),
        "rank 4, or rank 3 with heads that divide the last size");
  }
  return Layout4{dims[0], heads, dims[1], dims[2] / heads, true};
}

struct Shapes {
  Layout4 q, k, v;
  std::int64_t past = 0;  // positions

  std::int64_t keys() const { return past + k.positions; }
};

Result<Shapes> shapes_of(const Frame& frame) {
  Shapes s;
  s.q = TRY(layout_of(frame, 0, "q_num_heads"));
  s.k = TRY(layout_of(frame, 1, "kv_num_heads"));
  s.v = TRY(layout_of(frame, 2, "kv_num_heads"));
  const bool fit = s.k.batch == s.q.batch && s.v.batch == s.q.batch && s.k.heads == s.v.heads &&
                   s.k.heads > 0 && s.q.heads % s.k.heads == 0 && s.k.positions == s.v.positions &&
                   s.q.size == s.k.size;
  if (!fit) {
    return wrong(fmt::format("query {}, key {} and value {} do not fit together", to_string(frame.in(0)),
                             to_string(frame.in(1)), to_string(frame.in(2))));
  }
  // Queries and keys have one type, values may have another; past keys and values have the type of the
  // present ones.
  for (const auto& [input, as] : {std::pair<std::size_t, std::size_t>{1, 0}, {4, 1}, {5, 2}}) {
    if (!frame.has(input) || frame.in(input).type() == frame.in(as).type()) continue;
    return wrong(fmt::format("input {} is {}", input, to_string(frame.in(input))),
                 fmt::format("{}, as input {}", graph::name_of(frame.in(as).type()), as));
  }
  if (frame.has(4) != frame.has(5))
    return wrong("past_key and past_value are given only one without the other");
  if (frame.has(4)) {
    const Array& past = frame.in(4);
    s.past = past.rank() == 4 ? past.dim(2) : 0;
    TRY(expect_dims(frame, 4, {s.k.batch, s.k.heads, s.past, s.k.size}, "past_key"));
    TRY(expect_dims(frame, 5, {s.v.batch, s.v.heads, s.past, s.v.size}, "past_value"));
  }
  const ElementType mask = frame.in(3).type();
  if (frame.has(3) && mask != ElementType::boolean && !for_number(mask, [](auto) {}))
    return wrong_type(frame, 3);
  if (frame.has(6)) {
    TRY(expect_dims(frame, 6, {s.q.batch}, "nonpad_kv_seqlen"));
    if (frame.in(6).type() != ElementType::int64) return wrong_type(frame, 6);
  }
  return s;
}

// Keys or values preceded by the past ones: in place if there is no past, else concatenated, in the output if
// it is wanted.
template <class C>
Result<HeadsView<const C>> with_past(Frame& frame, const Layout4& layout, std::int64_t past,
                                     std::size_t input, std::size_t past_input, std::size_t output) {
  const HeadsView<const C> now = layout.view(TRY(reals_in<C>(frame, frame.in(input))).data());
  if (past == 0 && !frame.wants(output)) return now;
  const std::int64_t total = past + layout.positions;
  const Dims dims{layout.batch, layout.heads, total, layout.size};
  HeadsView<const C> before;
  if (past > 0) {
    before =
        heads_first(TRY(reals_in<C>(frame, frame.in(past_input))).data(), layout.heads, past, layout.size);
  }
  if (only_checks(frame)) return now;
  C* joined = nullptr;
  if (frame.wants(output)) {
    auto present = TRY(RealOutput<C>::make(frame, TRY(frame.out(output, frame.in(input).type(), dims))));
    joined = present.data();
    join_heads(layout.batch, layout.heads, layout.size, before, past, now, layout.positions, joined);
    present.finish();
  } else {
    joined = TRY(frame.scratch_of<C>(dims.count())).data();
    join_heads(layout.batch, layout.heads, layout.size, before, past, now, layout.positions, joined);
  }
  return heads_first<const C>(joined, layout.heads, total, layout.size);
}

// The mask as an additive mask with a row per query over all keys: false is -infinity, and so are the missing
// keys of a short row.
template <class C>
Result<HeadsView<const C>> mask_of(Frame& frame, const Shapes& s) {
  if (!frame.has(3)) return HeadsView<const C>();
  const Array& mask = frame.in(3);
  const std::int64_t keys = s.keys();
  Dims dims = mask.dims();
  while (dims.size() < 4) dims.insert(0, 1);
  const std::int64_t sizes[] = {s.q.batch, s.q.heads, s.q.positions};
  bool fits = dims.size() == 4 && dims[3] <= keys && dims[3] > 0;
  for (std::size_t i = 0; i < 3; ++i) fits = fits && (dims[i] == 1 || dims[i] == sizes[i]);
  const bool stretched = fits && dims[3] == 1 && frame.version < 24;
  if (!fits || (dims[3] < keys && frame.version < 24 && !stretched)) {
    return wrong(
        fmt::format("the mask is {}", to_string(mask)),
        fmt::format("a shape that broadcasts to {}", to_string(Dims{sizes[0], sizes[1], sizes[2], keys})));
  }
  const std::int64_t rows = dims.product(0, 3), width = dims[3];
  const auto made = TRY(frame.scratch_of<C>(rows * keys));
  constexpr C kNever = -std::numeric_limits<C>::infinity();
  const auto fill = [&](const auto& number) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < keys; ++j) {
        made[static_cast<std::size_t>(r * keys + j)] = stretched   ? number(r)
                                                       : j < width ? number(r * width + j)
                                                                   : kNever;
      }
    }
  };
  if (mask.type() == ElementType::boolean) {
    fill([&](std::int64_t i) { return mask.data<bool>()[i] ? C(0) : kNever; });
  } else if (!for_number(mask.type(), [&]<class T>(T) {
               fill([&](std::int64_t i) {
                 return static_cast<C>(static_cast<Computed<T>>(mask.data<T>()[i]));
               });
             })) {
    return wrong_type(frame, 3);
  }
  HeadsView<const C> view{made.data(), 0, 0, 0};
  if (dims[2] > 1) view.row = keys;
  if (dims[1] > 1) view.head = dims[2] * keys;
  if (dims[0] > 1) view.batch = dims[1] * dims[2] * keys;
  return view;
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Shapes s = TRY(shapes_of(frame));
  AttentionCall<C> all{.batch = s.q.batch,
                       .heads = s.q.heads,
                       .kv_heads = s.k.heads,
                       .queries = s.q.positions,
                       .keys = s.keys(),
                       .size = s.q.size,
                       .v_size = s.v.size};
  all.q = s.q.view(TRY(reals_in<C>(frame, frame.in(0))).data());
  all.k = TRY(with_past<C>(frame, s.k, s.past, 1, 4, 1));
  all.v = TRY(with_past<C>(frame, s.v, s.past, 2, 5, 2));
  all.scale = frame.real("scale", 1 / std::sqrt(static_cast<double>(s.q.size)));
  all.softcap = frame.real("softcap", 0);
  all.biases[0] = TRY(mask_of<C>(frame, s));
  all.causal = frame.flag("is_causal");
  all.causal_offset = s.past;
  if (frame.has(6)) all.key_counts = frame.in(6).data<std::int64_t>();
  const Layout4 result{s.q.batch, s.q.heads, s.q.positions, s.v.size, s.q.flat};
  const Dims dims = s.q.flat ? Dims{s.q.batch, s.q.positions, s.q.heads * s.v.size}
                             : Dims{s.q.batch, s.q.heads, s.q.positions, s.v.size};
  auto y = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, frame.in(0).type(), dims))));
  all.y = result.view(y.data());
  std::optional<RealOutput<C>> scores;
  if (frame.wants(3)) {
    const Dims shape{s.q.batch, s.q.heads, s.q.positions, s.keys()};
    scores = TRY(RealOutput<C>::make(frame, TRY(frame.out(3, frame.in(0).type(), shape))));
    all.scores = scores->data();
    all.stage = static_cast<Stage>(std::clamp<std::int64_t>(frame.integer("qk_matmul_output_mode", 0), 0, 3));
  }
  TRY(attend(frame, all));
  y.finish();
  if (scores) scores->finish();
  return {};
}

Result<void> run(Frame& frame) {
  const bool wide = wants_double(frame.in(0).type()) || wants_double(frame.in(2).type());
  return wide ? run_in<double>(frame) : run_in<float>(frame);
}

}  // namespace

std::span<const Descriptor> attention_descriptors() {
  static const Descriptor all[] = {{.name = "Attention",
                                    .domain = "",
                                    .since = {23, 24},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .required = 3,
                                    .traits = computes_sensitive({0, 1, 2}).with_mask(3)}};
  return all;
}

}  // namespace anybit::ops
