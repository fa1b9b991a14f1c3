#include "network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace anybit::verilog {
namespace {

// Follows the only path from the input to the output.
class Reader {
 public:
  explicit Reader(const anybit_graph& graph) : graph_(graph) {
    if (graph.input_count != 1 || graph.output_count != 1)
      throw Refusal(fmt::format("verilog-gen takes models with one input and one output, not {} and {}",
                                graph.input_count, graph.output_count));
    at_ = graph.inputs[0];
    const Value input(graph.values[at_]);
    result_.input.name = input.name();
    result_.input.is_real = input.is_float();
    real_ = input.is_float();
    const auto type = integer_type(input.type());
    if (!real_ && (!type || type->bits > 16))
      throw Refusal(
          fmt::format("verilog-gen: input '{}' is {}: it must be float32 that is quantized first, or "
                      "an integer of at most 16 bits",
                      input.name(), input.type()));
    bus_ = {input.count(), type ? type->bits : 0, type && type->is_signed};
    result_.input.bus = bus_;
  }

  NeuronNetwork read() {
    for (std::size_t i = 0; i < graph_.node_count; ++i) take(Node(graph_, graph_.nodes[i]));
    if (at_ != graph_.outputs[0])
      throw Refusal("verilog-gen: the output does not follow from the input by the nodes of the model");
    const Value output(graph_.values[at_]);
    result_.output.name = output.name();
    result_.output.is_real = output.is_float();
    result_.output.bus = bus_;
    return std::move(result_);
  }

 private:
  void take(const Node& node) {
    bool uses = false;
    for (std::size_t i = 0; i < node.input_count(); ++i) uses = uses || node.index(i) == at_;
    if (!uses || node.index(0) != at_) node.refuse("it is not on a single path from the input to the output");
    if (node.is("QuantizeLinear")) return quantize(node);
    if (node.is("LookUpNeurons", "ai.anybit")) return neurons(node);
    if (node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze") ||
        node.is("Identity"))
      return step(node);
    if (node.is("Cast")) return cast(node);
    if (node.is("ReduceSum")) return sum(node);
    if (node.is("DequantizeLinear")) return dequantize(node);
    if (node.is("Mul") || node.is("Div")) return scale(node);
    node.refuse("in a network of neurons it has no logic");
  }

  void step(const Node& node) { at_ = node.out_index(); }

  void quantize(const Node& node) {
    if (!result_.layers.empty() || bus_.bits != 0) node.refuse("only the input can be quantized");
    result_.input.scale = static_cast<double>(node.real_in(1, "the scale"));
    result_.input.zero_point = node.integer_in(2, "the zero point", 0);
    const auto type = integer_type(node.out().type());
    if (!type || type->bits > 16) node.refuse("it quantizes to {}", node.out().type());
    bus_ = {bus_.count, type->bits, type->is_signed};
    result_.input.bus = bus_;
    real_ = false;
    step(node);
  }

  void cast(const Node& node) {
    const Value out = node.out();
    if (out.is_float()) {
      real_ = true;
      return step(node);
    }
    const auto type = integer_type(out.type());
    if (!type || type->bits < bus_.bits + (type->is_signed && !bus_.is_signed ? 1 : 0))
      node.refuse("it narrows {} bits to {}", bus_.bits, out.type());
    step(node);
  }

