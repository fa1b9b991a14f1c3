// Decode of constants → MatMul or Gemm becomes DecodeMatMul, which multiplies by the packed weight: memory is
// what the product of a few rows waits for. Weights that the caches hold anyway are decoded once, when the
// model is loaded.
#include "kernels/packed_weights.hpp"
#include "runtime/coded_product.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

constexpr std::int64_t kLargeWeight = std::int64_t{1} << 20;  // elements; as floats, 4 MB

// The step of the Decode whose packed result is worth keeping; -1 if there is none.
int packed_weight(const Program& program, const Edit& edit, const Step& product) {
  const int index = decode_of_product(program, edit, product);
  if (index < 0) return -1;
  const auto codec = coded_matrix(program.steps[static_cast<std::size_t>(index)]);
  return codec && codec->count() >= kLargeWeight && kernels::packs(*codec, transposed(product)) ? index : -1;
}

Result<void> run(Program& program, const Resources&) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& product = program.steps[i];
    const int index = edit.removed(i) ? -1 : packed_weight(program, edit, product);
    if (index < 0) continue;
    TRY(replace_product(program, edit, i, index, product.inputs[0],
                        coded_product(program, product, index, "DecodeMatMul")));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_packed_descriptors() {
  static const Descriptor all[] = {{.name = "packed",
                                    .order = 5,
                                    .summary = "products by weights that stay packed",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
