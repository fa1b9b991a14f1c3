#include "lower/qdq.hpp"

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "lower/dynamic.hpp"
#include "lower/standard.hpp"
#include "ops/infer.hpp"
#include "ops/raise.hpp"
#include "portable/to_operators.hpp"

namespace anybit::lower {
namespace {

using graph::Graph;
using graph::Node;

// The inputs and outputs of a node that are not float32: lengths, masks.
struct Others {
  std::set<std::size_t> inputs, outputs;
};
// Keyed by address, since names may repeat in the branches of an If.
using OthersOfNodes = std::unordered_map<const Node*, Others>;

bool is_other(const ops::Value& value) {
  return value.type != graph::ElementType::undefined && value.type != graph::ElementType::float32;
}

Result<OthersOfNodes> find_others(const graph::Model& model, const Limits& limits) {
  OthersOfNodes all;
  const ops::Inference inference = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  for (const ops::NodeFacts& facts : inference.nodes) {
    Others others;
    for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
      if (facts.inputs[i] && is_other(*facts.inputs[i])) others.inputs.insert(i);
    }
    for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
      if (is_other(facts.outputs[i])) others.outputs.insert(i);
    }
    all.emplace(facts.node, std::move(others));
  }
  return all;
}

bool computes_in_half(const GraphPlan& plan) {
  return !plan.half.empty() || std::ranges::any_of(plan.inner, computes_in_half);
}

class Writer {
 public:
  // `others`: of the nodes of this graph and its subgraphs, by address.
  Writer(Graph& graph, const GraphPlan& plan, graph::Names& names, Functions& functions,
         const OthersOfNodes& others, bool trained = false)
      : graph_(graph),
        plan_(plan),
        names_(names),
        functions_(functions),
        others_(others),
        before_edits_(graph),
        index_(before_edits_) {
    if (trained) training_.emplace(graph_, names_);
  }

  Result<void> write() {
    for (const Activation& one : plan_.activations) TRY(add_activation(one));
    for (const Constant& one : plan_.constants) TRY(add_constant(one));
    if (training_) {
      for (const DynamicLayer& one : plan_.dynamic) train_dynamic(one);
    } else {
      DynamicWriter dynamic(graph_, names_);
      for (const DynamicLayer& one : plan_.dynamic)
        replaced_[one.node] = dynamic.write(graph_.nodes[static_cast<std::size_t>(one.node)], one);
      for (const int one : plan_.half) compute_in_half(one);
    }
    TRY(write_inner());
    place_nodes();
    return {};
  }

  std::vector<LearnedStep> steps() const {
    return training_ ? training_->steps() : std::vector<LearnedStep>();
  }

 private:
  struct Stored {
    std::string scale, zero_point;  // zero_point: empty if all are zero
  };
  // Constants of the parameters, shared between equal parameters of a value.
  Stored store(const Parameters& parameters, const std::string& value) {
    Stored stored{names_.fresh(value + "_scale"), {}};
    graph_.initializers.push_back(scale_tensor(parameters, stored.scale));
    if (parameters.zero_points.empty()) return stored;
    stored.zero_point = names_.fresh(value + "_zero_point");
    graph_.initializers.push_back(zero_point_tensor(parameters, stored.zero_point));
    return stored;
  }

  // Makes a node named after the value that it is for.
  Node named(const char* op, const std::string& about, std::vector<std::string> inputs, std::string output) {
    Node node = graph::make_node(op, std::move(inputs), {std::move(output)});
    node.name = graph::Text(names_.fresh(about + "_" + op));
    return node;
  }

  Node linear(const char* op, const std::string& about, std::string input, const Stored& stored,
              std::string output, const Parameters& parameters) {
    Node node = named(op, about, {std::move(input), stored.scale}, std::move(output));
    if (!stored.zero_point.empty()) node.inputs.push_back(stored.zero_point);
    const auto set = [&](const char* name, std::int64_t value) {
      node.attributes.push_back(graph::attribute(name, value));
    };
    if (!parameters.per_tensor()) set("axis", parameters.axis);
    if (parameters.block_size > 0) set("block_size", parameters.block_size);
    return node;
  }

