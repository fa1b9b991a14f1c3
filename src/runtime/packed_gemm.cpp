#include "runtime/packed_gemm.hpp"

#include "graph/node.hpp"
#include "ops/node_attributes.hpp"

namespace anybit::runtime {
namespace {

const Step& step_at(const Program& program, int index) {
  return program.steps[static_cast<std::size_t>(index)];
}

}  // namespace

int decode_of_matmul(const Program& program, const Edit& edit, const Step& linear, std::string_view op,
                     std::string_view domain) {
  if (!is(linear, "MatMul") && !is(linear, "Gemm")) return -1;
  if (graph::attribute_or(*linear.node, "transA", std::int64_t{0}) != 0) return -1;
  return decode_of_weight(program, edit, linear, op, domain);
}

int decode_of_weight(const Program& program, const Edit& edit, const Step& step, std::string_view op,
                     std::string_view domain) {
  const int index = edit.producer(step.inputs[1]);
  if (index < 0 || edit.only_consumer(step.inputs[1]) < 0) return -1;
  const Step& decode = step_at(program, index);
  if (!is(decode, op, domain)) return -1;
  for (const int slot : decode.inputs) {
    if (!edit.constant(slot)) return -1;
  }
  return index;
}

std::optional<kernels::TensorCodec> stored_weight(const Step& decode) {
  auto codec = ops::StoredWeight::codec_of(ops::NodeAttributes(*decode.node), nullptr);
  if (!codec.ok()) return std::nullopt;
  return std::move(*codec);
}

std::optional<kernels::TensorCodec> packed_matrix(const Step& decode) {
  auto codec = stored_weight(decode);
  if (codec && *ops::NodeAttributes(*decode.node).integers("dims") != codec->grouping().dims)
    return std::nullopt;
  return codec;
}

bool transposed(const Step& linear) {
  return graph::attribute_or(*linear.node, "transB", std::int64_t{0}) != 0;
}

graph::Node packed_gemm_node(const Program& program, const Step& linear, int decode, std::string_view name) {
  graph::Node node = graph::as_operator(*linear.node, name, graph::kAnybit);
  for (const graph::Attribute& one : step_at(program, decode).node->attributes)
    node.attributes.push_back(one);
  return node;
}

Result<void> replace_matmul(const Program& program, Edit& edit, std::size_t linear, int decode, int input,
                            graph::Node node) {
  const Step& step = program.steps[linear];
  std::vector<int> inputs{input, step.inputs.size() > 2 ? step.inputs[2] : -1};
  const std::vector<int>& stored = step_at(program, decode).inputs;
  inputs.insert(inputs.end(), stored.begin(), stored.end());
  edit.remove(static_cast<std::size_t>(decode));
  return edit.replace(linear, std::move(node), std::move(inputs));
}

}  // namespace anybit::runtime
