// Decode of constants → MatMul or Gemm becomes DecodeMatMul, which multiplies by the packed weight: memory is
// what the product of a few rows waits for. Weights that the caches hold anyway are decoded once, when the
// model is loaded.
#include "graph/attribute.hpp"
#include "kernels/packed_weights.hpp"
#include "ops/coded.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

constexpr std::int64_t kLargeWeight = std::int64_t{1} << 20;  // elements; as floats, 4 MB

struct NodeAttributes final : ops::Attributes {
  using Attributes::Attributes;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
};

// The step of the Decode whose packed result is worth keeping; -1 if there is none.
int packed_weight(const Program& program, const Edit& edit, const Step& product) {
  if (!is(product, "MatMul") && !is(product, "Gemm")) return -1;
  if (graph::attribute_or(*product.node, "transA", std::int64_t{0}) != 0) return -1;
  const int index = edit.producer(product.inputs[1]);
  if (index < 0 || edit.only_consumer(product.inputs[1]) < 0) return -1;
  const Step& decode = program.steps[static_cast<std::size_t>(index)];
  if (!is(decode, "Decode", ops::kAnybit)) return -1;
  for (const int slot : decode.inputs) {
    if (!edit.constant(slot)) return -1;
  }
  const NodeAttributes node(*decode.node);
  const auto codec = ops::CodedWeight::codec_of(node, nullptr);
  const auto dims = node.integers("dims");
  if (!codec.ok() || codec->count() < kLargeWeight || *dims != codec->grouping().dims) return -1;
  const bool transposed = graph::attribute_or(*product.node, "transB", std::int64_t{0}) != 0;
  return kernels::packs(*codec, transposed) ? index : -1;
}

Result<void> run(Program& program, const Resources&) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& product = program.steps[i];
    const int index = edit.removed(i) ? -1 : packed_weight(program, edit, product);
    if (index < 0) continue;
    const Step& decode = program.steps[static_cast<std::size_t>(index)];
    graph::Node node = *product.node;
    node.op_type = graph::Text("DecodeMatMul");
    node.domain = graph::Text(std::string(ops::kAnybit));
    for (const graph::Attribute& one : decode.node->attributes) node.attributes.push_back(one);
    std::vector<int> inputs{product.inputs[0], product.inputs.size() > 2 ? product.inputs[2] : -1};
    inputs.insert(inputs.end(), decode.inputs.begin(), decode.inputs.end());
    edit.remove(static_cast<std::size_t>(index));
    TRY(edit.replace(i, std::move(node), std::move(inputs)));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_packed_descriptors() {
  static const Descriptor all[] = {
      {.name = "packed", .order = 5, .summary = "products by weights that stay packed", .run = run}};
  return all;
}

}  // namespace anybit::runtime
