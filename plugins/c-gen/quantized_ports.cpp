// The quantized entry: for inputs that go to a QuantizeLinear, and outputs of a DequantizeLinear, it takes
// and returns the integers.
#include <unordered_map>

#include "constants.hpp"
#include "unit.hpp"

namespace anybit::cgen {
namespace {

bool is(const anybit_node& node, std::string_view op) { return node.op == op; }

const Value* at(const std::vector<Value>& values, const anybit_node& node, std::size_t input) {
  if (input >= node.input_count || node.inputs[input] < 0) return nullptr;
  return &values[static_cast<std::size_t>(node.inputs[input])];
}

// The per-tensor scale and zero point of a QuantizeLinear or DequantizeLinear; false for other granularities.
bool parameters(const std::vector<Value>& values, const anybit_node& node, Port& port) {
  const Value *scale = at(values, node, 1), *zero = at(values, node, 2);
  if (!scale || !scale->constant() || scale->type != Element::float32 || scale->count() != 1) return false;
  port.scale = floats_of(*scale)->front();
  if (!zero) return true;
  if (!zero->constant() || zero->info().kind != Kind::integer) return false;
  port.zero_point = integers_of(*zero)->front();
  return true;
}

// The quantization parameters that the model gives for an integer tensor.
void describe(Port& port) {
  const anybit_value& view = *port.value->view;
  if (port.value->info().kind != Kind::integer || view.scale_count != 1 || !view.scales) return;
  port.scale = view.scales[0];
  port.zero_point = view.zero_points ? view.zero_points[0] : 0;
}

}  // namespace

void Unit::find_quantized_ports() {
  const anybit_graph& graph = *view_.graph;
  std::unordered_multimap<const Value*, Port*> inputs, outputs;
  for (Port& port : inputs_) inputs.emplace(port.value, &port);
  for (Port& port : outputs_) outputs.emplace(port.value, &port);
  for (std::size_t i = 0; i < graph.node_count; ++i) {
    const anybit_node& node = graph.nodes[i];
    const bool quantizes = is(node, "QuantizeLinear"), dequantizes = is(node, "DequantizeLinear");
    if ((!quantizes && !dequantizes) || node.output_count != 1) continue;
    const Value* from = at(values_, node, 0);
    Value* to = &values_[static_cast<std::size_t>(node.outputs[0])];
    if (!from || from->storage < 0) continue;
    const auto [first, last] = quantizes ? inputs.equal_range(from) : outputs.equal_range(to);
    for (auto found = first; found != last; ++found) {
      Port& port = *found->second;
      const Value& stored = quantizes ? *to : *from;
      if (port.quantized || stored.info().kind != Kind::integer) continue;
      Storage& storage = storage_of(stored);
      const bool alone = quantizes ? storage_of(*from).uses == 1 : storage_of(*to).uses == 1;
      if (!alone || !storage.outer.empty() || !storage.inner.empty()) continue;
      if (!parameters(values_, node, port)) continue;
      port.quantized = &stored;
      storage.inner = port.name;
      ++storage.uses;  // the use by the entry
      (quantizes ? first_nodes_ : last_nodes_).insert(&node);
      // Inputs are live before the first step, outputs until after the last.
      storage.life = quantizes ? Span{0, 0} : Span{static_cast<int>(graph.node_count), 1 << 30};
    }
  }
  for (auto* ports : {&inputs_, &outputs_}) {
    for (Port& port : *ports) {
      if (!port.quantized) describe(port);
    }
  }
}

bool Unit::has_quantized_entry() const {
  for (const auto* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) {
      if (port.quantized) return true;
    }
  }
  return false;
}

}  // namespace anybit::cgen
