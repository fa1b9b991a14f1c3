// Turns linear layers between Q/DQ pairs into truth tables, LookUpNeurons (docs/logic.md): each output with
// few nonzero weights, of few bits, is looked up. Runs on request only.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "formats/neuron_table.hpp"
#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/quantization.hpp"
#include "graph/rewrite.hpp"
#include "passes/exact_step.hpp"
#include "passes/remove_unused.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::ElementType;
using graph::Node;
using graph::Tensor;

struct Span {
  std::int64_t low = 0, high = 0;
  bool is_signed() const { return low < 0; }
  // Bits of such a value, in two's complement if it may be negative.
  int bits() const {
    const auto wide = static_cast<std::uint64_t>(is_signed() ? std::max(-low - 1, high) : high);
    return std::max(1, static_cast<int>(std::bit_width(wide)) + (is_signed() ? 1 : 0));
  }
  // The lowest bits that distinguish the values, and the value that has them.
  int distinct_bits() const {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(high - low))));
  }
  std::int64_t value_of(std::int64_t bits) const {
    return low + ((bits - low) & ((std::int64_t{1} << distinct_bits()) - 1));
  }
};

// A scale and a zero point for a whole tensor of bytes.
struct Grid {
  double scale = 1;
  std::int64_t zero = 0;
  Span all;
  std::int64_t quantized(const ExactSum& sum) const {
    const double steps = std::clamp(sum.steps(scale), -1e6, 1e6);
    return std::clamp(static_cast<std::int64_t>(steps) + zero, all.low, all.high);
  }
  std::int64_t quantized(double real) const {
    ExactSum sum;
    sum.add(real);
    return quantized(sum);
  }
};

// An elementwise bound between the layer and its quantization.
struct Bound {
  bool upper = false;
  float value = 0;
};

struct Layer {
  int linear = -1, quantizer = -1;
  std::string input;          // the quantized values
  std::vector<int> reshapes;  // nodes between them and the layer, the last first
  Grid from, to;
  Span span;                             // of the quantized inputs
  std::vector<std::vector<float>> rows;  // weights by output
  std::vector<float> bias;
  std::vector<Bound> bounds;
};

class TruthTables {
 public:
  TruthTables(graph::Model& model, const PassOptions& options)
      : model_(model), options_(options), before_(*model.graph), view_(before_), names_(model) {}

  std::int64_t run() {
    if (options_.remarks) options_.remarks->clear();  // of an earlier round
    const auto count = static_cast<int>(before_.nodes.size());
    for (int i = 0; i < count; ++i) {
      const Node& node = before_.nodes[static_cast<std::size_t>(i)];
      if (!graph::is(node, "Gemm") && !graph::is(node, "MatMul")) continue;
      if (options_.keeps(node)) continue;
      auto layer = layer_of(i);
      if (layer) convert(*layer, node);
    }
    if (made_.empty()) return 0;
    insert();
    remove_unused(model_);
    return static_cast<std::int64_t>(made_.size());
  }

 private:
  const Node& at(int i) const { return before_.nodes[static_cast<std::size_t>(i)]; }

  void remark(const Node& node, const std::string& reason) const {
    if (options_.remarks)
      options_.remarks->push_back(fmt::format("'{}' ({}) does not become truth tables: {}", node.name.str(),
                                              node.op_type.str(), reason));
  }

  std::optional<Grid> grid_of(const Node& node) const {
    const auto known = view_.parameters(node);
    if (!known.known() || !known.per_tensor()) return std::nullopt;
    if (known.type != ElementType::int8 && known.type != ElementType::uint8) return std::nullopt;
    const auto range = graph::integer_range(known.type);
    const auto scale = graph::number(known.scale);
    if (!scale || !(*scale > 0) || !std::isfinite(*scale)) return std::nullopt;
    const auto zero =
        known.zero_point ? graph::integer_at(*known.zero_point, 0) : std::optional<std::int32_t>(0);
    return Grid{static_cast<double>(*scale), zero.value_or(0), {range.low, range.high}};
  }

  std::optional<float> scalar(const Node& node, std::size_t i) const {
    return graph::number(view_.constant(graph::input(node, i)));
  }

  // The bounds that a node applies to its input; nullopt if it does something else.
  std::optional<std::vector<Bound>> bounds_of(const Node& node) const {
    if (graph::is(node, "Relu")) return std::vector{Bound{false, 0}};
    std::vector<Bound> bounds;
    if (graph::is(node, "Max") && node.inputs.size() == 2) {
      const auto value = scalar(node, 1);
      return value ? std::optional(std::vector{Bound{false, *value}}) : std::nullopt;
    }
    if (!graph::is(node, "Clip") || node.attribute("min") || node.attribute("max")) return std::nullopt;
    for (std::size_t i = 1; i < 3; ++i) {
      if (graph::input(node, i).empty()) continue;
      const auto value = scalar(node, i);
      if (!value) return std::nullopt;
      bounds.push_back({i == 2, *value});
    }
    return bounds;
  }

