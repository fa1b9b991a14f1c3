// Operators with a state along the sequence: LinearAttention, CausalConvWithState.
#include <cmath>

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

enum Input : std::size_t { kQuery, kKey, kValue, kState, kDecay, kBeta };

// Each head has a state matrix [size, v_size], which decays, is updated by key and value, and is read by the
// query.
void emit_linear_attention(Node& node) {
  const Value &q = node.in(kQuery), &v = node.in(kValue), &state = node.out(1);
  const std::string rule = node.text("update_rule", "gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const std::int64_t heads = node.integer("q_num_heads", 1), kv_heads = node.integer("kv_num_heads", 1),
                     length = q.dims[1];
  const std::int64_t size = q.dims[2] / heads, wide = v.dims[2] / kv_heads, group = heads / kv_heads;
  const std::string cells = node.scratch("float", size * wide), update = node.scratch("float", wide);
  const auto element = [&](std::size_t i, const std::string& at) {
    return load(node, node.in(i), node.x(i), at);
  };
  const auto each_cell = [&](const std::string& text) {
    node.loop("d", size);
    node.line("for (int32_t e = 0; e < {}; ++e) {}", wide, text);
    node.end();
  };
  const std::string cell = fmt::format("{}[d * {} + e]", cells, wide);
  node.loop("b", q.dims[0]);
  node.loop("h", kv_heads);
  const std::string at_state = fmt::format("((b * {} + h) * {} + d) * {} + e", kv_heads, size, wide);
  each_cell(fmt::format("{} = {};", cell, node.has(kState) ? element(kState, at_state) : "0"));
  node.loop("t", length);
  const std::string row = fmt::format("(b * {} + t)", length);
  if (gated) {
    const bool by_key = node.in(kDecay).dims[2] != kv_heads || size == 1;
    const std::string at = by_key ? fmt::format("({} * {} + h) * {} + d", row, kv_heads, size)
                                  : fmt::format("{} * {} + h", row, kv_heads);
    node.loop("d", size);
    node.line("const float factor = expf({});", element(kDecay, at));
    node.line("for (int32_t e = 0; e < {}; ++e) {} *= factor;", wide, cell);
    node.end();
  }
  const std::string key = element(kKey, fmt::format("({} * {} + h) * {} + d", row, kv_heads, size));
  node.line("for (int32_t e = 0; e < {}; ++e) {}[e] = {};", wide, update,
            element(kValue, fmt::format("({} * {} + h) * {} + e", row, kv_heads, wide)));
  if (delta) {
    each_cell(fmt::format("{}[e] -= {} * {};", update, cell, key));
    const bool shared = node.in(kBeta).dims[2] == 1;
    node.line("for (int32_t e = 0; e < {}; ++e) {}[e] *= {};", wide, update,
              element(kBeta, shared ? row : fmt::format("{} * {} + h", row, kv_heads)));
  }
  each_cell(fmt::format("{} += {} * {}[e];", cell, key, update));
  const float given = node.real("scale", 0);
  const float scale = given == 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(size))) : given;
  node.open("for (int32_t g = h * {0}; g < (h + 1) * {0}; ++g)", group);
  node.loop("e", wide);
  node.line("float s = 0;");
  node.line("for (int32_t d = 0; d < {}; ++d) s += {} * {};", size,
            element(kQuery, fmt::format("({} * {} + g) * {} + d", row, heads, size)), cell);
  node.line("{}", store(node, node.out(), node.y(), fmt::format("({} * {} + g) * {} + e", row, heads, wide),
                        "s * " + literal(scale)));
  node.end();
  node.close();
  node.end();
  each_cell(store(node, state, node.y(1), at_state, cell));
  node.end();
  node.end();
}

// One channel; the state holds the inputs before the sequence.
void emit_causal_conv(Node& node) {
  const Value& x = node.in(0);
  const std::int64_t channels = x.dims[1], length = x.dims[2], kernel = node.in(1).dims[2], past = kernel - 1;
  const std::string activation = node.text("activation", "none");
  const auto at = [&](const std::string& t) {
    const std::string now = load(node, x, node.x(0), fmt::format("i * {} + {} - {}", length, t, past));
    if (past == 0) return now;
    const std::string then =
        node.has(3) ? load(node, node.in(3), node.x(3), fmt::format("i * {} + {}", past, t)) : "0";
    return fmt::format("({} < {} ? {} : {})", t, past, then, now);
  };
  node.loop("i", x.dims[0] * channels);
  node.loop("t", length);
  node.line("{} x = {};", computed(x),
            node.has(2) ? load(node, node.in(2), node.x(2), fmt::format("i % {}", channels)) : "0");
  node.loop("k", kernel);
  node.line("const int32_t p = t + k;");
  node.line("x += {} * {};",
            load(node, node.in(1), node.x(1), fmt::format("i % {} * {} + k", channels, kernel)), at("p"));
  node.end();
  node.line("{}", store(node, node.out(), node.y(), fmt::format("i * {} + t", length),
                        activation == "none" ? "x" : typed("x / (1 + exp$f(-x))", x)));
  node.end();
  if (node.has_out(1) && past > 0) {
    node.loop("t", past);
    node.line("const int32_t p = t + {};", length);
    node.line("{}", store(node, node.out(1), node.y(1), fmt::format("i * {} + t", past), at("p")));
    node.end();
  }
  node.end();
}

}  // namespace

std::span<const Descriptor> stateful_descriptors() {
  static constexpr Descriptor all[] = {{"CausalConvWithState", "", emit_causal_conv},
                                       {"LinearAttention", "", emit_linear_attention}};
  return all;
}

}  // namespace anybit::cgen
