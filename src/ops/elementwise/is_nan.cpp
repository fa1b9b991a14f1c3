// IsNaN and IsInf. ONNX: IsNaN-9, -13, -20; IsInf-10, -20.
#include <algorithm>
#include <cmath>

#include "ops/convert.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(ElementType::boolean, call.in(0).shape));
}

template <class Test>
Result<void> test_each(Frame& frame, const Test& test) {
  const Array& in = frame.in(0);
  if (!small_float_values(in.type()) && !for_real(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, ElementType::boolean, in.dims()));
  bool* to = out->mutable_data<bool>();
  if (const float* values = small_float_values(in.type())) {
    std::ranges::transform(in.elements<std::uint8_t>(), to,
                           [&](std::uint8_t code) { return test(values[code]); });
    return {};
  }
  for_real(in.type(), [&]<class T>(T) {
    std::ranges::transform(in.elements<T>(), to, [&](T x) { return test(static_cast<Computed<T>>(x)); });
  });
  return {};
}

Result<void> run_nan(Frame& frame) {
  return test_each(frame, [](auto x) { return std::isnan(x); });
}

Result<void> run_infinite(Frame& frame) {
  const bool positive = frame.flag("detect_positive", true), negative = frame.flag("detect_negative", true);
  return test_each(frame, [&](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

}  // namespace

std::span<const Descriptor> is_nan_descriptors() {
  static const Descriptor all[] = {
      {.name = "IsNaN",
       .domain = "",
       .since = {9, 13, 20},
       .infer = infer,
       .run = run_nan,
       .layouts = Layouts::each},
      {.name = "IsInf",
       .domain = "",
       .since = {10, 20},
       .infer = infer,
       .run = run_infinite,
       .layouts = Layouts::each},
  };
  return all;
}

}  // namespace anybit::ops
