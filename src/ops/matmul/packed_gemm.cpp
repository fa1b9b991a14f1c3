#include "ops/matmul/packed_gemm.hpp"

#include "formats/binary.hpp"
#include "formats/sums.hpp"
#include "kernels/reduce/mean_magnitude.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::size_t kAddend = 1, kCodes = 2;
constexpr std::int64_t kDeepest = std::int64_t{1} << 30;  // twice a sum of ±1 fits 32 bits

bool bipolar(const kernels::TensorCodec& codec) {
  const auto* binary = dynamic_cast<const formats::BinaryCodec*>(&codec.codec());
  return binary && binary->bipolar();
}

}  // namespace

Result<Values> infer_packed_gemm(const Call& call) {
  const auto dims = call.integers("dims");
  auto shape = call.in(0).shape;
  const bool known = dims && dims->size() == 2;
  if (shape && !shape->empty()) shape->back() = known ? Dim((*dims)[call.flag("transB") ? 0 : 1]) : Dim();
  return outputs_of(call, tensor(ElementType::float32, std::move(shape)));
}

Dim macs_of_packed_gemm(const Call& call, std::span<const Value> outputs) {
  const auto dims = call.integers("dims");
  if (!dims || dims->size() != 2 || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * Dim((*dims)[call.flag("transB") ? 1 : 0]);
}

std::span<const Array* const> constant_codes(const Setup& setup) {
  for (std::size_t i = kCodes; i < setup.node.inputs.size(); ++i) {
    if (!setup.constant(i)) return {};
  }
  if (setup.constants.size() <= kCodes) return {};
  return setup.constants.subspan(kCodes);
}

std::vector<const Array*> codes_in(const Frame& frame) {
  std::vector<const Array*> stored;
  for (std::size_t i = kCodes; i < frame.input_count(); ++i)
    stored.push_back(frame.has(i) ? &frame.in(i) : nullptr);
  return stored;
}

Result<kernels::Spread<float>> packed_addend(const Frame& frame, const BatchedMatMul& matmul) {
  if (!frame.has(kAddend)) return kernels::Spread<float>{};
  const Array& addend = frame.in(kAddend);
  if (addend.type() != ElementType::float32) return wrong_type(frame, kAddend);
  const BroadcastAddend over = TRY(BroadcastAddend::over(addend.dims(), matmul.m, matmul.n));
  return kernels::Spread<float>{addend.data<float>(), over.row_stride, over.column_stride};
}

Result<void> multiply(Frame& frame, const PackedRight& weight) {
  const Array& a = frame.in(0);
  if (a.type() != ElementType::float32) return wrong_type(frame, 0);
  BatchedMatMul matmul = TRY(BatchedMatMul::of(TRY(Operand::of(a.dims(), true)),
                                               TRY(Operand::of(weight.dims, false, frame.flag("transB")))));
  matmul.fold();
  Array& out = *TRY(frame.out(0, a.type(), matmul.out));
  kernels::FloatGemmWork work{.m = matmul.m,
                              .n = matmul.n,
                              .k = matmul.k,
                              .a = {a.data<float>(), matmul.a_row, matmul.a_column},
                              .b = weight.matrix.get(),
                              .c = out.mutable_data<float>(),
                              .c_stride = matmul.n};
  work.epilogue.alpha = static_cast<float>(frame.real("alpha", 1));
  work.epilogue.beta = static_cast<float>(frame.real("beta", 1));
  work.epilogue.addend = TRY(packed_addend(frame, matmul));
  kernels::gemm(work, frame.pool());
  return {};
}

bool binary_tensor(const kernels::TensorCodec& codec) {
  return bipolar(codec) && codec.grouping().granularity == formats::Granularity::tensor &&
         codec.rounding() != formats::Rounding::stochastic;
}

bool binary_columns(const kernels::TensorCodec& codec, bool transposed) {
  const formats::Grouping& grouping = codec.grouping();
  const std::size_t depth = transposed ? 1 : 0;
  return bipolar(codec) && grouping.dims.size() == 2 && codec.count() > 0 && grouping.grid[depth] == 1 &&
         grouping.dims[depth] < kDeepest;
}

BinaryColumns BinaryColumns::of(const StoredWeight& weight, bool transposed) {
  ThreadPool pool(1);
  BinaryColumns columns;
  columns.codes.resize(static_cast<std::size_t>(weight.codec.count()));
  weight.codec.unpack(weight.codes, columns.codes.data(), pool);
  const auto& codec = static_cast<const formats::BinaryCodec&>(weight.codec.codec());
  const formats::Grouping& grouping = weight.codec.grouping();
  const std::size_t across = transposed ? 0 : 1, stride = weight.codec.stride();
  for (std::int64_t column = 0; column < grouping.dims[across]; ++column) {
    const auto group = static_cast<std::size_t>(column / grouping.box[across]);
    columns.scales.push_back(codec.high(std::span(weight.parameters).subspan(group * stride, stride)));
  }
  return columns;
}

float binary_scale(const Frame& frame, const Array& a) {
  if (!frame.flag("scaled")) return 1;
  const auto mean = static_cast<float>(kernels::mean_magnitude(a.elements<float>(), frame.pool()));
  return std::max(mean, formats::kSmallestScale);
}

}  // namespace anybit::ops
