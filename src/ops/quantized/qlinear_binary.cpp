// QLinearAdd and QLinearMul: ONNX Runtime's operators on two 8-bit tensors; 16-bit tensors are an extension.
// Inputs: A, its scale and zero point, B, its scale and zero point; scale and zero point of the result.
#include "kernels/elementwise/quantize.hpp"
#include "ops/elementwise/broadcast.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(broadcast(call.in(0).shape, call.in(3).shape))));
}

template <class Q>
using Kernel = void (*)(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                        const kernels::QuantizedPair& by);

template <class Q, Kernel<Q> kKernel>
void row(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step, std::byte* out,
         std::int64_t n, const void* parameters) {
  kKernel(reinterpret_cast<const Q*>(a), static_cast<std::size_t>(a_step), reinterpret_cast<const Q*>(b),
          static_cast<std::size_t>(b_step), reinterpret_cast<Q*>(out), static_cast<std::size_t>(n),
          *static_cast<const kernels::QuantizedPair*>(parameters));
}

Result<void> run(Frame& frame, bool sum) {
  const ElementType type = frame.in(0).type();
  if (!is_code(type)) return wrong_type(frame, 0);
  if (!frame.has(3)) return wrong("input 3 is missing", "the second tensor");
  const Quantization a = TRY(quantization_at(frame, 1, 2, type));
  const Quantization b = TRY(quantization_at(frame, 4, 5, type));
  const Quantization out = TRY(quantization_at(frame, 6, 7, type));
  const double a_scale = a.scale, b_scale = b.scale, out_scale = out.scale;
  const kernels::QuantizedPair by{
      .a_factor = static_cast<float>(sum ? a_scale / out_scale : a_scale * b_scale / out_scale),
      .b_factor = static_cast<float>(b_scale / out_scale),
      .a_zero = a.zero_point,
      .b_zero = b.zero_point,
      .zero_point = out.zero_point};
  BinaryRow chosen = nullptr;
  for_code(type, [&]<class Q>(Q) {
    chosen = sum ? row<Q, kernels::quantized_sum<Q>> : row<Q, kernels::quantized_product<Q>>;
  });
  return run_binary(frame, 0, 3, type, chosen, 0.3, &by);
}

Result<void> run_add(Frame& frame) { return run(frame, true); }
Result<void> run_mul(Frame& frame) { return run(frame, false); }

constexpr Descriptor qlinear(std::string_view name, Run run) {
  return {.name = name,
          .domain = kMicrosoft,
          .since = {1},
          .infer = infer,
          .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                        {.input = 3, .scale = 4, .zero_point = 5},
                        {.output = 0, .scale = 6, .zero_point = 7}},
          .run = run,
          .required = 2,
          .layouts = Layouts::each};
}

}  // namespace

std::span<const Descriptor> qlinear_binary_descriptors() {
  static const Descriptor all[] = {qlinear("QLinearAdd", run_add), qlinear("QLinearMul", run_mul)};
  return all;
}

}  // namespace anybit::ops
