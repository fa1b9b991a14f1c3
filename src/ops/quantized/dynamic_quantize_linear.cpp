// DynamicQuantizeLinear: quantizes to uint8 with the tensor's own range, zero included. ONNX:
// DynamicQuantizeLinear-11. A tensor of zeros gets scale 1, as in ONNX Runtime.
#include <algorithm>
#include <cmath>

#include "kernels/elementwise/quantize.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Outputs: the tensor, its scale, its zero point.
Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(ElementType::uint8, call.in(0).shape));
  if (values.size() > 1) values[1] = tensor(ElementType::float32, Shape());
  if (values.size() > 2) values[2] = tensor(ElementType::uint8, Shape());
  return values;
}

// Works in the input's layout: padding channels are zeros, and the range includes zero anyway.
Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (x.type() != ElementType::float32) return wrong_type(frame, 0);
  if (only_checks(frame)) return {};
  const auto [low, high] = kernels::ends(x.data<float>(), static_cast<std::size_t>(x.stored()));
  const float scale = low == high ? 1.0f : (high - low) / 255.0f;
  const float point = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
  const auto zero_point = static_cast<std::int32_t>(std::isnan(point) ? 0.0f : point);
  Array* out = TRY(frame.out(0, ElementType::uint8, x.dims(), x.layout()));
  parallel(frame, x.stored(), 0.3, [&](std::int64_t first, std::int64_t last) {
    kernels::quantize(x.data<float>() + first, {&scale, &zero_point, 0},
                      out->mutable_data<std::uint8_t>() + first, static_cast<std::size_t>(last - first));
  });
  clear_padding(*out);
  *TRY(frame.out(1, ElementType::float32, Dims()))->mutable_data<float>() = scale;
  *TRY(frame.out(2, ElementType::uint8, Dims()))->mutable_data<std::uint8_t>() =
      static_cast<std::uint8_t>(zero_point);
  return {};
}

}  // namespace

std::span<const Descriptor> dynamic_quantize_linear_descriptors() {
  static const Descriptor all[] = {{.name = "DynamicQuantizeLinear",
                                    .domain = "",
                                    .since = {11},
                                    .infer = infer,
                                    .quantized = {{.output = 0, .scale_output = 1}},
                                    .run = run,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
