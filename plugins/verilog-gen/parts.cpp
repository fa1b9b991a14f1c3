#include "parts.hpp"

#include <algorithm>
#include <bit>

#include "diagram.hpp"

namespace anybit::verilog {
namespace {

// Writes the decisions of diagrams as wires; `signal` names a signal.
template <class Signal>
void write_decisions(Text& out, const Diagrams& diagrams, const Signal& signal) {
  for (std::size_t i = 0; i < diagrams.decisions().size(); ++i) {
    const auto& one = diagrams.decisions()[i];
    out.line("wire n{} = {};", i, diagrams.expression(one, signal(one.signal)));
  }
}

// Bit `bit` of a table, at the addresses that can occur.
Table table_of(const std::vector<int>& results, const std::vector<bool>& reachable, int bit) {
  Table table(results.size(), '-');
  for (std::size_t a = 0; a < results.size(); ++a) {
    if (reachable[a]) table[a] = (results[a] >> bit & 1) != 0 ? '1' : '0';
  }
  return table;
}

// Bits of x that make the address of a neuron; those of a constant 0 never matter.
std::vector<int> signals_of(const NeuronLayer& layer, const Bus& input, std::int64_t neuron) {
  std::vector<int> signals;
  for (int i = 0; i < layer.fan_in; ++i) {
    const std::int64_t from = layer.connections[static_cast<std::size_t>(neuron * layer.fan_in + i)];
    for (int bit = 0; bit < layer.input_bits; ++bit)
      signals.push_back(from < 0 ? -1 : static_cast<int>(from * input.bits + std::min(bit, input.bits - 1)));
  }
  return signals;
}

void write_alone(Text& out, const NeuronLayer& layer, const Bus& input,
                 const std::vector<std::vector<bool>>& reachable) {
  Diagrams diagrams;
  std::vector<Diagrams::Ref> roots;
  for (std::int64_t n = 0; n < layer.neurons(); ++n) {
    for (int bit = 0; bit < layer.output_bits; ++bit)
      roots.push_back(diagrams.add(
          table_of(layer.results[static_cast<std::size_t>(n)], reachable[static_cast<std::size_t>(n)], bit),
          signals_of(layer, input, n)));
  }
  write_decisions(out, diagrams, [](int signal) { return fmt::format("x[{}]", signal); });
  for (std::size_t i = 0; i < roots.size(); ++i) out.line("assign r[{}] = {};", i, Diagrams::name(roots[i]));
}

// The address of a neuron as a concatenation, highest bit first.
std::string address_of(const NeuronLayer& layer, const Bus& input, std::int64_t neuron) {
  std::string text;
  const std::vector<int> signals = signals_of(layer, input, neuron);
  for (auto one = signals.rbegin(); one != signals.rend(); ++one)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", *one < 0 ? "1'b0" : fmt::format("x[{}]", *one));
  return fmt::format("{{{}}}", text);
}

void write_instances(Text& out, const std::string& name, const NeuronLayer& layer, const Bus& input) {
  for (std::int64_t n = 0; n < layer.neurons(); ++n)
    out.line("{}_table{} i{}({}, r[{}:{}]);", name, n / layer.repeats, n, address_of(layer, input, n),
             (n + 1) * layer.output_bits - 1, n * layer.output_bits);
}

// A table as a module, for neurons that share it: what one of them needs matters.
void write_table(Text& out, const std::string& name, const NeuronLayer& layer, std::int64_t table,
                 const std::vector<std::vector<bool>>& reachable) {
  std::vector<bool> any(std::size_t{1} << layer.address_bits());
  for (std::int64_t r = 0; r < layer.repeats; ++r) {
    const auto& one = reachable[static_cast<std::size_t>(table * layer.repeats + r)];
    for (std::size_t a = 0; a < any.size(); ++a) any[a] = any[a] || one[a];
  }
  open_module(out, name, layer.address_bits(), layer.output_bits, false);
  Diagrams diagrams;
  std::vector<int> signals;
  for (int bit = 0; bit < layer.address_bits(); ++bit) signals.push_back(bit);
  std::vector<Diagrams::Ref> roots;
  for (int bit = 0; bit < layer.output_bits; ++bit)
    roots.push_back(
        diagrams.add(table_of(layer.results[static_cast<std::size_t>(table)], any, bit), signals));
  write_decisions(out, diagrams, [](int signal) { return fmt::format("x[{}]", signal); });
  for (std::size_t i = 0; i < roots.size(); ++i) out.line("assign r[{}] = {};", i, Diagrams::name(roots[i]));
  close_module(out, false);
}

}  // namespace

void open_module(Text& out, const std::string& name, std::int64_t inputs, std::int64_t outputs,
                 bool registered) {
  out.line("module {} ({}", name, registered ? "input wire clk," : "");
  out.deeper();
  out.line("input wire {} x,", range(inputs));
  out.line("output {} {} y", registered ? "reg" : "wire", range(outputs));
  out.back();
  out.line(");");
  out.deeper();
  out.line("wire {} r;", range(outputs));
}

void close_module(Text& out, bool registered) {
  out.line("{}", registered ? "always @(posedge clk) y <= r;" : "assign y = r;");
  out.back();
  out.line("endmodule");
  out.line("");
}

void write_layer(Text& out, const std::string& name, const NeuronLayer& layer, const Bus& input,
                 const std::vector<std::vector<bool>>& reachable, bool registered) {
  if (layer.repeats > 1) {
    for (std::int64_t t = 0; t < layer.tables; ++t)
      write_table(out, fmt::format("{}_table{}", name, t), layer, t, reachable);
  }
  out.line("// {}: {} neurons of {} inputs of {} bits, {} bits each", in_comment(layer.name), layer.neurons(),
           layer.fan_in, layer.input_bits, layer.output_bits);
  open_module(out, name, input.count * input.bits, layer.neurons() * layer.output_bits, registered);
  if (layer.repeats > 1) {
    write_instances(out, name, layer, input);
  } else {
    write_alone(out, layer, input, reachable);
  }
  close_module(out, registered);
}

int index_bits(std::int64_t count) {
  return std::max(
      1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, count) - 1))));
}