  static std::int64_t bounded(std::int64_t value, const std::vector<Bound>& bounds, const Grid& grid) {
    // Quantization is monotonic: it may come before a bound, whose value is then quantized, too.
    for (const Bound& one : bounds) {
      const std::int64_t limit = grid.quantized(static_cast<double>(one.value));
      value = one.upper ? std::min(value, limit) : std::max(value, limit);
    }
    return value;
  }

  // What a layer that is truth tables already can return.
  Span made_before(const std::string& quantized, const Grid& grid) const {
    const int maker = view_.index().producer(quantized);
    if (maker < 0 || !graph::is(at(maker), "LookUpNeurons", graph::kAnybit)) return grid.all;
    const std::int64_t bits = std::clamp<std::int64_t>(graph::integer(at(maker), "output_bits", 1), 1, 8);
    if (graph::integer(at(maker), "signed", 0) != 0)
      return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
    return {0, (std::int64_t{1} << bits) - 1};
  }

  // The values that a quantized tensor can have.
  Span span_of(const std::string& quantized, const Grid& grid) const {
    if (const auto found = spans_.find(quantized); found != spans_.end()) return found->second;
    const Node* quantizer = view_.quantizer(quantized);
    if (!quantizer) return made_before(quantized, grid);
    Span span = grid.all;
    const int before = view_.index().producer(graph::input(*quantizer, 0));
    if (before < 0) return span;
    if (const auto bounds = bounds_of(at(before)))
      span = {bounded(span.low, *bounds, grid), bounded(span.high, *bounds, grid)};
    return span;
  }

  // Float weights: a constant, or one behind a DQ.
  std::optional<std::vector<float>> floats_of(const std::string& name) const {
    if (const Tensor* constant = view_.constant(name)) return graph::floats(constant);
    const Tensor* stored = view_.stored(name);
    const Node* dequantizer = view_.dequantizer(name);
    if (!stored || !dequantizer) return std::nullopt;
    const auto known = view_.parameters(*dequantizer);
    const auto axis = graph::axis_in(known.axis, static_cast<std::int64_t>(stored->dims.size()));
    const auto scales = known.known() ? graph::floats(known.scale) : std::nullopt;
    if (!scales || known.block_size != 0 || !known.fits(stored->dims)) return std::nullopt;
    std::int64_t stride = 1;
    for (std::size_t d = axis ? static_cast<std::size_t>(*axis) + 1 : 0;
         !known.per_tensor() && d < stored->dims.size(); ++d)
      stride *= stored->dims[d];
    std::vector<float> result;
    for (std::int64_t i = 0; i < stored->count(); ++i) {
      const std::int64_t channel =
          known.per_tensor() ? 0 : i / stride % static_cast<std::int64_t>(scales->size());
      const auto value = graph::integer_at(*stored, i);
      const auto zero =
          known.zero_point ? graph::integer_at(*known.zero_point, channel) : std::optional<std::int32_t>(0);
      if (!value || !zero) return std::nullopt;
      result.push_back(static_cast<float>(*value - *zero) * (*scales)[static_cast<std::size_t>(channel)]);
    }
    return result;
  }

  std::optional<std::vector<std::int64_t>> dims_of(const std::string& name) const {
    const Tensor* constant = view_.constant(name);
    if (!constant) constant = view_.stored(name);
    return constant ? std::optional(constant->dims) : std::nullopt;
  }

