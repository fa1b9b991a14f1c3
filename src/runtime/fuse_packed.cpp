// Decode of constants → MatMul or Gemm becomes DecodeMatMul, which multiplies by the packed weight: with few
// rows, memory bandwidth is the limit. DequantizeLinear with blocks → MatMul or Gemm becomes
// DequantizeMatMul, for the same reason. Weights that fit the caches anyway are decoded once, when the model
// is loaded.
#include <algorithm>

#include "graph/node.hpp"
#include "kernels/gemm/packed_weights.hpp"
#include "portable/to_operators.hpp"
#include "runtime/packed_gemm.hpp"
#include "runtime/quantized.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

// The Decode whose weight is better kept packed; -1 if there is none.
int packed_weight(const Program& program, const Edit& edit, const Step& linear) {
  const int index = decode_of_matmul(program, edit, linear);
  if (index < 0) return -1;
  const auto codec = packed_matrix(program.steps[static_cast<std::size_t>(index)]);
  return codec && codec->count() >= kernels::kLargeWeight && kernels::packs(*codec, transposed(linear))
             ? index
             : -1;
}

constexpr ops::ElementType kPacked[] = {ops::ElementType::int4,       ops::ElementType::uint4,
                                        ops::ElementType::int8,       ops::ElementType::uint8,
                                        ops::ElementType::float4e2m1, ops::ElementType::float8e4m3fn,
                                        ops::ElementType::float8e5m2};

// The same for a DequantizeLinear: of a matrix, with blocks along the reduction axis.
int blocked_weight(const Program& program, const Edit& edit, const Step& linear) {
  const int index = decode_of_matmul(program, edit, linear, "DequantizeLinear", "");
  if (index < 0) return -1;
  const Step& step = program.steps[static_cast<std::size_t>(index)];
  const ops::Array& stored = *edit.constant(step.inputs[graph::QdqInputs::value]);
  const Parameters read = parameters_of(program, step, step.descriptor->quantized.front());
  const std::int64_t depth = transposed(linear) ? 1 : 0;
  const bool fits = stored.rank() == 2 && stored.count() >= kernels::kLargeWeight &&
                    std::ranges::find(kPacked, stored.type()) != std::end(kPacked) &&
                    read.scale->type() == ops::ElementType::float32 && read.scale->rank() == 2 &&
                    read.block_size >= kernels::kGroupRows && graph::axis_in(read.axis, 2) == depth &&
                    graph::integer(*step.node, "output_dtype", 0) <= 1;  // absent, or float32
  return fits ? index : -1;
}

Result<void> run(Program& program, const Resources&) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& linear = program.steps[i];
    if (edit.removed(i)) continue;
    if (const int index = packed_weight(program, edit, linear); index >= 0) {
      TRY(replace_matmul(program, edit, i, index, linear.inputs[0],
                         packed_gemm_node(program, linear, index, "DecodeMatMul")));
    } else if (const int blocked = blocked_weight(program, edit, linear); blocked >= 0) {
      graph::Node node = packed_gemm_node(program, linear, blocked, "DequantizeMatMul");
      const auto& dims = edit.constant(program.steps[static_cast<std::size_t>(blocked)].inputs[0])->dims();
      set_attribute(node, "dims", std::vector<std::int64_t>(dims.begin(), dims.end()));
      portable::take_compute_hint(*program.steps[static_cast<std::size_t>(blocked)].node, node);
      TRY(replace_matmul(program, edit, i, blocked, linear.inputs[0], std::move(node)));
    }
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_packed_descriptors() {
  static const Descriptor all[] = {{.name = "packed",
                                    .order = 5,
                                    .summary = "MatMul and Gemm by weights that stay packed",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
