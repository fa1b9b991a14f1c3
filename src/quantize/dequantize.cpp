#include "quantize/dequantize.hpp"

#include <unordered_map>

#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "lower/parameters.hpp"
#include "ops/array.hpp"
#include "ops/coded.hpp"
#include "ops/convert.hpp"
#include "ops/node_attributes.hpp"
#include "ops/raise.hpp"
#include "quantize/clamps.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::is;
using graph::Node;
using graph::Tensor;
using lower::Places;
using ops::Array;

std::optional<Places> places_of(const Node& node, const Tensor& codes, const Array& scale) {
  if (scale.count() == 1) return Places();
  const auto rank = static_cast<std::int64_t>(codes.dims.size());
  std::int64_t axis = graph::attribute_or<std::int64_t>(node, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || codes.dims[static_cast<std::size_t>(axis)] == 0) return std::nullopt;
  const Places places(codes.dims, axis, graph::attribute_or<std::int64_t>(node, "block_size", 0));
  const std::int64_t wanted =
      places.block == 0 ? places.length : codes.count() / places.length * places.blocks;
  return scale.count() == wanted ? std::optional(places) : std::nullopt;
}

Tensor float_tensor(const std::string& name, std::vector<std::int64_t> dims, std::vector<float> values) {
  Tensor tensor;
  tensor.name = graph::Text(name);
  tensor.element = static_cast<std::int32_t>(ElementType::float32);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(values));
  return tensor;
}

// The numbers that a constant stands for; nothing if they cannot be told.
Result<std::optional<Tensor>> decoded(const Node& node, const graph::Index& index, ops::Memory& memory) {
  const std::optional<Tensor> none;
  const Tensor* codes = index.constant(node.inputs[0]);
  const Tensor* scales = index.constant(node.inputs[1]);
  const bool shifted = node.inputs.size() > 2 && !node.inputs[2].empty();
  const Tensor* zeros = shifted ? index.constant(node.inputs[2]) : nullptr;
  if (!codes || !scales || (shifted && !zeros) || scales->type() != ElementType::float32) return none;
  const Array code = TRY(Array::from(*codes, memory)), scale = TRY(Array::from(*scales, memory));
  const Array zero = zeros ? TRY(Array::from(*zeros, memory)) : Array();
  const auto places = places_of(node, *codes, scale);
  if (!places || (zeros && zero.count() != scale.count())) return none;
  const float* small_floats = ops::small_float_values(code.type());
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(code.count()));
  for (std::int64_t i = 0; i < code.count(); ++i) {
    const std::int64_t at = places->of(i);
    if (small_floats) {
      values.push_back(small_floats[code.data<std::uint8_t>()[i]] * scale.data<float>()[at]);
      continue;
    }
    const auto value = code_at(code, i), offset = zeros ? code_at(zero, at) : std::optional<std::int64_t>(0);
    if (!value || !offset) return none;
    values.push_back(static_cast<float>(*value - *offset) * scale.data<float>()[at]);
  }
  return std::optional(float_tensor(node.outputs[0], codes->dims, std::move(values)));
}

bool is_ours(const Node& node, std::string_view op) {
  return node.domain.str() == ops::kAnybit && node.op_type.str() == op;
}

// The numbers that packed codes stand for; nothing if they are not constants.
Result<std::optional<Tensor>> unpacked(const Node& node, const graph::Index& index, ops::Memory& memory) {
  std::vector<Array> arrays;
  for (const std::string& input : node.inputs) {
    const Tensor* constant = index.constant(input);
    if (!constant) return std::optional<Tensor>();
    arrays.push_back(TRY(Array::from(*constant, memory)));
  }
  std::vector<const Array*> stored;
  for (const Array& one : arrays) stored.push_back(&one);
  const ops::CodedWeight weight = TRY(ops::CodedWeight::of(ops::NodeAttributes(node), nullptr, stored));
  std::vector<float> values(static_cast<std::size_t>(weight.codec.count()));
  ThreadPool pool(1);
  weight.codec.decode_packed(weight.codes, weight.parameters, values.data(), pool);
  return std::optional(float_tensor(node.outputs[0], weight.dims, std::move(values)));
}

