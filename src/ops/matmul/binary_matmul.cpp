// BinaryMatMul of ai.anybit: fuses a MatMul or Gemm, the Decode of its binary weight and the
// QuantizeDequantize of its binary input. Multiplies ±1 by popcount and scales the sums. Inputs: the matrix
// before quantization, an addend (optional), then the inputs of Decode. Attributes: those of Decode and of
// Gemm, and `scaled`: the input's values are ± the mean of their magnitudes, not ±1.
#include "kernels/gemm/gemm_binary.hpp"
#include "ops/matmul/packed_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Weight : Prepared {
  Weight(kernels::PackedBinary all, const Dims& of) : signs(std::move(all)), dims(of) {}
  kernels::PackedBinary signs;
  std::vector<float> factors;  // by column
  Dims dims;
  std::int64_t bytes() const override {
    return signs.bytes() + static_cast<std::int64_t>(factors.size() * sizeof(float));
  }
};

Result<std::shared_ptr<const Weight>> weight_of(const Attributes& node,
                                                std::span<const Array* const> stored) {
  const StoredWeight packed = TRY(StoredWeight::of(node, nullptr, stored));
  const bool transposed = node.flag("transB");
  if (!binary_columns(packed.codec, transposed) || packed.dims != packed.codec.grouping().dims)
    return wrong(fmt::format("a weight of {}", packed.codec.descriptor().name),
                 "a binary (+1, -1) matrix with one scale per column or per group of columns");
  BinaryColumns columns = BinaryColumns::of(packed, transposed);
  const std::int64_t k = packed.dims[transposed ? 1 : 0], n = packed.dims[transposed ? 0 : 1];
  const std::int64_t down = transposed ? 1 : n, across = transposed ? k : 1;
  auto weight =
      std::make_shared<Weight>(kernels::PackedBinary(k, n,
                                                     [&](std::int64_t row, std::int64_t column) {
                                                       return columns.negative(row * down + column * across);
                                                     }),
                               Dims(std::span(packed.dims)));
  weight->factors = std::move(columns.scales);
  return std::shared_ptr<const Weight>(std::move(weight));
}

Result<void> run(Frame& frame) {
  const Array& a = frame.in(0);
  if (a.type() != ElementType::float32) return wrong_type(frame, 0);
  const std::shared_ptr<const Weight> weight = TRY(stored_weight<Weight>(frame, weight_of));
  BatchedMatMul matmul = TRY(BatchedMatMul::of(TRY(Operand::of(a.dims(), true)),
                                               TRY(Operand::of(weight->dims, false, frame.flag("transB")))));
  matmul.fold();
  Array& out = *TRY(frame.out(0, a.type(), matmul.out));
  const auto addend = TRY(packed_addend(frame, matmul));
  kernels::multiply({.m = matmul.m,
                     .a = a.data<float>(),
                     .a_stride = matmul.a_row,
                     .b = &weight->signs,
                     .c = out.mutable_data<float>(),
                     .c_stride = matmul.n,
                     .scale = binary_scale(frame, a) * static_cast<float>(frame.real("alpha", 1)),
                     .factors = weight->factors.data(),
                     .beta = static_cast<float>(frame.real("beta", 1)),
                     .addend = addend},
                    frame.pool());
  return {};
}

}  // namespace

std::span<const Descriptor> binary_matmul_descriptors() {
  static const Descriptor all[] = {{.name = "BinaryMatMul",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer_packed_gemm,
                                    .macs = macs_of_packed_gemm,
                                    .run = run,
                                    .prepare = prepare_packed<Weight, weight_of>,
                                    .required = 1}};
  return all;
}

}  // namespace anybit::ops
