// QuantizeDequantize of ai.anybit: values become the nearest that a number format has. The attribute `format`
// tells which: "mxfp4_e2m1 axis=1 block_size=32". What groups of values share is chosen from the values.
#include "ops/coded.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (x.type() != ElementType::float32) return wrong_type(frame, 0);
  const kernels::TensorCodec codec =
      TRY(codec_for(frame, frame.prepared<CodedUse>(), std::span(x.dims().begin(), x.dims().size())));
  Array& out = *TRY(frame.out(0, x.type(), x.dims()));
  codec.choose_and_quantize(x.elements<float>(), out.mutable_data<float>(), frame.pool());
  return {};
}

}  // namespace

std::span<const Descriptor> quantize_dequantize_descriptors() {
  static const Descriptor all[] = {{.name = "QuantizeDequantize",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer_same,
                                    .run = run,
                                    .prepare = prepare_use}};
  return all;
}

}  // namespace anybit::ops