void write_argmax(Text& out, const std::string& name, const Bus& input, bool registered) {
  struct Candidate {
    std::string value, index;
  };
  const int bits = index_bits(input.count);
  out.line("// the index of the largest of {}, the first of equals", input.count);
  open_module(out, name, input.count * input.bits, bits, registered);
  std::vector<Candidate> level;
  for (std::int64_t i = 0; i < input.count; ++i) {
    const std::string element = fmt::format("x[{}:{}]", (i + 1) * input.bits - 1, i * input.bits);
    // Two's complement is ordered as unsigned integers with the sign bit turned.
    out.line(
        "wire {} v{} = {}{};", range(input.bits), i, element,
        input.is_signed ? fmt::format(" ^ {}'d{}", input.bits, std::uint64_t{1} << (input.bits - 1)) : "");
    level.push_back({fmt::format("v{}", i), fmt::format("{}'d{}", bits, i)});
  }
  for (int wire = 0; level.size() > 1;) {
    std::vector<Candidate> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2, ++wire) {
      const Candidate &a = level[i], &b = level[i + 1];
      out.line("wire second{} = {} < {};", wire, a.value, b.value);
      out.line("wire {} most{} = second{} ? {} : {};", range(input.bits), wire, wire, b.value, a.value);
      out.line("wire {} index{} = second{} ? {} : {};", range(bits), wire, wire, b.index, a.index);
      next.push_back({fmt::format("most{}", wire), fmt::format("index{}", wire)});
    }
    if (level.size() % 2 != 0) next.push_back(level.back());
    level = std::move(next);
  }
  out.line("assign r = {};", level.front().index);
  close_module(out, registered);
}

}  // namespace anybit::verilog
