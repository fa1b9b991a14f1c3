// LSTM, GRU and RNN: one step and one sample at a time. ONNX Runtime's DynamicQuantizeLSTM is an LSTM with
// 8-bit weights and dynamically quantized inputs and states.
#include <algorithm>

#include "dynamic_quantize.hpp"
#include "float_gemm.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

enum Input : std::size_t {
  kX,
  kW,
  kR,
  kB,
  kLengths,
  kState,
  kCell,
  kPeepholes,
  kWScale,
  kWZero,
  kRScale,
  kRZero
};

struct Activation {
  std::string_view name, text;  // expression of x, with $a and $b
  bool alpha = false, beta = false;
  float a = 0, b = 0;  // defaults
};

constexpr Activation kActivations[] = {
    {"affine", "$a * x + $b", true, true, 1, 0},
    {"elu", "x < 0 ? $a * expm1$f(x) : x", true, false, 1},
    {"hardsigmoid", "$a * x + $b <= 0 ? 0 : $a * x + $b >= 1 ? 1 : $a * x + $b", true, true, 0.2f, 0.5f},
    {"leakyrelu", "x < 0 ? $a * x : x", true, false, 0.01f},
    {"relu", "x < 0 ? 0 : x"},
    {"scaledtanh", "$a * tanh$f($b * x)", true, true, 1, 1},
    {"sigmoid", "1 / (1 + exp$f(-x))"},
    {"softplus", "x > 20 ? x : log1p$f(exp$f(x))"},
    {"softsign", "x / (1 + fabs$f(x))"},
    {"tanh", "tanh$f(x)"},
    {"thresholdedrelu", "x > $a ? x : 0", true, false, 1},
};

struct Recurrent {
  Node& node;
  const Value& x;
  std::int64_t steps, batch, input, hidden, directions, gates;
  bool batch_first;
  bool quantized;  // int8 weights [direction, k, gates]
  std::string type, gate_sums, more, state, cell;
  std::string x_quantized, state_quantized, integer_sums;
  std::vector<std::string> activations;  // expressions of all directions
  std::int64_t direction = 0;

  Recurrent(Node& of, std::int64_t gate_count, const std::vector<std::string>& usual);
  void run(void (*finish)(Recurrent&));
  void multiply(std::size_t weight, std::int64_t first, std::int64_t count, std::int64_t k,
                const std::string& vector, const std::string& sums);
  // Applies activation i of the direction to `place`.
  void activate(std::size_t i, const std::string& place);
  void clip(const std::string& place);
  std::string peephole(std::int64_t i) const {
    return fmt::format("{}[{} + i]", node.x(kPeepholes), (direction * 3 + i) * hidden);
  }

 private:
  void quantize_inputs();
  void multiply_quantized(std::size_t weight, std::int64_t k, const std::string& integers,
                          const std::string& sums);
  void initialize(std::size_t input, const std::string& to);
  void sum_inputs();
  void write_state(std::size_t output, const std::string& from);
  std::string state_at(std::string_view b) const {
    return batch_first ? fmt::format("({} * {} + {}) * {}", b, directions, direction, hidden)
                       : fmt::format("({} + {}) * {}", direction * batch, b, hidden);
  }
};

std::vector<std::string> expressions(const Node& node, const Value& x, std::size_t count,
                                     const std::vector<std::string>& usual) {
  const auto named = node.texts("activations");
  const auto alphas = node.reals("activation_alpha").value_or(std::vector<float>());
  const auto betas = node.reals("activation_beta").value_or(std::vector<float>());
  std::size_t alpha = 0, beta = 0;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = i < named.size() ? named[i] : usual[i % usual.size()];
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const auto* row = std::ranges::find(kActivations, name, &Activation::name);
    if (row == std::end(kActivations)) node.refuse("unsupported activation {}", name);
    const float a = row->alpha && alpha < alphas.size() ? alphas[alpha++] : row->a;
    const float b = row->beta && beta < betas.size() ? betas[beta++] : row->b;
    all.push_back(typed(row->text, x, {{"a", number(x, a)}, {"b", number(x, b)}}));
  }
  return all;
}

