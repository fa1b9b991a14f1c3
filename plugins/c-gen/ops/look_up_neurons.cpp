// LookUpNeurons: an address for each neuron, and its entry in a table.
#include <algorithm>
#include <limits>

#include "node.hpp"

namespace anybit::cgen {
namespace {

// Declares `connections`, a constant of the smallest type that holds them.
void declare_connections(Node& node, const std::vector<std::int64_t>& all) {
  const auto [low, high] = std::ranges::minmax(all);
  const auto declare = [&]<class T>(Element type, T) {
    const std::vector<T> numbers(all.begin(), all.end());
    node.line("const {} *connections = {};", info(type).c,
              node.array(type, numbers.data(), static_cast<std::int64_t>(numbers.size())));
  };
  if (low < 0 || high > std::numeric_limits<std::uint16_t>::max()) {
    declare(Element::int32, std::int32_t{});
  } else if (high > std::numeric_limits<std::uint8_t>::max()) {
    declare(Element::uint16, std::uint16_t{});
  } else {
    declare(Element::uint8, std::uint8_t{});
  }
}

struct Layer {
  std::int64_t inputs, rows, neurons, repeats, fan_in, bits, output_bits;
  bool open_ends;  // a connection is the constant 0

  int entry() const { return output_bits <= 2 ? static_cast<int>(output_bits) : output_bits <= 4 ? 4 : 8; }
  // The bits of an address that choose within a byte: their number.
  int places() const { return entry() == 1 ? 3 : entry() == 2 ? 2 : entry() == 4 ? 1 : 0; }
};

Layer layer_of(const Node& node, const std::vector<std::int64_t>& connections) {
  const Value& x = node.in(0);
  if (x.info().kind != Kind::integer || x.info().bytes != 1 || x.rank() == 0)
    node.refuse("the input must be of bytes, not {}", x.info().name);
  if (!node.constant(2)) node.refuse("the tables must be constant");
  const std::int64_t inputs = x.dims.back();
  const Dims& dims = node.in(1).dims;
  for (const std::int64_t one : connections) {
    if (one < -1 || one >= inputs) node.refuse("a connection names input {}, and there are {}", one, inputs);
  }
  return {inputs,
          inputs == 0 ? 0 : x.count() / inputs,
          dims[0] * dims[1],
          dims[1],
          dims[2],
          node.integer("input_bits", 1),
          node.integer("output_bits", 1),
          std::ranges::find(connections, -1) != connections.end()};
}

void look_up_neurons(Node& node) {
  const auto connections = node.integers_in(1, "the connections");
  const Layer layer = layer_of(node, connections);
  if (layer.neurons == 0 || layer.rows == 0) return;
  declare_connections(node, connections);
  const std::string table = node.packed(2);
  node.loop("row", layer.rows);
  node.loop("n", layer.neurons);
  node.line("int32_t address = 0;");
  node.open("for (int32_t i = {}; i >= 0; --i)", layer.fan_in - 1);
  node.line("const int32_t from = connections[n * {} + i];", layer.fan_in);
  const std::string value =
      fmt::format("({}[row * {} + from] & {})", node.x(0), layer.inputs, (1 << layer.bits) - 1);
  node.line("address = address << {} | {};", layer.bits,
            layer.open_ends ? fmt::format("(from < 0 ? 0 : {})", value) : value);
  node.close();
  const std::string byte = fmt::format("{}[{} * {} + (address >> {})]", table,
                                       layer.repeats == 1 ? "n" : fmt::format("(n / {})", layer.repeats),
                                       node.in(2).dims[1], layer.places());
  const int mask = (1 << layer.output_bits) - 1;
  node.line("const int32_t found = {} >> (address & {}) * {} & {};", byte, (1 << layer.places()) - 1,
            layer.entry(), mask);
  if (node.flag("signed")) {
    const int half = 1 << (layer.output_bits - 1);
    node.line("{}[row * {} + n] = (int8_t)((found ^ {}) - {});", node.y(), layer.neurons, half, half);
  } else {
    node.line("{}[row * {} + n] = (uint8_t)found;", node.y(), layer.neurons);
  }
  node.end();
  node.end();
}

}  // namespace

std::span<const Descriptor> look_up_neurons_descriptors() {
  static const Descriptor all[] = {{.op = "LookUpNeurons", .domain = "ai.anybit", .emit = look_up_neurons}};
  return all;
}

}  // namespace anybit::cgen
