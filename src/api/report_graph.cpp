#include "api/report_graph.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/try.hpp"
#include "graph/quantization.hpp"
#include "ops/infer.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "ops/table.hpp"
#include "portable/to_operators.hpp"

namespace anybit {
namespace {

using ops::NodeFacts;

constexpr std::string_view kSuffix = "_quantized";  // that lowering adds to the name of a quantized constant

// Null if the node has no such input.
const ops::Value* input_at(const NodeFacts& facts, std::size_t index) {
  const bool given = index < facts.inputs.size() && !facts.node->inputs[index].empty();
  return given ? facts.inputs[index] : nullptr;
}

class Drawing {
 public:
  explicit Drawing(const graph::Graph& graph) {
    for (const graph::ValueInfo& one : graph.outputs) outputs_.insert(one.name.str());
  }

  void pass(const NodeFacts& facts, const std::string& place) {
    const graph::Node& node = *facts.node;
    const std::string& op = node.op_type.str();
    if (op == "Constant") return;
    const ops::Value* data = input_at(facts, 0);
    if (!data || node.outputs.empty()) {
      draw(facts, place);
    } else if (graph::quantizes(node)) {
      origins_[node.outputs[0]] = {origin(node.inputs[0]).value, "", false};
      packed_tensor_.insert(node.inputs[0]);
      note_grid(facts);
    } else if (graph::dequantizes(node)) {
      Origin from = origin(node.inputs[0]);
      if (data->constant && from.value.ends_with(kSuffix))
        from.value.resize(from.value.size() - kSuffix.size());
      if (outputs_.count(node.outputs[0]) != 0) renamed_[from.value] = node.outputs[0];
      note(node.outputs[0], {from.value, std::string(graph::name_of(data->type)), data->constant != nullptr});
    } else if (node.domain == graph::kAnybit || ops::is_fix_neuron(node)) {
      const auto use = ops::format_of(node);
      note(node.outputs[0], {origin(node.inputs[0]).value, use.ok() ? use->format : "", op == "Decode"});
    } else {
      draw(facts, place);
    }
  }

  ReportGraph finish() {
    const auto is_packed = [&](const std::string& value) { return packed_tensor_.count(value) != 0; };
    for (QuantizationReport::Node& node : drawn_.nodes) {
      if (node.outcome == "float" && std::ranges::all_of(node.outputs, is_packed)) node.outcome = "fused";
      for (std::string& value : node.inputs) rename(value);
      for (std::string& value : node.outputs) rename(value);
    }
    for (QuantizationReport::Tensor& tensor : drawn_.tensors) {
      rename(tensor.name);
      rename(tensor.values.front());
    }
    return std::move(drawn_);
  }

 private:
  struct Origin {
    std::string value;   // before its format changed
    std::string format;  // empty: unchanged
    bool constant = false;
  };

  void rename(std::string& value) const {
    if (const auto found = renamed_.find(value); found != renamed_.end()) value = found->second;
  }

  void note(const std::string& value, Origin from) {
    if (from.constant) drawn_.weights[value] = {from.value, from.format};
    origins_[value] = std::move(from);
  }

  Origin origin(const std::string& value) const {
    const auto found = origins_.find(value);
    return found == origins_.end() ? Origin{value, "", false} : found->second;
  }

  void draw(const NodeFacts& facts, const std::string& place) {
    const graph::Node& node = *facts.node;
    QuantizationReport::Node row{place, node.name.str(), node.op_type.str(), "float", "", "", {}, {}};
    std::string data, weight;
    for (const std::string& input : node.inputs) {
      Origin from = origin(input);
      row.inputs.push_back(from.value);
      if (!from.format.empty() && from.format != "int32")  // the weight's type says more than the bias's
        (from.constant ? weight : data) = from.format;
    }
    row.outputs = node.outputs;
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    if (descriptor && !descriptor->quantized.empty()) {
      row.outcome = "quantized";
      row.what = input_at(facts, 0) ? std::string(graph::name_of(input_at(facts, 0)->type)) : "";
    } else if (!data.empty()) {
      row.outcome = "quantized";
      row.what = weight.empty() ? data : data + ", " + weight;
    } else if (!weight.empty()) {
      row.outcome = "weights only";
      row.what = weight;
    }
    drawn_.nodes.push_back(std::move(row));
  }

  // Records the grid of a value with constant per-tensor scale and zero point.
  void note_grid(const NodeFacts& facts) {
    const auto read = graph::read_qdq<graph::Tensor>(*facts.node, [&](std::size_t i) {
      return input_at(facts, i) ? input_at(facts, i)->constant : nullptr;
    });
    const graph::IntegerRange range = graph::integer_range(read.type);
    if (!read.known() || !read.per_tensor() || range.bits == 0 || range.bits > 16) return;
    QuantizationReport::Tensor row;
    row.name = origin(facts.node->inputs[0]).value;
    row.values = {row.name};
    row.spec = graph::name_of(read.type);
    row.scale = read.scale->data.at<float>(0);
    if (read.zero_point) row.zero_point = *graph::integer_at(*read.zero_point, 0);
    row.levels = std::int64_t{range.high} - range.low + 1;
    row.low = row.grid_low = row.scale * static_cast<float>(range.low - row.zero_point);
    row.high = row.grid_high = row.scale * static_cast<float>(range.high - row.zero_point);
    row.saturated = -1;
    drawn_.tensors.push_back(std::move(row));
  }

  std::unordered_map<std::string, Origin> origins_;
  std::unordered_set<std::string> outputs_;               // of the model
  std::unordered_map<std::string, std::string> renamed_;  // from before a Q/DQ pair to the output after it
  std::unordered_set<std::string> packed_tensor_;         // inputs of QuantizeLinear
  ReportGraph drawn_;
};

}  // namespace

Result<ReportGraph> drawn_graph(const graph::Model& original, const Limits& limits) {
  graph::Model model = original;  // shares its tensors' data
  portable::to_operators(model);
  const ops::Inference inference = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  Drawing drawing(*model.graph);
  for (const NodeFacts& facts : inference.nodes) drawing.pass(facts, inference.graphs[facts.graph].place);
  return drawing.finish();
}

}  // namespace anybit
