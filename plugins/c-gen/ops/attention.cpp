// Attention: softmax(scale · Q·Kᵀ + mask) · V per head; RotaryEmbedding.
#include <cmath>

#include "nest.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

enum Input : std::size_t { kQ, kK, kV, kMask, kPastK, kPastV, kKeyCounts };

// [batch, heads, positions, size], or [batch, positions, heads · size].
struct Heads {
  std::int64_t batch, heads, positions, size;
  bool flat;

  std::string at(std::string_view head, std::string_view position) const {
    return flat ? fmt::format("((b * {} + {}) * {} + {}) * {}", positions, position, heads, head, size)
                : fmt::format("((b * {} + {}) * {} + {}) * {}", heads, head, positions, position, size);
  }
};

Heads heads_of(const Node& node, const Dims& dims, std::string_view attribute) {
  if (dims.size() == 4) return {dims[0], dims[1], dims[2], dims[3], false};
  const std::int64_t heads = node.integer(attribute, 0);
  if (dims.size() != 3 || heads < 1)
    node.refuse("its inputs have {} dimensions and {} heads", dims.size(), heads);
  return {dims[0], heads, dims[1], dims[2] / heads, true};
}

struct Attention {
  Node& node;
  const Value& type;
  Heads q, k, v;
  std::int64_t past, keys;
  std::string row;  // the scores of one query

  explicit Attention(Node& of)
      : node(of),
        type(of.in(kQ)),
        q(heads_of(of, of.in(kQ).dims, "q_num_heads")),
        k(heads_of(of, of.in(kK).dims, "kv_num_heads")),
        v(heads_of(of, of.in(kV).dims, "kv_num_heads")),
        past(of.has(kPastK) ? of.in(kPastK).dims[2] : 0),
        keys(past + k.positions),
        row(of.scratch(computed(type), keys)) {
    if (!is_real(type)) node.refuse("unsupported input type {}", type.info().name);
  }

  // An element of the keys or values at position j, which may be in the past cache.
  std::string element(std::size_t input, std::size_t past_input, const Heads& own, std::string_view d) {
    const std::string head = fmt::format("h / {}", q.heads / own.heads);
    const std::string now =
        load(node, node.in(input), node.x(input),
             own.at("(" + head + ")", past ? fmt::format("(j - {})", past) : "j") + " + " + std::string(d));
    if (past == 0) return now;
    const Heads before{own.batch, own.heads, past, own.size, false};
    const std::string then = load(node, node.in(past_input), node.x(past_input),
                                  before.at("(" + head + ")", "j") + " + " + std::string(d));
    return fmt::format("(j < {} ? {} : {})", past, then, now);
  }

  // The mask's addend to the score of key j.
  std::string mask() {
    if (!node.has(kMask)) return "";
    const Value& given = node.in(kMask);
    Dims dims = given.dims;
    while (dims.size() < 4) dims.insert(dims.begin(), 1);
    const Dims strides = spread_strides(dims, {q.batch, q.heads, q.positions, dims[3]});
    std::string at =
        fmt::format("b * {} + h * {} + i * {} + j * {}", strides[0], strides[1], strides[2], strides[3]);
    const std::string element = load(node, given, node.x(kMask), at);
    std::string text = is_boolean(given) ? fmt::format("({} ? 0 : -INFINITY)", element)
                                         : fmt::format("({}){}", computed(type), element);
    const bool stretched = dims[3] == 1 && node.version() < 24;
    return dims[3] == keys || stretched ? text : fmt::format("(j < {} ? {} : -INFINITY)", dims[3], text);
  }

  // The score output holds the scores of one stage (qk_matmul_output_mode).
  void keep(std::int64_t stage) {
    if (!node.has_out(3) || node.integer("qk_matmul_output_mode", 0) != stage) return;
    const std::string at = fmt::format("((b * {} + h) * {} + i) * {} + j", q.heads, q.positions, keys);
    each_key([&] { node.line("{}", store(node, node.out(3), node.y(3), at, row + "[j]")); });
  }
  template <class F>
  void each_key(const F& body) {
    node.loop("j", keys);
    body();
    node.end();
  }

