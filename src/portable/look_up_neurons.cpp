#include "portable/look_up_neurons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "graph/node.hpp"
#include "portable/codes.hpp"

namespace anybit::portable {
namespace {

using formats::NeuronTable;

constexpr ElementType kInt = ElementType::int32;

Term number(FunctionBody& body, std::int64_t value) { return cast(body.integer(value), kInt); }

Term modulo(const Term& a, std::int64_t divisor) {
  return a.body().op("Mod", {a, number(a.body(), divisor)});
}

// The results of all tables, one after the other.
Term results(const Term& tables, const NeuronTable& use) {
  FunctionBody& body = tables.body();
  const Term all = cast(unpack(tables, use.entry_bits(), body.integers({use.entries()})), kInt);
  Term list = reshape(all, body.integers({-1}));
  if (use.output_bits < use.entry_bits()) list = modulo(list, std::int64_t{1} << use.output_bits);
  if (!use.is_signed) return cast(list, ElementType::uint8);
  const std::int64_t half = std::int64_t{1} << (use.output_bits - 1);
  const Term negative = body.op("GreaterOrEqual", {list, number(body, half)});
  return cast(where(negative, list - number(body, 2 * half), list), ElementType::int8);
}

}  // namespace

std::string to_string(const NeuronTable& use) {
  return fmt::format("fan_in={} input_bits={} output_bits={} signed={}", use.fan_in, use.input_bits,
                     use.output_bits, static_cast<int>(use.is_signed));
}

std::optional<NeuronTable> read_neuron_table(std::string_view text) {
  NeuronTable use;
  int sign = 0;
  const std::string line(text);
  // NOLINTNEXTLINE(cert-err34-c): the text must be equal to what is written for the result
  if (std::sscanf(line.c_str(), "fan_in=%4d input_bits=%4d output_bits=%4d signed=%1d", &use.fan_in,
                  &use.input_bits, &use.output_bits, &sign) != 4)
    return std::nullopt;
  use.is_signed = sign == 1;
  const bool valid = use.fan_in >= 1 && use.input_bits >= 1 && use.input_bits <= 8 && use.output_bits >= 1 &&
                     use.output_bits <= 8 && use.fan_in * use.input_bits <= formats::kMostAddressBits;
  return valid && to_string(use) == text ? std::optional(use) : std::nullopt;
}

graph::Function look_up_neurons(const NeuronTable& use) {
  FunctionBody body;
  const Term x = body.input("x"), connections = body.input("connections"), tables = body.input("tables");
  const Term bits = modulo(cast(x, kInt), std::int64_t{1} << use.input_bits);
  // Connection -1 is the last element: the constant 0.
  const Term zero = slice(bits, -1, body.integers({0}), body.integers({1})) * number(body, 0);
  const Term padded = body.op("Concat", {bits, zero}, {graph::attribute("axis", std::int64_t{-1})});
  FunctionBody::Integers places;
  for (int i = 0; i < use.fan_in; ++i) places.push_back(std::int64_t{1} << (i * use.input_bits));
  const Term taken = gather(padded, connections, -1) * cast(body.integers(places), kInt);
  const Term address = reduce("ReduceSum", taken, {-1});
  const Term count = slice(shape(tables), 0, 1);
  const Term first = body.op("Range", {body.integer(0), reshape(count, body.integers({})), body.integer(1)}) *
                     body.integer(use.entries());
  const Term index = address + cast(reshape(first, body.integers({-1, 1, 1})), kInt);
  const Term dims = concat({slice(shape(x), 0, -1), count * slice(shape(connections), 1, 2)});
  const Term y = reshape(gather(results(tables, use), index), dims);
  graph::Function function = std::move(body).finish(y);
  function.name = graph::Text(fmt::format("LookUpNeurons_{}x{}_{}{}", use.fan_in, use.input_bits,
                                          use.is_signed ? "s" : "", use.output_bits));
  function.domain = graph::Text(graph::kAnybit);
  function.doc = graph::Text(to_string(use));
  return function;
}

void set_neuron_attributes(graph::Node& node, const NeuronTable& table) {
  graph::set_attribute(node, "input_bits", std::int64_t{table.input_bits});
  graph::set_attribute(node, "output_bits", std::int64_t{table.output_bits});
  graph::set_attribute(node, "signed", std::int64_t{table.is_signed});
}

std::optional<NeuronTable> neuron_table_of(const graph::Node& node, const graph::Graph& graph) {
  const auto found = std::ranges::find_if(
      graph.initializers, [&](const graph::Tensor& one) { return one.name.str() == graph::input(node, 1); });
  if (found == graph.initializers.end() || found->dims.size() != 3) return std::nullopt;
  const std::int64_t fan_in = found->dims[2], input_bits = graph::integer(node, "input_bits", 1);
  const auto text =
      fmt::format("fan_in={} input_bits={} output_bits={} signed={}", fan_in, input_bits,
                  graph::integer(node, "output_bits", 1), graph::integer(node, "signed", 0) != 0 ? 1 : 0);
  return read_neuron_table(text);  // checks the numbers
}

}  // namespace anybit::portable