  // Appends the nodes that quantize and dequantize `from` as `result`.
  Result<void> quantize(const std::string& from, const std::string& about, const Quantization& as,
                        std::string result, std::vector<Node>& nodes) {
    if (training_) {
      training_->activation(from, about, as, std::move(result), nodes);
      return {};
    }
    if (as.is_linear()) {
      std::string source = from;
      if (as.lowest) {
        nodes.push_back(named("Max", about, {from, number(*as.lowest)}, names_.fresh(about + "_Max_Output")));
        source = nodes.back().outputs[0];
      }
      if (as.clip) source = clipped(source, about, *as.clip, nodes);
      add_binary(source, about, as.parameters, std::move(result), nodes);
      return {};
    }
    const StandardType standard = standard_type(as.use);
    if (!as.has_scale() && standard.type != graph::ElementType::undefined) {
      add_casts(standard, about, from, std::move(result), nodes);
      return {};
    }
    const float scale = as.has_scale() ? as.parameters.scales[0] : 1.0F;
    if (scale == 1) {
      nodes.push_back(TRY(of_format("QuantizeDequantize", as.use, about, {from}, std::move(result))));
      return {};
    }
    const std::string by = number(scale), divided = names_.fresh(about + "_Div_Output"),
                      rounded = names_.fresh(about + "_QuantizeDequantize_Output");
    nodes.push_back(named("Div", about, {from, by}, divided));
    nodes.push_back(TRY(of_format("QuantizeDequantize", as.use, about, {divided}, rounded)));
    nodes.push_back(named("Mul", about, {rounded, by}, std::move(result)));
    return {};
  }

  void add_binary(const std::string& from, const std::string& about, const Parameters& parameters,
                  std::string result, std::vector<Node>& nodes) {
    const Stored stored = store(parameters, about);
    const std::string quantized = names_.fresh(about + "_QuantizeLinear_Output");
    nodes.push_back(linear("QuantizeLinear", about, from, stored, quantized, parameters));
    nodes.push_back(linear("DequantizeLinear", about, quantized, stored, std::move(result), parameters));
  }

  static const char* name_of(const Quantization& as) {
    return as.is_linear() ? "DequantizeLinear" : "QuantizeDequantize";
  }

  Result<void> add_activation(const Activation& one) {
    const int producer = index_.producer(one.value);
    std::vector<Node>& nodes = behind_[producer];
    std::string seen = one.value;
    if (one.made) {
      Result<void> done;
      seen = replace_value(one.value, producer, name_of(*one.made),
                           [&](const std::string& from, std::string result) {
                             done = quantize(from, one.value, *one.made, result, nodes);
                             return result;
                           });
      TRY(std::move(done));
    }
    for (const Activation::Taken& taken : one.taken) {
      std::string name = names_.fresh(fmt::format("{}_{}_Output", one.value, name_of(taken.as)));
      TRY(quantize(seen, one.value, taken.as, name, nodes));
      for (const Place& place : taken.places) set_input(place, name);
    }
    return {};
  }

  // Redirects all consumers to the output of `change(value, name of the output)`. If the value is a graph
  // output or used in a subgraph, the new value takes over its name.
  template <class Change>
  std::string replace_value(const std::string& value, int producer, const char* op, const Change& change) {
    bool keeps_name = index_.is_output(value);
    for (const graph::Index::Use& use : index_.uses(value)) keeps_name |= use.input < 0;
    if (keeps_name && producer >= 0) {
      const std::string raw = names_.fresh(fmt::format("{}_{}_Input", value, op));
      for (std::string& output : graph_.nodes[static_cast<std::size_t>(producer)].outputs) {
        if (output == value) output = raw;
      }
      return change(raw, value);
    }
    std::string name = change(value, names_.fresh(fmt::format("{}_{}_Output", value, op)));
    for (const graph::Index::Use& use : index_.uses(value)) {
      if (use.node >= 0 && use.input >= 0) set_input({use.node, use.input}, name);
    }
    return name;
  }

  // --- formats that are functions ---

  Result<Node> of_format(std::string_view op, const formats::Use& use, const std::string& about,
                         std::vector<std::string> inputs, std::string output,
                         std::vector<graph::Property> hints = {}) {
    Node node;
    node.metadata = std::move(hints);
    TRY(functions_.set_operator(node, op, use));
    node.name = graph::Text(names_.fresh(fmt::format("{}_{}", about, op)));
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    return node;
  }

  Node cast(const std::string& about, std::string input, std::string output, graph::ElementType to) {
    Node node = named("Cast", about, {std::move(input)}, std::move(output));
    node.attributes.push_back(graph::attribute("to", static_cast<std::int64_t>(to)));
    return node;
  }

  // Appends a Clip and returns its output.
  std::string clipped(const std::string& from, const std::string& about, std::pair<float, float> ends,
                      std::vector<Node>& nodes) {
    const std::string low = number(ends.first), high = number(ends.second);
    Node clip = named("Clip", about, {from, low, high}, {});
    clip.outputs = {names_.fresh(about + "_Clip_Output")};
    nodes.push_back(std::move(clip));
    return nodes.back().outputs[0];
  }

  // Appends a Cast to the type and back. Values that would become infinite are clipped first.
  void add_casts(const StandardType& standard, const std::string& about, std::string from, std::string result,
                 std::vector<Node>& nodes) {
    if (standard.largest > 0) from = clipped(from, about, {-standard.largest, standard.largest}, nodes);
    const std::string stored = names_.fresh(fmt::format("{}_{}", about, graph::name_of(standard.type)));
    if (standard.type == graph::ElementType::float16) in_half_[result] = stored;
    nodes.push_back(cast(about, std::move(from), stored, standard.type));
    nodes.push_back(cast(about, stored, std::move(result), graph::ElementType::float32));
  }