  void neurons(const Node& node) {
    if (real_ || result_.group != 1) node.refuse("its input must be integers of the input or of neurons");
    NeuronLayer layer;
    layer.name = node.out().name();
    const auto dims = node.in(1).dims();
    layer.connections = node.integers_in(1, "the connections");
    if (!node.in(2).constant() || dims.size() != 3) node.refuse("the tables must be constant");
    layer.tables = dims[0];
    layer.repeats = dims[1];
    layer.fan_in = static_cast<int>(dims[2]);
    layer.input_bits = static_cast<int>(node.integer("input_bits", 1));
    layer.output_bits = static_cast<int>(node.integer("output_bits", 1));
    layer.is_signed = node.integer("signed", 0) != 0;
    if (node.in(0).dims().back() != bus_.count)
      node.refuse("it runs on {} rows: give the input a batch of 1, for example --shape {}=1,…",
                  bus_.count / std::max<std::int64_t>(1, node.in(0).dims().back()), result_.input.name);
    for (const std::int64_t one : layer.connections) {
      if (one < -1 || one >= bus_.count)
        node.refuse("a connection names input {}, and there are {}", one, bus_.count);
    }
    read_tables(layer, node.integers_in(2, "the tables"));
    bus_ = {layer.neurons(), layer.output_bits, layer.is_signed};
    result_.layers.push_back(std::move(layer));
    step(node);
  }

  static void read_tables(NeuronLayer& layer, const std::vector<std::int64_t>& bytes) {
    const int width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(layer.output_bits)));
    const std::size_t entries = std::size_t{1} << layer.address_bits();
    const std::size_t row = layer.tables == 0 ? 0 : bytes.size() / static_cast<std::size_t>(layer.tables);
    for (std::int64_t t = 0; t < layer.tables; ++t) {
      std::vector<int>& results = layer.results.emplace_back(entries);
      for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t bit = i * static_cast<std::size_t>(width);
        const auto byte = bytes[static_cast<std::size_t>(t) * row + bit / 8];
        results[i] = static_cast<int>(byte >> (bit % 8)) & ((1 << layer.output_bits) - 1);
      }
    }
  }

  void sum(const Node& node) {
    const auto dims = node.in(0).dims(), out = node.out().dims();
    const std::int64_t last = dims.empty() ? 1 : dims.back();
    if (real_ || result_.layers.empty() || result_.group != 1 || bus_.is_signed ||
        node.in(0).count() != bus_.count || node.out().count() * last != bus_.count ||
        node.integer("noop_with_empty_axes", 0) != 0 || !reduces_last(node, dims.size()))
      node.refuse("only sums of the results of neurons along the last axis are logic");
    result_.group = last;
    const auto most = static_cast<std::uint64_t>(last) * ((std::uint64_t{1} << bus_.bits) - 1);
    bus_ = {bus_.count / last, std::max(1, static_cast<int>(std::bit_width(most))), false};
    step(node);
  }

  static bool reduces_last(const Node& node, std::size_t rank) {
    std::vector<std::int64_t> axes;
    if (node.has(1)) axes = node.integers_in(1, "the axes");
    if (const auto given = node.integers("axes")) axes = *given;
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == static_cast<std::int64_t>(rank) - 1);
  }

  void dequantize(const Node& node) {
    if (real_) node.refuse("its input must be integers");
    result_.output.scale *= positive(node, node.real_in(1, "the scale"));
    result_.output.zero_point = node.integer_in(2, "the zero point", 0);
    real_ = true;
    step(node);
  }

  void scale(const Node& node) {
    if (!real_) node.refuse("integers are multiplied only at the end, as float32");
    const double by = positive(node, node.real_in(1, "the factor"));
    result_.output.scale *= node.is("Mul") ? by : 1 / by;
    step(node);
  }

  static double positive(const Node& node, float factor) {
    if (!(factor > 0) || !std::isfinite(factor)) node.refuse("the factor {} is not positive", factor);
    return static_cast<double>(factor);
  }

  const anybit_graph& graph_;
  NeuronNetwork result_;
  int at_ = -1;
  bool real_ = false;  // float32, after or before the integers
  Bus bus_;
};

}  // namespace

bool has_neurons(const anybit_graph& graph) {
  return std::any_of(graph.nodes, graph.nodes + graph.node_count, [](const anybit_node& node) {
    return std::string_view(node.op) == "LookUpNeurons" && std::string_view(node.domain) == "ai.anybit";
  });
}

NeuronNetwork read_neurons(const anybit_graph& graph) { return Reader(graph).read(); }

}  // namespace anybit::verilog
