// DecodeMatMul of ai.anybit: fuses a MatMul or Gemm with the Decode of its weight, which stays packed.
// Inputs: the matrix, an addend (optional), then the inputs of Decode. Attributes: those of Decode and of
// Gemm; compute, "int8" for dynamic int8 quantization of the rows where the format holds integers; in files
// also op and weight (portable/packed_matmul.hpp).
#include "kernels/gemm/packed_weights.hpp"
#include "ops/matmul/packed_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The fallback, for example for weights with infinity or NaN, and for small ones: decoded to float32.
std::unique_ptr<const kernels::FloatRhs> decoded(const StoredWeight& weight, bool transposed,
                                                 ThreadPool& pool) {
  std::vector<float> all(static_cast<std::size_t>(weight.codec.count()));
  weight.codec.decode_packed(weight.codes, weight.parameters, all.data(), pool);
  const std::int64_t rows = weight.dims[0], columns = weight.dims[1];
  const kernels::MatrixView<float> view{all.data(), transposed ? 1 : columns, transposed ? columns : 1};
  return std::make_unique<const kernels::PackedFloats>(view, transposed ? columns : rows,
                                                       transposed ? rows : columns);
}

Result<std::shared_ptr<const PackedRight>> weight_of(const Attributes& node,
                                                     std::span<const Array* const> stored) {
  const StoredWeight packed = TRY(StoredWeight::of(node, nullptr, stored));
  if (packed.dims.size() != 2 || packed.dims != packed.codec.grouping().dims)
    return wrong(fmt::format("the weight has dimensions [{}]", fmt::join(packed.dims, ", ")),
                 "a matrix, packed as a matrix");
  auto weight = std::make_shared<PackedRight>();
  weight->dims = Dims(std::span(packed.dims));
  const bool transposed = node.flag("transB");
  ThreadPool pool(1);
  const bool rounded = node.text("compute", "") == "int8";
  if (packed.codec.count() >= kernels::kLargeWeight)
    weight->matrix =
        kernels::packed_weights({packed.codec, packed.codes, packed.parameters, transposed, rounded}, pool);
  if (!weight->matrix) weight->matrix = decoded(packed, transposed, pool);
  return std::shared_ptr<const PackedRight>(std::move(weight));
}

}  // namespace

std::span<const Descriptor> decode_matmul_descriptors() {
  static const Descriptor all[] = {{.name = "DecodeMatMul",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer_packed_gemm,
                                    .macs = macs_of_packed_gemm,
                                    .run = multiply_packed<weight_of>,
                                    .prepare = prepare_packed<PackedRight, weight_of>,
                                    .required = 1}};
  return all;
}

}  // namespace anybit::ops
