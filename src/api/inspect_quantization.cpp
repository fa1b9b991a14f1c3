#include "api/inspect_quantization.hpp"

#include <algorithm>

#include "anybit/formats.hpp"
#include "graph/node.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "ops/table.hpp"

namespace anybit {
namespace {

using graph::ElementType;
using ops::NodeFacts;
using ops::Value;

const Value* input_at(const NodeFacts& facts, int index) {
  const auto i = static_cast<std::size_t>(index);
  const bool given = index >= 0 && i < facts.inputs.size() && !facts.node->inputs[i].empty();
  return given ? facts.inputs[i] : nullptr;
}

const Value* output_at(const NodeFacts& facts, int index) {
  const auto i = static_cast<std::size_t>(index);
  return index >= 0 && i < facts.outputs.size() ? &facts.outputs[i] : nullptr;
}

std::int64_t integer(const graph::Node& node, std::string_view name) {
  return graph::attribute_or<std::int64_t>(node, name, 0);
}

// The zero point at the centre of a type's range, as a repeated byte: 0, or 128 for uint8.
std::vector<std::uint8_t> middle(ElementType type) {
  switch (type) {
    case ElementType::uint8:
      return {0x80};
    case ElementType::uint16:
      return {0x00, 0x80};
    case ElementType::uint4:
      return {0x88};
    case ElementType::uint2:
      return {0xAA};
    default:
      return {0};
  }
}

bool is_unsigned(ElementType type) { return middle(type) != std::vector<std::uint8_t>{0}; }

std::string symmetry(const NodeFacts& facts, const ops::QuantizedTensor& where, ElementType type,
                     bool packed) {
  if (where.scale_output >= 0) return "asymmetric";
  const Value* zero_point = input_at(facts, where.zero_point);
  if (!zero_point) return packed || !is_unsigned(type) ? "symmetric" : "asymmetric";
  if (!zero_point->constant) return "";
  const auto expected = middle(zero_point->constant->type());
  const auto bytes = zero_point->constant->data.span();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (std::to_integer<std::uint8_t>(bytes[i]) != expected[i % expected.size()]) return "asymmetric";
  }
  return "symmetric";
}

std::string granularity(const NodeFacts& facts, const ops::QuantizedTensor& where, std::int64_t block) {
  if (block > 0) return "block";
  if (where.scale_output >= 0) return "tensor";
  const Value* scale = input_at(facts, where.scale >= 0 ? where.scale : where.zero_point);
  if (!scale) return where.scale < 0 && where.zero_point >= 0 ? "tensor" : "";
  if (!scale->shape) return "";
  const ops::Dim count = ops::product(*scale->shape);
  return count.is(1) ? "tensor" : "channel";
}

}  // namespace

void QuantizationSurvey::add(const NodeFacts& facts, const ops::QuantizedTensor& where) {
  const Value* value = where.output >= 0 ? output_at(facts, where.output) : input_at(facts, where.input);
  if (!value || !seen_.insert(value).second) return;
  const bool from_constant = flow_.constant(*value);
  if (value->constant && value->constant->type() == ElementType::float32) return;  // an optional float bias
  Inspection::Quantized found;
  const std::int64_t bits = integer(*facts.node, "bits");
  const bool packed = bits > 0 && value->type == ElementType::uint8;
  found.type = packed                                  ? "uint" + std::to_string(bits)
               : value->type == ElementType::undefined ? ""
                                                       : std::string(graph::name_of(value->type));
  found.role = !from_constant ? "activation" : value->type == ElementType::int32 ? "bias" : "weight";
  found.block = std::max<std::int64_t>(integer(*facts.node, "block_size"), 0);
  found.granularity = granularity(facts, where, found.block);
  found.symmetry = symmetry(facts, where, value->type, packed);
  const Value* scale = input_at(facts, where.scale);
  const bool constant_scale = scale && flow_.constant(*scale);
  found.scale = where.scale_output >= 0 ? "dynamic" : !scale ? "" : constant_scale ? "constant" : "dynamic";
  found.by = facts.node->op_type.str();
  found.tensors = 1;
  const ops::Dim count = value->shape ? ops::product(*value->shape) : ops::Dim();
  found.elements = count.size.value_or(0);
  if (packed && bits <= 8) found.elements = found.elements / bits * 8;
  merge(found);
}

// A tensor in one of anybit's number formats, given by the node's attributes.
void QuantizationSurvey::add_packed(const NodeFacts& facts) {
  const graph::Node& node = *facts.node;
  const auto use = ops::format_of(node);
  const Value* input = input_at(facts, 0);
  Inspection::Quantized found;
  found.role = node.op_type == "Decode" || (input && flow_.constant(*input)) ? "weight" : "activation";
  found.by = node.op_type.str();
  found.tensors = 1;
  if (use.ok()) {
    const auto info = describe_format(use->format, use->parameters);
    found.type = use->format;
    found.granularity =
        name_of(use->grouping.granularity.value_or(info.ok() ? info->granularity : Granularity::tensor));
    if (found.granularity == "block")
      found.block = use->grouping.block_size.value_or(info.ok() ? info->block_size : 0);
  }
  const Value* value = output_at(facts, 0);
  const ops::Dim count = value && value->shape ? ops::product(*value->shape) : ops::Dim();
  found.elements = count.size.value_or(0);
  merge(found);
}

void QuantizationSurvey::merge(const Inspection::Quantized& found) {
  const std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}", found.role, found.type, found.granularity,
                                      found.block, found.symmetry, found.scale, found.by);
  const auto [group, fresh] = groups_.emplace(key, found);
  if (fresh) return;
  group->second.tensors += 1;
  group->second.elements += found.elements;
}

void QuantizationSurvey::pass(const NodeFacts& facts) {
  const graph::Node& node = *facts.node;
  if (node.domain == graph::kAnybit || ops::is_fix_neuron(node)) return add_packed(facts);
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor) return;
  for (const ops::QuantizedTensor& where : descriptor->quantized) add(facts, where);
}

std::vector<Inspection::Quantized> QuantizationSurvey::finish() const {
  std::vector<Inspection::Quantized> list;
  for (const auto& [key, group] : groups_) list.push_back(group);
  const auto rank = [](const Inspection::Quantized& q) {
    return q.role == "weight" ? 0 : q.role == "bias" ? 1 : 2;
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) {
    return std::pair(rank(a), -a.tensors) < std::pair(rank(b), -b.tensors);
  });
  return list;
}

}  // namespace anybit
