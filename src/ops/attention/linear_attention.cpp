// LinearAttention: each head has a state matrix that every position updates and the queries read. ONNX: -27.
#include <cmath>

#include "base/math.hpp"
#include "ops/attention/scaled_dot_product.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum Input : std::size_t { kQuery, kKey, kValue, kState, kDecay, kBeta };

Result<Values> infer(const Call& call) {
  Values values = unknown_outputs(call);
  const std::int64_t heads = call.integer("q_num_heads", 0), kv_heads = call.integer("kv_num_heads", 0);
  const auto& q = call.in(kQuery).shape;
  const auto& v = call.in(kValue).shape;
  const ElementType state = call.has(kState) ? call.in(kState).type : call.in(kQuery).type;
  if (!values.empty()) values[0].type = call.in(kQuery).type;
  if (values.size() > 1) values[1].type = state;
  if (!q || !v || q->size() != 3 || v->size() != 3 || heads < 1 || kv_heads < 1) return values;
  const Dim v_size = floor_div((*v)[2], kv_heads);
  if (!values.empty()) values[0].shape = Shape{(*q)[0], (*q)[1], Dim(heads) * v_size};
  if (values.size() > 1) values[1].shape = Shape{(*q)[0], kv_heads, floor_div((*q)[2], heads), v_size};
  return values;
}

struct Sizes {
  std::int64_t batch, length, heads, kv_heads, size, v_size;
};

Result<Sizes> sizes_of(const Frame& frame) {
  const std::int64_t heads = frame.integer("q_num_heads", 0), kv_heads = frame.integer("kv_num_heads", 0);
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
    return wrong(fmt::format("q_num_heads is {} and kv_num_heads {}", heads, kv_heads),
                 "q_num_heads a multiple of kv_num_heads");
  }
  const Dims& q = frame.in(kQuery).dims();
  const Dims& v = frame.in(kValue).dims();
  if (q.size() != 3 || v.size() != 3 || q[2] % heads != 0 || v[2] % kv_heads != 0) {
    return wrong(
        fmt::format("query {} and value {} do not fit these numbers of heads", to_string(q), to_string(v)));
  }
  const Sizes s{q[0], q[1], heads, kv_heads, q[2] / heads, v[2] / kv_heads};
  TRY(expect_dims(frame, kKey, {s.batch, s.length, kv_heads * s.size}, "key"));
  TRY(expect_dims(frame, kValue, {s.batch, s.length, v[2]}, "value"));
  if (frame.has(kState)) TRY(expect_dims(frame, kState, {s.batch, kv_heads, s.size, s.v_size}, "past_state"));
  return s;
}

// An optional input of [batch, length, n]: n, or 0 if it is absent.
Result<std::int64_t> width_of(const Frame& frame, std::size_t input, bool wanted, const Sizes& s,
                              std::initializer_list<std::int64_t> allowed) {
  if (frame.has(input) != wanted) {
    return wrong(fmt::format("input {} is {} this update_rule", input, wanted ? "missing for" : "not for"));
  }
  if (!wanted) return 0;
  const Dims& dims = frame.in(input).dims();
  for (const std::int64_t width : allowed) {
    if (dims == Dims{s.batch, s.length, width}) return width;
  }
  return wrong(fmt::format("input {} is {}", input, to_string(frame.in(input))));
}

// One head over all positions. `state` is [size, v_size].
struct Step {
  const Sizes& s;
  double scale;
  bool gated, delta;
  const float *decay, *beta;  // of this head
  std::int64_t decay_row, beta_row;
  bool decay_by_key;

  void forget(std::int64_t t, float* state) const {
    for (std::int64_t d = 0; d < s.size; ++d) {
      const float factor = math::exp(decay[t * decay_row + (decay_by_key ? d : 0)]);
      for (std::int64_t e = 0; e < s.v_size; ++e) state[d * s.v_size + e] *= factor;
    }
  }
  // `update`: the value written for key k; for delta rules, its scaled difference from the state's value.
  void learn(std::int64_t t, const float* k, const float* v, float* state, float* update) const {
    std::copy_n(v, s.v_size, update);
    if (delta) {
      for (std::int64_t d = 0; d < s.size; ++d) {
        for (std::int64_t e = 0; e < s.v_size; ++e) update[e] -= state[d * s.v_size + e] * k[d];
      }
      for (std::int64_t e = 0; e < s.v_size; ++e) update[e] *= beta[t * beta_row];
    }
    for (std::int64_t d = 0; d < s.size; ++d) {
      for (std::int64_t e = 0; e < s.v_size; ++e) state[d * s.v_size + e] += k[d] * update[e];
    }
  }
  void read(const float* q, const float* state, float* y) const {
    std::fill_n(y, s.v_size, 0.0f);
    for (std::int64_t d = 0; d < s.size; ++d) {
      for (std::int64_t e = 0; e < s.v_size; ++e) y[e] += q[d] * state[d * s.v_size + e];
    }
    for (std::int64_t e = 0; e < s.v_size; ++e) y[e] *= static_cast<float>(scale);
  }
};

