// Relu after a convolution or a matrix product: done while the result is in registers. The names are those of
// ONNX Runtime's FusedConv and FusedMatMul, which some files have already.
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

Result<void> run(Program& program, const Resources&) {
  if (!ops::find(ops::kMicrosoft, "FusedConv")->run) return {};
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& conv = program.steps[i];
    if (!is(conv, "Conv")) continue;
    const int next = edit.only_consumer(conv.outputs[0]);
    if (next < 0 || !is(program.steps[static_cast<std::size_t>(next)], "Relu")) continue;
    graph::Node node = *conv.node;
    node.op_type = graph::Text("FusedConv");
    node.domain = graph::Text(std::string(ops::kMicrosoft));
    set_attribute(node, "activation", std::string("Relu"));
    TRY(edit.replace(i, static_cast<std::size_t>(next), std::move(node), conv.inputs));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_activation_descriptors() {
  static const Descriptor all[] = {
      {.name = "activation", .order = 20, .summary = "Conv and Relu become one", .run = run}};
  return all;
}

}  // namespace anybit::runtime
