// Gradients of elementwise functions, from dy and the function's input x or its output y: ReluGradient(dy,
// y), ClipGradient(dy, x, low, high), HardSwishGradient(dy, x), HardSigmoidGradient(dy, y; alpha),
// SigmoidGradient(dy, y), TanhGradient(dy, y), GeluGradient(dy, x; approximate). Domain ai.anybit.training.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/math.hpp"
#include "kernels/elementwise/slope.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

using kernels::Slope;

double relu_slope(double y, double, double) { return y > 0 ? 1 : 0; }
double clip_slope(double x, double low, double high) { return x >= low && x <= high ? 1 : 0; }
double hard_swish_slope(double x, double, double) { return x < -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5; }
double hard_sigmoid_slope(double y, double alpha, double) { return y > 0 && y < 1 ? alpha : 0; }
double sigmoid_slope(double y, double, double) { return y * (1 - y); }
double tanh_slope(double y, double, double) { return 1 - y * y; }

double gelu_slope(double x, double, double) {
  const double density = math::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return math::erfc(-x / std::numbers::sqrt2) / 2 + (std::isinf(x) ? 0 : x * density);
}

double tanh_gelu_slope(double given, double, double) {
  const double x = std::isnan(given) ? given : std::clamp(given, -64.0, 64.0);
  const double steep = 2 * std::sqrt(2 / std::numbers::pi);
  const double s = 1 / (1 + math::exp(-steep * (x + 0.044715 * x * x * x)));
  return s + x * s * (1 - s) * steep * (1 + 3 * 0.044715 * x * x);
}

using Exactly = double (*)(double v, double a, double b);

Result<void> times_slope(Frame& frame, Slope slope, Exactly exactly, double a, double b, double cost) {
  TRY(expect_trained(frame, 0));
  TRY(expect_like(frame, 1, 0));
  const auto [dy, v] = TRY(in_same_layout(frame, 0, 1));
  Array* out = TRY(out_like(frame, 0, dy));
  parallel(frame, dy.stored(), cost, [&](std::int64_t first, std::int64_t last) {
    if (dy.type() == ElementType::float32) {
      kernels::times_slope(slope, dy.data<float>() + first, v.data<float>() + first,
                           out->mutable_data<float>() + first, static_cast<std::size_t>(last - first),
                           static_cast<float>(a), static_cast<float>(b));
      return;
    }
    const double *gradient = dy.data<double>(), *at = v.data<double>();
    for (std::int64_t i = first; i < last; ++i) {
      const double factor = exactly(at[i], a, b);
      out->mutable_data<double>()[i] = factor == 0 ? 0 : gradient[i] * factor;
    }
  });
  clear_padding(*out);
  return {};
}

Result<void> run_relu(Frame& frame) { return times_slope(frame, Slope::relu, relu_slope, 0, 0, 0.3); }
Result<void> run_hard_swish(Frame& frame) {
  return times_slope(frame, Slope::hard_swish, hard_swish_slope, 0, 0, 0.3);
}
Result<void> run_hard_sigmoid(Frame& frame) {
  return times_slope(frame, Slope::hard_sigmoid, hard_sigmoid_slope, frame.real("alpha", 0.2), 0, 0.3);
}
Result<void> run_sigmoid(Frame& frame) {
  return times_slope(frame, Slope::sigmoid, sigmoid_slope, 0, 0, 0.3);
}
Result<void> run_tanh(Frame& frame) { return times_slope(frame, Slope::tanh, tanh_slope, 0, 0, 0.3); }

Result<void> run_gelu(Frame& frame) {
  const std::string_view how = frame.text("approximate", "none");
  if (how == "none") return times_slope(frame, Slope::gelu, gelu_slope, 0, 0, 1.5);
  if (how == "tanh") return times_slope(frame, Slope::tanh_gelu, tanh_gelu_slope, 0, 0, 1.5);
  return wrong(fmt::format("approximate is '{}'", shown(how)), "none or tanh");
}

// A bound that is left out does not bind. The elements are read last: a check may not know them.
Result<void> expect_bound(const Frame& frame, std::size_t i) {
  if (!frame.has(i) || (frame.in(i).type() == frame.in(0).type() && frame.in(i).count() == 1)) return {};
  return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
               fmt::format("one number, {}", graph::name_of(frame.in(0).type())));
}

Result<void> run_clip(Frame& frame) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TRY(expect_trained(frame, 0));
  TRY(expect_like(frame, 1, 0));
  for (const std::size_t i : {2, 3}) TRY(expect_bound(frame, i));
  const double low = frame.has(2) ? TRY(scalar_from(frame.in(2), "the lower bound")) : -kInfinity;
  const double high = frame.has(3) ? TRY(scalar_from(frame.in(3), "the upper bound")) : kInfinity;
  return times_slope(frame, Slope::clip, clip_slope, low, high, 0.3);
}

constexpr Descriptor slope_operator(std::string_view name, Run run) {
  return training_operator(name, infer_same, run, 2, Layouts::each);
}

}  // namespace

std::span<const Descriptor> activation_gradient_descriptors() {
  static const Descriptor all[] = {
      slope_operator("ReluGradient", run_relu),
      slope_operator("ClipGradient", run_clip),
      slope_operator("HardSwishGradient", run_hard_swish),
      slope_operator("HardSigmoidGradient", run_hard_sigmoid),
      slope_operator("SigmoidGradient", run_sigmoid),
      slope_operator("TanhGradient", run_tanh),
      slope_operator("GeluGradient", run_gelu),
  };
  return all;
}

}  // namespace anybit::ops