  bool read_weights(const Node& node, Layer& layer) const {
    const auto dims = dims_of(graph::input(node, 1));
    const auto weights = floats_of(graph::input(node, 1));
    const bool gemm = graph::is(node, "Gemm");
    if (!dims || dims->size() != 2 || !weights) return false;
    if (gemm && (graph::integer(node, "transA", 0) != 0 || graph::real(node, "alpha", 1) != 1 ||
                 graph::real(node, "beta", 1) != 1))
      return false;
    const bool turned = gemm && graph::integer(node, "transB", 0) != 0;
    const auto outputs = static_cast<std::size_t>((*dims)[turned ? 0 : 1]),
               inputs = static_cast<std::size_t>((*dims)[turned ? 1 : 0]);
    layer.rows.assign(outputs, std::vector<float>(inputs));
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i)
        layer.rows[o][i] = (*weights)[turned ? o * inputs + i : i * outputs + o];
    }
    layer.bias.assign(outputs, 0);
    return !gemm || graph::input(node, 2).empty() || add_bias(graph::input(node, 2), layer);
  }

  bool add_bias(const std::string& name, Layer& layer) const {
    const auto bias = floats_of(name);
    if (!bias || (bias->size() != 1 && bias->size() != layer.bias.size())) return false;
    for (std::size_t o = 0; o < layer.bias.size(); ++o) layer.bias[o] = (*bias)[bias->size() == 1 ? 0 : o];
    return true;
  }

  // Follows the result to its quantization; false if there is none.
  bool follow(int from, Layer& layer) const {
    for (int i = from;;) {
      const int next = view_.index().only_user(at(i).outputs[0]);
      if (next < 0) return false;
      const Node& node = at(next);
      if (graph::quantizes(node) && graph::input(node, 0) == at(i).outputs[0]) {
        const auto grid = grid_of(node);
        if (!grid) return false;
        layer.to = *grid;
        layer.quantizer = next;
        return true;
      }
      if (graph::is(node, "Add") && i == from && graph::is(at(i), "MatMul")) {
        const std::size_t other = graph::input(node, 0) == at(i).outputs[0] ? 1 : 0;
        if (!add_bias(graph::input(node, other), layer)) return false;
      } else {
        const auto bounds = bounds_of(node);
        if (!bounds || graph::input(node, 0) != at(i).outputs[0]) return false;
        layer.bounds.insert(layer.bounds.end(), bounds->begin(), bounds->end());
      }
      i = next;
    }
  }

  std::optional<Layer> layer_of(int i) const {
    Layer layer;
    layer.linear = i;
    std::string value = graph::input(at(i), 0);
    int maker = view_.index().producer(value);
    for (; maker >= 0 && (graph::is(at(maker), "Flatten") || graph::is(at(maker), "Reshape") ||
                          graph::is(at(maker), "Squeeze"));
         maker = view_.index().producer(value)) {
      layer.reshapes.push_back(maker);
      value = graph::input(at(maker), 0);
    }
    if (maker < 0 || !graph::dequantizes(at(maker))) return std::nullopt;
    layer.input = graph::input(at(maker), 0);
    // The type of the quantized values is that of their Q; DQ has the same zero point.
    const Node* quantizer = view_.quantizer(layer.input);
    const auto from = grid_of(quantizer ? *quantizer : at(maker));
    if (!from || !read_weights(at(i), layer) || !follow(i, layer)) return std::nullopt;
    layer.from = *from;
    layer.span = span_of(layer.input, layer.from);
    return layer;
  }

  struct Tables {
    std::vector<std::int32_t> connections;
    std::vector<std::vector<std::int64_t>> results;
  };

  void convert(const Layer& layer, const Node& node) {
    formats::NeuronTable shape;
    shape.input_bits = layer.span.distinct_bits();
    std::size_t fan_in = 1;
    for (const auto& row : layer.rows)
      fan_in = std::max(fan_in, row.size() - static_cast<std::size_t>(std::ranges::count(row, 0.0F)));
    if (fan_in * static_cast<std::size_t>(shape.input_bits) > formats::kMostAddressBits)
      return remark(node, fmt::format("an output has {} inputs of {} bits; at most {} bits fit a table",
                                      fan_in, shape.input_bits, formats::kMostAddressBits));
    shape.fan_in = static_cast<int>(fan_in);
    constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;
    if (static_cast<std::int64_t>(layer.rows.size()) * shape.entries() > kMostEntries)
      return remark(node, fmt::format("its tables have {} entries",
                                      static_cast<std::int64_t>(layer.rows.size()) * shape.entries()));
    const Tables tables = tables_of(layer, shape);
    Span span{layer.to.all.high, layer.to.all.low};
    for (const auto& row : tables.results) {
      const auto [low, high] = std::ranges::minmax(row);
      span = {std::min(span.low, low), std::max(span.high, high)};
    }
    shape.is_signed = layer.to.all.is_signed();
    shape.output_bits = shape.is_signed && !span.is_signed() ? Span{-1, span.high}.bits() : span.bits();
    spans_[at(layer.quantizer).outputs[0]] = span;
    place(layer, shape, tables);
  }

  static Tables tables_of(const Layer& layer, const formats::NeuronTable& shape) {
    Tables tables;
    const std::int64_t values = std::int64_t{1} << shape.input_bits;
    for (std::size_t o = 0; o < layer.rows.size(); ++o) {
      std::vector<double> weights;
      for (std::size_t i = 0; i < layer.rows[o].size(); ++i) {
        if (layer.rows[o][i] == 0) continue;
        tables.connections.push_back(static_cast<std::int32_t>(i));
        weights.push_back(static_cast<double>(layer.rows[o][i]));
      }
      while (tables.connections.size() % static_cast<std::size_t>(shape.fan_in) != 0 ||
             tables.connections.size() < (o + 1) * static_cast<std::size_t>(shape.fan_in))
        tables.connections.push_back(-1);
      std::vector<std::int64_t>& results = tables.results.emplace_back();
      for (std::int64_t address = 0; address < shape.entries(); ++address) {
        ExactSum sum;
        sum.add(static_cast<double>(layer.bias[o]));
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const std::int64_t bits =
              address >> (static_cast<std::int64_t>(i) * shape.input_bits) & (values - 1);
          const std::int64_t value = layer.span.value_of(bits);
          // A weight and an integer of 9 bits have 33 bits: exact.
          sum.add_product(weights[i] * static_cast<double>(value - layer.from.zero), layer.from.scale);
        }
        results.push_back(bounded(layer.to.quantized(sum), layer.bounds, layer.to));
      }
    }
    return tables;
  }

  void place(const Layer& layer, const formats::NeuronTable& shape, const Tables& tables) {
    const Node &linear = at(layer.linear), &quantizer = at(layer.quantizer);
    const std::string stem = linear.name.empty() ? linear.outputs[0] : linear.name.str();
    const auto outputs = static_cast<std::int64_t>(layer.rows.size());
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(outputs * shape.bytes()));
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t a = 0; a < shape.entries(); ++a) {
        const auto value = static_cast<std::uint64_t>(
                               tables.results[static_cast<std::size_t>(o)][static_cast<std::size_t>(a)]) &
                           ((1U << shape.output_bits) - 1);
        const std::int64_t bit = a * shape.entry_bits();
        packed[static_cast<std::size_t>(o * shape.bytes() + bit / 8)] |=
            static_cast<std::uint8_t>(value << (bit % 8));
      }
    }
    const std::string connections = names_.fresh(stem + "_connections"),
                      table = names_.fresh(stem + "_tables");
    constants_.push_back(
        graph::make_tensor(connections, ElementType::int32, {outputs, 1, shape.fan_in}, tables.connections));
    constants_.push_back(
        graph::make_tensor(table, ElementType::uint8, {outputs, shape.bytes()}, std::move(packed)));
    std::vector<Node>& nodes = made_[layer.quantizer];
    std::string value = layer.input;
    for (auto one = layer.reshapes.rbegin(); one != layer.reshapes.rend(); ++one) {
      Node copy = at(*one);
      copy.name = graph::Text(names_.fresh(stem + "_Reshape"));
      copy.inputs[0] = value;
      value = copy.outputs[0] = names_.fresh(stem + "_inputs");
      nodes.push_back(std::move(copy));
    }
    Node neurons = graph::make_node("LookUpNeurons", {value, connections, table}, {quantizer.outputs[0]},
                                    {graph::attribute("input_bits", std::int64_t{shape.input_bits}),
                                     graph::attribute("output_bits", std::int64_t{shape.output_bits}),
                                     graph::attribute("signed", std::int64_t{shape.is_signed})},
                                    graph::kAnybit);
    neurons.name = graph::Text(names_.fresh(stem + "_LookUpNeurons"));
    nodes.push_back(std::move(neurons));
  }

  // Each quantizer becomes the nodes in its place; what only it used goes with remove_unused.
  void insert() {
    graph::Graph& graph = *model_.graph;
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto found = made_.find(static_cast<int>(i));
      if (found == made_.end()) {
        nodes.push_back(std::move(graph.nodes[i]));
      } else {
        std::ranges::move(found->second, std::back_inserter(nodes));
      }
    }
    graph.nodes = std::move(nodes);
    std::ranges::move(constants_, std::back_inserter(graph.initializers));
    const bool known = std::ranges::any_of(
        model_.opsets, [](const graph::OpsetImport& one) { return one.domain.str() == graph::kAnybit; });
    if (known) return;
    graph::OpsetImport& import = model_.opsets.emplace_back();
    import.domain = graph::Text(graph::kAnybit);
    import.version = 1;
  }

  graph::Model& model_;
  const PassOptions& options_;
  const graph::Graph before_;  // the view refers to its names
  const graph::QdqView view_;
  graph::Names names_;
  std::map<std::string, Span> spans_;  // of layers that were converted
  std::map<int, std::vector<Node>> made_;
  std::vector<Tensor> constants_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  return TruthTables(model, options).run();
}

}  // namespace

std::span<const Descriptor> truth_tables_descriptors() {
  static const Descriptor all[] = {
      {.name = "truth_tables",
       .order = 95,
       .summary = "looks up linear layers of few inputs and few bits (on request)",
       .run = run,
       .on_request = true}};
  return all;
}

}  // namespace anybit::passes