  void score() {
    const float scale = node.real("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(q.size))));
    each_key([&] {
      node.line("{} s = 0;", computed(type));
      node.loop("d", q.size);
      node.line("s += {} * {};", load(node, type, node.x(kQ), q.at("h", "i") + " + d"),
                element(kK, kPastK, k, "d"));
      node.end();
      node.line("{}[j] = s * {};", row, number(type, scale));
    });
    keep(0);
    if (const float cap = node.real("softcap", 0); cap > 0)
      each_key([&] {
        node.line("{}",
                  typed("$r[j] = tanh$f($r[j] / $c) * $c;", type, {{"r", row}, {"c", number(type, cap)}}));
      });
    keep(1);
  }

  void limit() {
    const bool causal = node.flag("is_causal");
    const std::string added = mask();
    if (causal || node.has(kKeyCounts)) {
      node.line("int64_t limit = {};", keys);
      if (causal) node.line("if (i + {0} < limit) limit = i + {0};", past + 1);
      if (node.has(kKeyCounts)) node.line("if ({0}[b] < limit) limit = {0}[b];", node.x(kKeyCounts));
      each_key([&] {
        node.line("{0}[j] = j < limit ? {0}[j]{1} : -INFINITY;", row, added.empty() ? "" : " + " + added);
      });
    } else if (!added.empty()) {
      each_key([&] { node.line("{}[j] += {};", row, added); });
    }
    keep(2);
  }

  void weigh() {
    node.line("{} most = -INFINITY, sum = 0;", computed(type));
    each_key([&] { node.line("if ({0}[j] > most) most = {0}[j];", row); });
    each_key([&] { node.line("{}", typed("sum += $r[j] = exp$f($r[j] - most);", type, {{"r", row}})); });
    each_key([&] { node.line("{}[j] /= sum;", row); });
    keep(3);
    const Heads y{q.batch, q.heads, q.positions, v.size, q.flat};
    node.loop("d", v.size);
    node.line("{} s = 0;", computed(type));
    // Masked values have weight 0 even if they are infinite, which must not become NaN.
    each_key([&] { node.line("if ({0}[j] != 0) s += {0}[j] * {1};", row, element(kV, kPastV, v, "d")); });
    node.line("{}", store(node, node.out(), node.y(), y.at("h", "i") + " + d", "s"));
    node.end();
  }

  // Concatenates the past keys or values with the new ones.
  void join(std::size_t output, std::size_t input, std::size_t past_input, const Heads& own) {
    if (!node.has_out(output)) return;
    node.loop("b", own.batch);
    node.loop("h", own.heads);
    node.loop("j", keys);
    node.loop("d", own.size);
    Heads all = own;
    all.positions = keys;
    all.flat = false;
    const Heads query = q;
    q.heads = own.heads;  // per head
    node.line("{}", store(node, node.out(output), node.y(output), all.at("h", "j") + " + d",
                          element(input, past_input, own, "d")));
    q = query;
    for (int i = 0; i < 4; ++i) node.end();
  }
};

void emit_attention(Node& node) {
  Attention a(node);
  a.join(1, kK, kPastK, a.k);
  a.join(2, kV, kPastV, a.v);
  node.loop("b", a.q.batch);
  node.loop("h", a.q.heads);
  node.loop("i", a.q.positions);
  a.score();
  a.limit();
  a.weigh();
  for (int i = 0; i < 3; ++i) node.end();
}

// Rotates pairs of elements of each head by an angle that depends on the position.
void emit_rotary(Node& node) {
  const Value& x = node.in(0);
  const Heads heads = heads_of(node, x.dims, "num_heads");
  std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = heads.size;
  std::string row = fmt::format("(b * {} + i)", heads.positions);
  if (node.has(3))
    row = within(node, fmt::format("{}[b * {} + i]", node.x(3), heads.positions), 0, node.in(1).dims[0] - 1);
  const bool interleaved = node.flag("interleaved");
  node.loop("b", heads.batch);
  node.loop("h", heads.heads);
  node.loop("i", heads.positions);
  node.loop("d", turned / 2);
  const std::string base = heads.at("h", "i");
  node.line("const int32_t p = {} + {}, q = {};", base, interleaved ? "2 * d" : "d",
            interleaved ? "p + 1" : fmt::format("p + {}", turned / 2));
  node.line("const {} a = {}, b2 = {};", computed(x), load(node, x, node.x(0), "p"),
            load(node, x, node.x(0), "q"));
  const std::string at = fmt::format("{} * {} + d", row, turned / 2);
  node.line("const {} cosine = {}, sine = {};", computed(x), load(node, node.in(1), node.x(1), at),
            load(node, node.in(2), node.x(2), at));
  node.line("{}", store(node, node.out(), node.y(), "p", "cosine * a - sine * b2"));
  node.line("{}", store(node, node.out(), node.y(), "q", "sine * a + cosine * b2"));
  node.end();
  if (turned < heads.size) {
    node.open("for (int32_t d = {}; d < {}; ++d)", turned, heads.size);
    node.line("{0}[{1} + d] = {2}[{1} + d];", node.y(), base, node.x(0));
    node.close();
  }
  for (int i = 0; i < 3; ++i) node.end();
}

}  // namespace

std::span<const Descriptor> attention_descriptors() {
  static constexpr Descriptor all[] = {{"Attention", "", emit_attention},
                                       {"RotaryEmbedding", "", emit_rotary}};
  return all;
}

}  // namespace anybit::cgen