Result<void> run(Frame& frame) {
  const Sizes s = TRY(sizes_of(frame));
  const std::string_view rule = frame.text("update_rule", "gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    return wrong(fmt::format("update_rule is '{}'", shown(rule)), "linear, gated, delta or gated_delta");
  }
  const std::int64_t decay_row = TRY(width_of(frame, kDecay, gated, s, {s.kv_heads, s.kv_heads * s.size}));
  const std::int64_t beta_row = TRY(width_of(frame, kBeta, delta, s, {s.kv_heads, 1}));
  const auto read = [&](std::size_t i) -> Result<const float*> {
    return frame.has(i) ? TRY(reals_in<float>(frame, frame.in(i))).data() : nullptr;
  };
  const auto q = heads_last(TRY(read(kQuery)), s.length, s.size, s.heads * s.size);
  const auto k = heads_last(TRY(read(kKey)), s.length, s.size, s.kv_heads * s.size);
  const auto v = heads_last(TRY(read(kValue)), s.length, s.v_size, s.kv_heads * s.v_size);
  const float *past = TRY(read(kState)), *decay = TRY(read(kDecay)), *beta = TRY(read(kBeta));
  const ElementType type = frame.in(kQuery).type(), state_type = past ? frame.in(kState).type() : type;
  auto y =
      TRY(RealOutput<float>::make(frame, TRY(frame.out(0, type, {s.batch, s.length, s.heads * s.v_size}))));
  auto states = TRY(
      RealOutput<float>::make(frame, TRY(frame.out(1, state_type, {s.batch, s.kv_heads, s.size, s.v_size}))));
  const auto updates = TRY(frame.scratch_of<float>(s.batch * s.kv_heads * s.v_size));
  const auto to = heads_last(y.data(), s.length, s.v_size, s.heads * s.v_size);
  const double given = frame.real("scale", 0);
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(s.size)) : given;
  const std::int64_t cells = s.size * s.v_size, group = s.heads / s.kv_heads;
  const bool by_key = decay_row != s.kv_heads || s.size == 1;
  const double cost = 3.0 * static_cast<double>(s.length * cells);
  parallel(frame, s.batch * s.kv_heads, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t b = i / s.kv_heads, h = i % s.kv_heads;
      float* state = states.data() + i * cells;
      if (past)
        std::copy_n(past + i * cells, cells, state);
      else
        std::fill_n(state, cells, 0.0f);
      const Step step{s,
                      scale,
                      gated,
                      delta,
                      decay ? decay + b * s.length * decay_row + h * (by_key ? s.size : 1) : nullptr,
                      beta ? beta + b * s.length * beta_row + (beta_row == 1 ? 0 : h) : nullptr,
                      decay_row,
                      beta_row,
                      by_key};
      for (std::int64_t t = 0; t < s.length; ++t) {
        if (gated) step.forget(t, state);
        step.learn(t, k.at(b, h, t), v.at(b, h, t), state, updates.data() + i * s.v_size);
        for (std::int64_t g = h * group; g < (h + 1) * group; ++g)
          step.read(q.at(b, g, t), state, to.at(b, g, t));
      }
    }
  });
  y.finish();
  states.finish();
  return {};
}

}  // namespace

std::span<const Descriptor> linear_attention_descriptors() {
  static const Descriptor all[] = {{.name = "LinearAttention",
                                    .domain = "",
                                    .since = {27},
                                    .infer = infer,
                                    .run = run,
                                    .required = 3,
                                    .traits = computes_sensitive({0, 1, 2})}};
  return all;
}

}  // namespace anybit::ops