// Takes the place of a pair that cuts values off.
Node clamp(Clamps::Cut cut, const Node& quantizer, const Node& dequantizer, std::int64_t opset,
           graph::Names& names, Graph& graph) {
  const bool six = cut == Clamps::Cut::outside_six;
  Node node;
  node.op_type = graph::Text(six ? "Clip" : "Relu");
  node.name = graph::Text(names.fresh(quantizer.inputs[0] + (six ? "_Clip" : "_Relu")));
  node.inputs = {quantizer.inputs[0]};
  node.outputs = {dequantizer.outputs[0]};
  if (!six) return node;
  constexpr std::int64_t kLimitsAreInputs = 11;
  for (const auto& [name, limit] : {std::pair("min", 0.0F), std::pair("max", 6.0F)}) {
    if (opset < kLimitsAreInputs) {
      node.attributes.push_back(graph::attribute(name, limit));
      continue;
    }
    node.inputs.push_back(names.fresh(fmt::format("{}_{}", quantizer.inputs[0], name)));
    graph.initializers.push_back(float_tensor(node.inputs.back(), {}, {limit}));
  }
  return node;
}

Result<std::int64_t> take_back(Graph& graph, std::int64_t opset, graph::Names& names) {
  std::int64_t gone = 0;
  for (Node& node : graph.nodes) {
    Result<void> done;
    graph::each_graph(node, [&](Graph& inner) {
      auto count = take_back(inner, opset, names);
      if (count.ok()) {
        gone += *count;
      } else {
        done = std::move(count).error();
      }
    });
    TRY(std::move(done));
  }
  const auto memory = ops::Memory::make();
  const Graph before = graph;  // the index looks at names that change
  const graph::Index index(before);
  const Clamps clamps = TRY(Clamps::of(before, index, *memory));
  std::unordered_map<std::string, std::string> clamped;  // what takes the place of codes
  graph::Renames instead;                                // of what a DequantizeLinear made
  std::vector<Node> nodes;
  for (const Node& node : before.nodes) {
    if (is_ours(node, "Decode")) {
      if (auto constant = TRY(unpacked(node, index, *memory))) {
        graph.initializers.push_back(*std::move(constant));
        ++gone;
        continue;
      }
    }
    if (is_ours(node, "QuantizeDequantize") && !index.is_output(node.outputs[0])) {
      instead.add(node.outputs[0], node.inputs[0]);
      ++gone;
      continue;
    }
    if (is(node, "DequantizeLinear") && node.inputs.size() >= 2) {
      if (auto constant = TRY(decoded(node, index, *memory))) {
        graph.initializers.push_back(*std::move(constant));
        ++gone;
        continue;
      }
      const int producer = index.producer(node.inputs[0]);
      const Node* quantizer = producer < 0 ? nullptr : &before.nodes[static_cast<std::size_t>(producer)];
      if (quantizer && is(*quantizer, "QuantizeLinear") && !index.is_output(node.outputs[0])) {
        ++gone;
        if (const Clamps::Cut cut = clamps.cut(*quantizer); cut != Clamps::Cut::nothing) {
          const auto [same, is_new] = clamped.emplace(node.inputs[0], node.outputs[0]);
          if (is_new) nodes.push_back(clamp(cut, *quantizer, node, opset, names, graph));
          if (!is_new) instead.add(node.outputs[0], same->second);
          continue;
        }
        instead.add(node.outputs[0], quantizer->inputs[0]);
        continue;
      }
    }
    nodes.push_back(node);
  }
  graph.nodes = std::move(nodes);
  instead.apply(graph);
  return gone;
}

}  // namespace

Result<std::int64_t> dequantize(Graph& graph, std::int64_t opset) {
  graph::Names names(graph);
  return take_back(graph, opset, names);
}

}  // namespace anybit::quantizing