  // Makes a node compute in float16. Its activations and weights were just cast to float16 and are taken from
  // there; its bias is cast. Inputs that are omitted or not float32 are unchanged.
  void compute_in_half(int at) {
    Node& node = graph_.nodes[static_cast<std::size_t>(at)];
    const auto found = others_.find(&node);
    const Others others = found == others_.end() ? Others() : found->second;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].empty() && others.inputs.count(i) == 0) take_in_half(at, node.inputs[i]);
    }
    std::vector<Node> casts;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || others.outputs.count(i) != 0) continue;
      const std::string result = std::exchange(node.outputs[i], names_.fresh(node.outputs[i] + "_float16"));
      in_half_[result] = node.outputs[i];
      casts.push_back(cast(result, node.outputs[i], result, graph::ElementType::float32));
    }
    auto& behind = behind_[at];
    behind.insert(behind.begin(), std::make_move_iterator(casts.begin()),
                  std::make_move_iterator(casts.end()));
  }

  void take_in_half(int at, std::string& input) {
    const auto stored = in_half_.find(input);
    if (stored != in_half_.end()) {
      input = stored->second;
      return;
    }
    const std::string half = names_.fresh(input + "_float16");
    before_[at].push_back(cast(input, input, half, graph::ElementType::float16));
    input = half;
  }

  // A scalar constant.
  std::string number(float value) {
    graph::Tensor tensor;
    std::string name = names_.fresh("number");
    tensor.name = graph::Text(name);
    tensor.element = static_cast<std::int32_t>(graph::ElementType::float32);
    tensor.data = Bytes::own(std::vector<float>{value});
    graph_.initializers.push_back(std::move(tensor));
    return name;
  }

  // The node that decodes packed values to float32.
  Result<Node> decode(const Constant& one, const std::string& name) {
    const StandardType standard = standard_type(one.use);
    if (standard.type != graph::ElementType::undefined) {
      // Values of whole bytes are stored like ONNX's type.
      graph::Tensor tensor = one.quantized;
      const std::string stored = names_.fresh(fmt::format("{}_{}", one.name, graph::name_of(standard.type)));
      tensor.name = graph::Text(stored);
      tensor.element = static_cast<std::int32_t>(standard.type);
      tensor.dims = one.dims;
      graph_.initializers.push_back(std::move(tensor));
      if (standard.type == graph::ElementType::float16) in_half_[name] = stored;
      return cast(one.name, stored, name, graph::ElementType::float32);
    }
    std::vector<std::string> inputs;
    const auto add = [&](const graph::Tensor& tensor, const std::string& suffix) {
      inputs.push_back(names_.fresh(one.name + "_" + suffix));
      graph_.initializers.push_back(tensor);
      graph_.initializers.back().name = graph::Text(inputs.back());
    };
    add(one.quantized, "codes");
    for (const graph::Tensor& field : one.fields) add(field, field.name.str());
    std::vector<graph::Property> hints;
    // Only anybit reads it. A function call cannot have it as an attribute.
    if (one.compute == "int8") hints.push_back(portable::compute_hint(one.compute));
    Node node = TRY(of_format("Decode", one.use, one.name, std::move(inputs), name, std::move(hints)));
    node.attributes.push_back(graph::attribute("coded", one.grouped));
    node.attributes.push_back(graph::attribute("dims", one.dims));
    return node;
  }

  void set_input(const Place& place, const std::string& name) {
    graph_.nodes[static_cast<std::size_t>(place.node)].inputs[static_cast<std::size_t>(place.input)] = name;
  }

  void train_constant(const Constant& one) {
    std::vector<Node> nodes;
    const auto& at = one.places.front();
    const std::string from =
        graph_.nodes[static_cast<std::size_t>(at.node)].inputs[static_cast<std::size_t>(at.input)];
    const std::string name =
        one.use.format.empty() ? training_->bias(from, one, nodes) : training_->constant(from, one, nodes);
    int first = at.node;
    for (const Place& place : one.places) {
      set_input(place, name);
      first = std::min(first, place.node);
    }
    std::ranges::move(nodes, std::back_inserter(before_[first]));
  }

  void train_dynamic(const DynamicLayer& layer) {
    Node& node = graph_.nodes[static_cast<std::size_t>(layer.node)];
    std::vector<Node> nodes;
    for (const Constant& weight : layer.weights) {
      for (const Place& place : weight.places) {
        if (place.node != layer.node) continue;
        std::string& input = node.inputs[static_cast<std::size_t>(place.input)];
        input = training_->constant(input, weight, nodes);
      }
    }
    node.inputs[0] = training_->dynamic(node.inputs[0], layer, node.op_type.str() == "Conv", nodes);
    std::ranges::move(nodes, std::back_inserter(before_[layer.node]));
  }

  Result<void> add_constant(const Constant& one) {
    if (training_) {
      train_constant(one);
      return {};
    }
    std::vector<Node> nodes;
    std::string name;
    if (one.is_linear()) {
      name = add_linear(one, nodes);
    } else {
      name = names_.fresh(one.name + "_Decode_Output");
      nodes.push_back(TRY(decode(one, name)));
    }
    int first = one.places.front().node;
    for (const Place& place : one.places) {
      set_input(place, name);
      first = std::min(first, place.node);
    }
    std::ranges::move(nodes, std::back_inserter(before_[first]));
    return {};
  }

  std::string add_linear(const Constant& one, std::vector<Node>& nodes) {
    const std::string quantized = names_.fresh(one.name + "_quantized");
    graph_.initializers.push_back(one.quantized);
    graph_.initializers.back().name = graph::Text(quantized);
    const Stored stored = store(one.parameters, one.name);
    const std::string name = names_.fresh(one.name + "_DequantizeLinear_Output");
    nodes.push_back(linear("DequantizeLinear", one.name, quantized, stored, name, one.parameters));
    if (one.compute == "int8") nodes[0].metadata.push_back(portable::compute_hint(one.compute));
    if (one.quantized.dims == one.dims && !one.apart && !has_torn_rows(one)) return name;
    nodes.push_back(reshape(one.name, name, one.dims));
    return nodes.back().outputs[0];
  }

  // ONNX Runtime (1.31) fuses DequantizeLinear and MatMul into MatMulNBits, and misreads 2-bit values whose
  // rows do not end at a byte. A Reshape between the two prevents the fusion.
  static bool has_torn_rows(const Constant& one) {
    constexpr std::int64_t kPerByte = 4;
    return graph::integer_range(one.parameters.type).bits == 2 && !one.quantized.dims.empty() &&
           one.quantized.dims.back() % kPerByte != 0;
  }

  Node reshape(const std::string& about, std::string input, const std::vector<std::int64_t>& dims) {
    const std::string shape = names_.fresh(about + "_shape");
    graph_.initializers.push_back(graph::make_tensor(shape, {std::ssize(dims)}, dims));
    Node node = named("Reshape", about, {std::move(input), shape}, {});
    node.outputs = {names_.fresh(about + "_Reshape_Output")};
    return node;
  }

  Result<void> write_inner() {
    for (const GraphPlan& inner : plan_.inner) {
      std::size_t number = 0;
      Result<void> written;
      graph::each_graph(graph_.nodes[static_cast<std::size_t>(inner.node)], [&](Graph& graph) {
        if (number++ == inner.which)
          written = Writer(graph, inner, names_, functions_, others_, training_.has_value()).write();
      });
      TRY(std::move(written));
    }
    return {};
  }

  void place_nodes() {
    std::vector<Node> nodes;
    const auto append = [&](std::map<int, std::vector<Node>>& from, int key) {
      const auto found = from.find(key);
      if (found == from.end()) return;
      for (Node& one : found->second) nodes.push_back(std::move(one));
    };
    append(behind_, -1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      append(before_, static_cast<int>(i));
      if (replaced_.count(static_cast<int>(i)) == 0) nodes.push_back(std::move(graph_.nodes[i]));
      append(replaced_, static_cast<int>(i));
      append(behind_, static_cast<int>(i));
    }
    graph_.nodes = std::move(nodes);
  }

  Graph& graph_;
  const GraphPlan& plan_;
  graph::Names& names_;
  Functions& functions_;
  const OthersOfNodes& others_;
  const Graph before_edits_;  // shares tensor data
  const graph::Index index_;
  // New nodes by the index of the node that they precede or follow; behind_[-1]: before all nodes.
  std::map<int, std::vector<Node>> before_, behind_, replaced_;
  std::map<std::string, std::string> in_half_;  // names of the float16 versions of values
  std::optional<TrainingForm> training_;
};

}  // namespace

Result<void> to_qdq(Graph& graph, const GraphPlan& plan, graph::Names& names, Functions& functions,
                    const Limits& limits) {
  OthersOfNodes others;
  if (computes_in_half(plan)) others = TRY(find_others(functions.model(), limits));
  return Writer(graph, plan, names, functions, others).write();
}

Result<std::vector<LearnedStep>> to_training(Graph& graph, const GraphPlan& plan, graph::Names& names,
                                             Functions& functions) {
  const OthersOfNodes others;
  Writer writer(graph, plan, names, functions, others, true);
  TRY(writer.write());
  return writer.steps();
}

}  // namespace anybit::lower
