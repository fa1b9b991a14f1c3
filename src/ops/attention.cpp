// Attention: softmax(Q·Kᵀ)·V for each head. ONNX: Attention-23, -24; ONNX Runtime's Attention and
// MultiHeadAttention.
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
  if (!q || !k || !v || values.empty()) return values;
  values[0].shape = call.in(0).has_rank(4) ? Shape{q->batch, q->heads, q->sequence, v->size}
                                           : Shape{q->batch, q->sequence, q->heads * v->size};
  if (values.size() > 1) values[1] = tensor(call.in(1).type, Shape{k->batch, k->heads, total, k->size});
  if (values.size() > 2) values[2] = tensor(call.in(2).type, Shape{v->batch, v->heads, total, v->size});
  if (values.size() > 3) values[3] = tensor(type, Shape{q->batch, q->heads, q->sequence, total});
  return values;
}

// Masked products are counted: whether they are skipped is up to the runtime.
Dim macs(const Call& call, std::span<const Value>) {
  const auto [q, k, v, total] = operands_of(call);
  if (!q || !k || !v) return {};
  return q->batch * q->heads * q->sequence * total * (k->size + v->size);
}

// ONNX Runtime: input (batch, sequence, hidden), one weight for Q, K and V side by side.
struct Packed {
  Dim batch, sequence, hidden, q_size, k_size, v_size;
};

std::optional<Packed> packed_of(const Call& call) {
  const auto& x = call.in(0).shape;
  const auto& w = call.in(1).shape;
  if (!x || !w || x->size() != 3 || w->size() != 2) return std::nullopt;
  Packed packed{(*x)[0], (*x)[1], (*x)[2], {}, {}, {}};
  if (const auto sizes = call.integers("qkv_hidden_sizes"); sizes && sizes->size() == 3) {
    packed.q_size = (*sizes)[0], packed.k_size = (*sizes)[1], packed.v_size = (*sizes)[2];
  } else {
    packed.q_size = packed.k_size = packed.v_size = floor_div((*w)[1], 3);
  }
  return packed;
}

Result<Values> infer_packed(const Call& call) {
  const auto packed = packed_of(call);
  if (!packed) return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  return outputs_of(call, tensor(call.in(0).type, Shape{packed->batch, packed->sequence, packed->v_size}));
}

Dim macs_packed(const Call& call, std::span<const Value>) {
  const auto packed = packed_of(call);
  if (!packed || call.has(4)) return {};
  const Dim rows = packed->batch * packed->sequence;
  const Dim projections = rows * packed->hidden * (packed->q_size + packed->k_size + packed->v_size);
  return projections + rows * packed->sequence * (packed->q_size + packed->v_size);
}

// ONNX Runtime: Q, K, V already projected, heads inside the last axis.
Result<Values> infer_multi_head(const Call& call) {
  const auto& q = call.in(0).shape;
  const auto& v = call.in(2).shape;
  if (!q || !v || q->size() != 3 || v->size() != 3)
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  return outputs_of(call, tensor(call.in(0).type, Shape{(*q)[0], (*q)[1], (*v)[2]}));
}

Dim macs_multi_head(const Call& call, std::span<const Value>) {
  const auto& q = call.in(0).shape;
  const auto& k = call.in(1).shape;
  const auto& v = call.in(2).shape;
  if (!q || !k || !v || q->size() != 3 || k->size() != 3 || v->size() != 3 || call.has(6)) return {};
  return (*q)[0] * (*q)[1] * (*k)[1] * ((*q)[2] + (*v)[2]);
}

}  // namespace

std::span<const Descriptor> attention_descriptors() {
  static const Descriptor all[] = {
      {.name = "Attention", .domain = "", .since = {23, 24}, .infer = infer, .macs = macs},
      {.name = "Attention", .domain = kMicrosoft, .since = {1}, .infer = infer_packed, .macs = macs_packed},
      {.name = "MultiHeadAttention",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_multi_head,
       .macs = macs_multi_head},
  };
  return all;
}

}  // namespace anybit::ops