Recurrent::Recurrent(Node& of, std::int64_t gate_count, const std::vector<std::string>& usual)
    : node(of),
      x(of.in(kX)),
      gates(gate_count),
      batch_first(of.flag("layout")),
      quantized(of.op() == "DynamicQuantizeLSTM"),
      type(x.c()) {
  if (x.info().kind != Kind::real) node.refuse("unsupported input type {}", x.info().name);
  steps = x.dims[batch_first ? 1 : 0];
  batch = x.dims[batch_first ? 0 : 1];
  input = x.dims[2];
  hidden = node.in(kR).dims[quantized ? 1 : 2];
  directions = node.in(kW).dims[0];
  activations = expressions(node, x, usual.size() * static_cast<std::size_t>(directions), usual);
  gate_sums = node.scratch(type, gates * hidden);
  more = node.op() == "GRU" ? node.scratch(type, hidden) : "";
  state = node.scratch(type, hidden);
  cell = gates == 4 ? node.scratch(type, hidden) : "";
  if (quantized) quantize_inputs();
}

void Recurrent::quantize_inputs() {
  if (x.type != Element::float32) node.refuse("unsupported input type {}", x.info().name);
  // DynamicQuantizeLSTM quantizes the states of all samples together, which this loop over samples cannot do.
  if (batch != 1) node.refuse("batch size {}: only 1 is supported", batch);
  for (const std::size_t i : {kW, kR}) {
    if (!is_byte(node.in(i))) node.refuse("unsupported weight type {}", node.in(i).info().name);
  }
  need_dynamic_quantize(node);
  x_quantized = node.scratch("uint8_t", x.count());
  state_quantized = node.scratch("uint8_t", hidden);
  integer_sums = node.scratch("int32_t", gates * hidden);
  node.line("float x_scale;");
  node.line("const int32_t x_zero = dynamic_quantize({}, {}, {}, &x_scale);", node.x(kX), x_quantized,
            x.count());
}

void Recurrent::multiply_quantized(std::size_t weight, std::int64_t k, const std::string& integers,
                                   const std::string& sums) {
  const std::int64_t all = gates * hidden;
  const bool of_input = weight == kW;
  const std::size_t scale = of_input ? kWScale : kRScale, zero = of_input ? kWZero : kRZero;
  // Values per direction, or per gate and direction.
  const auto at = [&](std::size_t i) {
    const bool by_gate = node.in(i).count() != directions;
    return by_gate ? fmt::format("{}[{} + g]", node.x(i), direction * all)
                   : fmt::format("{}[{}]", node.x(i), direction);
  };
  node.open("");
  if (!of_input) {
    node.line("float x_scale;");
    node.line("const int32_t x_zero = dynamic_quantize({}, {}, {}, &x_scale);", state, integers, hidden);
  }
  node.line("for (int32_t g = 0; g < {}; ++g) {}[g] = 0;", all, integer_sums);
  node.loop("p", k);
  node.line("const int32_t code = ({})[p] - x_zero;", integers);
  node.line("for (int32_t g = 0; g < {0}; ++g) {1}[g] += code * ({2}[{3} + p * {0} + g] - {4});", all,
            integer_sums, node.x(weight), direction * all * k, at(zero));
  node.end();
  node.line("for (int32_t g = 0; g < {}; ++g) {}[g] += (float){}[g] * (x_scale * {});", all, sums,
            integer_sums, at(scale));
  node.close();
}

// sums[g] += Σ weight[first + g, p] · vector[p]. Constant weights are transposed, so that gates are
// contiguous.
void Recurrent::multiply(std::size_t weight, std::int64_t first, std::int64_t count, std::int64_t k,
                         const std::string& vector, const std::string& sums) {
  if (quantized) return multiply_quantized(weight, k, weight == kW ? vector : state_quantized, sums);
  const std::int64_t all = gates * hidden, matrix = direction * all * k;
  if (node.constant(weight)) {
    const std::string turned = transposed(node, node.in(weight), all, k);
    node.line("{}({}, {}, {}, 1, {} + {}, {}, {});", add_products(node, x), k, count, vector, turned,
              matrix + first, all, sums);
    return;
  }
  node.loop("g", count);
  node.line("for (int32_t p = 0; p < {0}; ++p) {1}[g] += {2}[{3} + g * {0} + p] * ({4})[p];", k, sums,
            node.x(weight), matrix + first * k, vector);
  node.end();
}

