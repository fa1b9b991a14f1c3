// QuantizeDequantize to ±1 → MatMul, Gemm or Conv ← Decode of ±1 becomes BinaryMatMul or BinaryConv, which
// compute with binary values.
#include "formats/binary.hpp"
#include "graph/node.hpp"
#include "ops/matmul/packed_gemm.hpp"
#include "runtime/packed_gemm.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

struct Found {
  int decode = -1, quantize = -1;
  bool scaled = false;
};

// Whether the result of a QuantizeDequantize is ±1 or, with `scaled`, ± one scale per tensor.
bool makes_binary(const Step& step, bool& scaled) {
  if (!is(step, "QuantizeDequantize", ops::kAnybit)) return false;
  const auto use = formats::read_use(graph::attribute_or(*step.node, "format", std::string()));
  if (!use.ok()) return false;
  const std::int64_t rank = use->rank.value_or(2);
  if (rank < 0 || rank > static_cast<std::int64_t>(ops::Dims::kCapacity)) return false;
  const std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  const auto codec = ops::codec_for(*use, dims);
  if (!codec.ok() || !ops::binary_tensor(*codec)) return false;
  scaled = static_cast<const formats::BinaryCodec&>(codec->codec()).scaled();
  return true;
}

// With fewer output channels per group, padding of the panel costs more than the binary kernel saves.
constexpr std::int64_t kFewestChannels = 8;

bool multiplies_binary(const Step& linear, const Step& decode) {
  if (!is(linear, "Conv")) {
    const auto codec = packed_matrix(decode);
    return codec && ops::binary_columns(*codec, transposed(linear));
  }
  const auto codec = stored_weight(decode);
  const auto dims = graph::attribute_or(*decode.node, "dims", std::vector<std::int64_t>());
  const auto groups = graph::attribute_or(*linear.node, "group", std::int64_t{1});
  return codec && ops::binary_columns(*codec, true) && dims.size() >= 3 &&
         dims[0] == codec->grouping().dims[0] && groups > 0 && dims[0] / groups >= kFewestChannels;
}

Found find_binary_gemm(const Program& program, const Edit& edit, const Step& linear) {
  Found found;
  const int decode =
      is(linear, "Conv") ? decode_of_weight(program, edit, linear) : decode_of_matmul(program, edit, linear);
  const int quantize = decode < 0 ? -1 : edit.producer(linear.inputs[0]);
  if (quantize < 0) return found;
  if (!makes_binary(program.steps[static_cast<std::size_t>(quantize)], found.scaled)) return found;
  if (!multiplies_binary(linear, program.steps[static_cast<std::size_t>(decode)])) return found;
  found.decode = decode;
  found.quantize = quantize;
  return found;
}

Result<void> run(Program& program, const Resources&) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (edit.removed(i)) continue;
    const Step& linear = program.steps[i];
    const Found found = find_binary_gemm(program, edit, linear);
    if (found.decode < 0) continue;
    const Step& quantize = program.steps[static_cast<std::size_t>(found.quantize)];
    graph::Node node =
        packed_gemm_node(program, linear, found.decode, is(linear, "Conv") ? "BinaryConv" : "BinaryMatMul");
    set_attribute(node, "scaled", std::int64_t{found.scaled});
    TRY(replace_matmul(program, edit, i, found.decode, quantize.inputs[0], std::move(node)));
    // Its output may have other consumers.
    if (edit.uses(quantize.outputs[0]) == 0) edit.remove(static_cast<std::size_t>(found.quantize));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_binary_descriptors() {
  static const Descriptor all[] = {{.name = "binary",
                                    .order = 4,
                                    .summary = "MatMul, Gemm and Conv of binary (±1) tensors",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
