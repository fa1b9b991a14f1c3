// DequantizeMatMul of ai.anybit: fuses a MatMul or Gemm with the blockwise DequantizeLinear of its weight,
// which stays packed. Inputs: the matrix, an addend (optional), then the inputs of DequantizeLinear.
// Attributes: axis and block_size of DequantizeLinear; those of Gemm; dims, the weight's; compute, "int8" for
// dynamic int8 quantization of the rows where the weight holds integers.
#include "kernels/gemm/gemm_dynamic_int8.hpp"
#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/matmul/packed_gemm.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

// The values by bit pattern; empty for types of more than 8 bits.
std::vector<float> values_of(ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  if (!info || info->bits == 0 || info->bits > 8) return {};
  const int count = 1 << info->bits;
  if (const float* known = small_float_values(type)) return {known, known + count};
  const QuantizedRange range = range_of(type);
  if (range.high == 0) return {};
  std::vector<float> values;
  for (int code = 0; code < count; ++code)
    values.push_back(static_cast<float>(code > range.high ? code - count : code));
  return values;
}

// The checked parts of a weight, of `n` columns and `k` rows as the GEMM uses it.
struct Blocks {
  std::vector<float> table, factors, zeros;  // by bit pattern; by column, then by block
  const std::uint8_t* codes = nullptr;       // one per byte
  std::int64_t k = 0, n = 0, block = 0, k_stride = 1, n_stride = 1;

  std::uint8_t code(std::int64_t row, std::int64_t column) const {
    const unsigned bits = codes[row * k_stride + column * n_stride];
    return static_cast<std::uint8_t>(bits & static_cast<unsigned>(table.size() - 1));
  }
};

Result<Blocks> blocks_of(const Attributes& node, std::span<const Array* const> stored) {
  if (stored.size() < 2 || !stored[0] || !stored[1]) return wrong("the weight or its scales are missing");
  const Array &codes = *stored[0], &scales = *stored[1];
  const Array* zeros = stored.size() > 2 ? stored[2] : nullptr;
  const bool transposed = node.flag("transB");
  const std::size_t depth = transposed ? 1 : 0;
  Blocks blocks;
  blocks.table = values_of(codes.type());
  blocks.block = node.integer("block_size", 0);
  if (codes.rank() != 2 || blocks.table.empty())
    return wrong(fmt::format("the weight is {}", to_string(codes)), "a matrix of at most 8 bits");
  if (const auto dims = node.ints("dims"); dims && !std::ranges::equal(*dims, codes.dims()))
    return wrong(fmt::format("dims is [{}], the weight is {}", fmt::join(*dims, ", "), to_string(codes)),
                 "the weight's dims");
  if (TRY(axis_of(node.integer("axis", 1), 2)) != depth || blocks.block < 1)
    return wrong(fmt::format("blocks of {} along axis {}", blocks.block, node.integer("axis", 1)),
                 fmt::format("blocks along axis {}, the reduction axis", depth));
  blocks.k = codes.dim(depth);
  blocks.n = codes.dim(1 - depth);
  blocks.block = std::min(blocks.block, std::max<std::int64_t>(blocks.k, 1));
  blocks.k_stride = transposed ? 1 : blocks.n;
  blocks.n_stride = transposed ? blocks.k : 1;
  const std::int64_t count = (blocks.k + blocks.block - 1) / blocks.block;
  if (scales.type() != float32 || scales.rank() != 2 || scales.dim(depth) != count ||
      scales.dim(1 - depth) != blocks.n ||
      (zeros && (zeros->type() != codes.type() || !(zeros->dims() == scales.dims()))))
    return wrong(fmt::format("the weight {} has scales {}", to_string(codes), to_string(scales)),
                 "one float32 per block, and as many zero points");
  if (!has_elements(codes) || !has_elements(scales) || (zeros && !has_elements(*zeros))) return not_known();
  const bool shifted = zeros && !small_float_values(codes.type());
  blocks.codes = reinterpret_cast<const std::uint8_t*>(codes.bytes());
  for (std::int64_t column = 0; column < blocks.n; ++column) {
    for (std::int64_t block = 0; block < count; ++block) {
      const std::int64_t at = transposed ? column * count + block : block * blocks.n + column;
      blocks.factors.push_back(scales.data<float>()[at]);
      if (shifted)
        blocks.zeros.push_back(
            blocks.table[std::to_integer<std::size_t>(zeros->bytes()[at]) & (blocks.table.size() - 1)]);
    }
  }
  return blocks;
}

// The fallback, for example for weights with infinity or NaN.
std::unique_ptr<const kernels::FloatRhs> decoded(const Blocks& blocks) {
  const std::int64_t count = (blocks.k + blocks.block - 1) / blocks.block;
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(blocks.k * blocks.n));
  for (std::int64_t row = 0; row < blocks.k; ++row) {
    for (std::int64_t column = 0; column < blocks.n; ++column) {
      const auto group = static_cast<std::size_t>(column * count + row / blocks.block);
      const float zero = blocks.zeros.empty() ? 0 : blocks.zeros[group];
      all.push_back((blocks.table[blocks.code(row, column)] - zero) * blocks.factors[group]);
    }
  }
  return std::make_unique<const kernels::PackedFloats>(kernels::MatrixView<float>{all.data(), blocks.n, 1},
                                                       blocks.k, blocks.n);
}

Result<std::shared_ptr<const PackedRight>> weight_of(const Attributes& node,
                                                     std::span<const Array* const> stored) {
  const Blocks blocks = TRY(blocks_of(node, stored));
  auto weight = std::make_shared<PackedRight>();
  weight->dims = stored[0]->dims();
  kernels::CodeMatrix from{.k = blocks.k, .n = blocks.n, .block = blocks.block, .table = blocks.table};
  from.factors = blocks.factors.data();
  from.zeros = blocks.zeros.empty() ? nullptr : blocks.zeros.data();
  from.column = [&](std::int64_t column, std::uint8_t* codes) {
    for (std::int64_t row = 0; row < blocks.k; ++row) codes[row] = blocks.code(row, column);
  };
  const bool packs = blocks.k > 0 && blocks.n > 0 && blocks.block >= kernels::kGroupRows;
  if (packs) weight->matrix = kernels::pack_codes(from, node.text("compute", "") == "int8");
  if (!weight->matrix) weight->matrix = decoded(blocks);
  return std::shared_ptr<const PackedRight>(std::move(weight));
}

}  // namespace

std::span<const Descriptor> dequantize_matmul_descriptors() {
  static const Descriptor all[] = {{.name = "DequantizeMatMul",
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