void Recurrent::clip(const std::string& place) {
  const float most = node.real("clip", 0);
  if (most <= 0) return;
  node.line("if ({0} > {1}) {0} = {1};", place, number(x, most));
  node.line("if ({0} < -{1}) {0} = -{1};", place, number(x, most));
}

void Recurrent::activate(std::size_t i, const std::string& place) {
  const std::size_t each = activations.size() / static_cast<std::size_t>(directions);
  node.open("");
  node.line("const {} x = {};", type, place);
  node.line("{} = {};", place, activations[static_cast<std::size_t>(direction) * each + i]);
  node.close();
}

void Recurrent::initialize(std::size_t from, const std::string& to) {
  node.line("for (int32_t i = 0; i < {}; ++i) {}[i] = {};", hidden, to,
            node.has(from) ? fmt::format("{}[{} + i]", node.x(from), state_at("b")) : "0");
}

// The gate sums of inputs and biases. A GRU adds the recurrent bias of its last gate later.
void Recurrent::sum_inputs() {
  std::string first = "0";
  if (node.has(kB)) {
    const std::int64_t all = gates * hidden, at = direction * 2 * all;
    first = fmt::format("{0}[{1} + g] + {0}[{2} + g]", node.x(kB), at, at + all);
    if (node.op() == "GRU" && node.flag("linear_before_reset"))
      first =
          fmt::format("{0}[{1} + g] + (g < {3} ? {0}[{2} + g] : 0)", node.x(kB), at, at + all, 2 * hidden);
  }
  node.line("for (int32_t g = 0; g < {}; ++g) {}[g] = {};", gates * hidden, gate_sums, first);
  const std::string row = batch_first ? fmt::format("(b * {} + at) * {}", steps, input)
                                      : fmt::format("(at * {} + b) * {}", batch, input);
  multiply(kW, 0, gates * hidden, input, fmt::format("{} + {}", quantized ? x_quantized : node.x(kX), row),
           gate_sums);
}

void Recurrent::write_state(std::size_t output, const std::string& from) {
  if (!node.has_out(output)) return;
  node.line("for (int32_t i = 0; i < {}; ++i) {}[{} + i] = {}[i];", hidden, node.y(output), state_at("b"),
            from);
}

void Recurrent::run(void (*finish)(Recurrent&)) {
  const std::string which = node.text("direction", "forward");
  for (direction = 0; direction < directions; ++direction) {
    const bool backward = which == "reverse" || direction == 1;
    const std::string length =
        node.has(kLengths) ? within(node, node.x(kLengths) + "[b]", 0, steps) : std::to_string(steps);
    const auto y_at = [&](std::string_view t) {
      return batch_first
                 ? fmt::format("((b * {} + {}) * {} + {}) * {}", steps, t, directions, direction, hidden)
                 : fmt::format("(({} * {} + {}) * {} + b) * {}", t, directions, direction, batch, hidden);
    };
    node.loop("b", batch);
    initialize(kState, state);
    if (!cell.empty()) initialize(kCell, cell);
    node.open("for (int32_t t = 0; t < {}; ++t)", length);
    node.line("const int32_t at = {};", backward ? fmt::format("{} - 1 - t", length) : "t");
    sum_inputs();
    finish(*this);
    if (node.has_out(0))
      node.line("for (int32_t i = 0; i < {}; ++i) {}[{} + i] = {}[i];", hidden, node.y(0), y_at("at"), state);
    node.close();
    if (node.has(kLengths) && node.has_out(0)) {
      node.open("for (int32_t t = {}; t < {}; ++t)", length, steps);
      node.line("for (int32_t i = 0; i < {}; ++i) {}[{} + i] = 0;", hidden, node.y(0), y_at("t"));
      node.close();
    }
    write_state(1, state);
    if (!cell.empty()) write_state(2, cell);
    node.end();
  }
}

