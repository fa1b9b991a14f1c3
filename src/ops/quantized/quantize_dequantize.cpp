// QuantizeDequantize of ai.anybit: fake quantization; each value becomes the nearest one of a number format.
// The attribute `format` names it: "mxfp4_e2m1 axis=1 block_size=32". Shared parameters (scales, exponents)
// are computed from the values.
#include "ops/gradient.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<void> run(Frame& frame) {
  if (const auto* prepared = frame.prepared<FormatUse>()) return quantize_dequantize(frame, *prepared);
  FormatUse format;
  format.use = TRY(formats::read_use(frame.text("format", "")));
  return quantize_dequantize(frame, format);
}

// Straight through inside the range of each group.
Result<void> quantize_dequantize_rule(Gradient& gradient) {
  gradient.set(0, gradient.add("FakeQuantizeGradient", {gradient.dy(), gradient.input(0)},
                               gradient.node.attributes, kTraining));
  return {};
}

}  // namespace

std::span<const Descriptor> quantize_dequantize_descriptors() {
  static const Descriptor all[] = {{.name = "QuantizeDequantize",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer_same,
                                    .run = run,
                                    .prepare = prepare_use,
                                    .gradient = quantize_dequantize_rule}};
  return all;
}

}  // namespace anybit::ops