// Gates: input, output, forget, cell.
void finish_lstm(Recurrent& r) {
  Node& node = r.node;
  r.multiply(kR, 0, 4 * r.hidden, r.hidden, r.state, r.gate_sums);
  node.loop("i", r.hidden);
  const char* names[] = {"in", "out", "forget", "fresh"};
  for (std::int64_t g = 0; g < 4; ++g)
    node.line("{} {} = {}[{} + i];", r.type, names[g], r.gate_sums, g * r.hidden);
  if (node.has(kPeepholes)) {
    node.line("in += {} * {}[i];", r.peephole(0), r.cell);
    node.line("forget += {} * {}[i];", r.peephole(2), r.cell);
  }
  for (const char* name : {"in", "forget", "fresh"}) r.clip(name);
  r.activate(0, "in");
  if (node.flag("input_forget")) {
    node.line("forget = 1 - in;");
  } else {
    r.activate(0, "forget");
  }
  r.activate(1, "fresh");
  node.line("{0}[i] = forget * {0}[i] + in * fresh;", r.cell);
  if (node.has(kPeepholes)) node.line("out += {} * {}[i];", r.peephole(1), r.cell);
  r.clip("out");
  r.activate(0, "out");
  node.line("fresh = {}[i];", r.cell);
  r.activate(2, "fresh");
  node.line("{}[i] = out * fresh;", r.state);
  node.end();
}

// Gates: update, reset, hidden. The reset gate applies to the state before or after the last gate's
// multiplication.
void finish_gru(Recurrent& r) {
  Node& node = r.node;
  const std::int64_t n = r.hidden;
  const bool linear = node.flag("linear_before_reset");
  r.multiply(kR, 0, 2 * n, n, r.state, r.gate_sums);
  node.loop("i", 2 * n);
  r.clip(r.gate_sums + "[i]");
  r.activate(0, r.gate_sums + "[i]");
  node.end();
  node.loop("i", n);
  const std::string bias =
      node.has(kB) ? fmt::format("{}[{} + i]", node.x(kB), r.direction * 6 * n + 5 * n) : "0";
  node.line("{}[i] = {};", r.more,
            linear ? bias : fmt::format("{}[{} + i] * {}[i]", r.gate_sums, n, r.state));
  node.end();
  if (linear) {
    r.multiply(kR, 2 * n, n, n, r.state, r.more);
  } else {
    r.multiply(kR, 2 * n, n, n, r.more, fmt::format("({} + {})", r.gate_sums, 2 * n));
  }
  node.loop("i", n);
  node.line("{} h = {}[{} + i];", r.type, r.gate_sums, 2 * n);
  if (linear) node.line("h += {}[{} + i] * {}[i];", r.gate_sums, n, r.more);
  r.clip("h");
  r.activate(1, "h");
  node.line("{0}[i] = (1 - {1}[i]) * h + {1}[i] * {0}[i];", r.state, r.gate_sums);
  node.end();
}

void finish_rnn(Recurrent& r) {
  r.multiply(kR, 0, r.hidden, r.hidden, r.state, r.gate_sums);
  r.node.loop("i", r.hidden);
  r.clip(r.gate_sums + "[i]");
  r.activate(0, r.gate_sums + "[i]");
  r.node.line("{}[i] = {}[i];", r.state, r.gate_sums);
  r.node.end();
}

void emit_lstm(Node& node) { Recurrent(node, 4, {"Sigmoid", "Tanh", "Tanh"}).run(finish_lstm); }
void emit_gru(Node& node) { Recurrent(node, 3, {"Sigmoid", "Tanh"}).run(finish_gru); }
void emit_rnn(Node& node) { Recurrent(node, 1, {"Tanh"}).run(finish_rnn); }

}  // namespace

std::span<const Descriptor> recurrent_descriptors() {
  static constexpr Descriptor all[] = {{"DynamicQuantizeLSTM", "com.microsoft", emit_lstm},
                                       {"GRU", "", emit_gru},
                                       {"LSTM", "", emit_lstm},
                                       {"RNN", "", emit_rnn}};
  return all;
}

}  // namespace anybit::cgen
