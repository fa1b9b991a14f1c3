// Gradients of elementwise functions, from dy and the function's input x or its output y: ReluGradient(dy,
// y), ClipGradient(dy, x, low, high), HardSwishGradient(dy, x), HardSigmoidGradient(dy, y; alpha),
// SigmoidGradient(dy, y), TanhGradient(dy, y), GeluGradient(dy, x; approximate); and by x with the function's
// attributes: CeluGradient, EluGradient, ErfGradient, LeakyReluGradient, MishGradient, QuickGeluGradient,
// SeluGradient, SoftplusGradient, SoftsignGradient, SwishGradient, ThresholdedReluGradient. At a kink the
// slope is that of PyTorch. Domain ai.anybit.training.
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

double logistic(double x) { return x < 0 ? math::exp(x) / (1 + math::exp(x)) : 1 / (1 + math::exp(-x)); }
double celu_slope(double x, double a, double) { return x > 0 ? 1 : math::exp(x / a); }
double elu_slope(double x, double a, double) { return x > 0 ? 1 : a * math::exp(x); }
double erf_slope(double x, double, double) { return 2 * std::numbers::inv_sqrtpi * math::exp(-x * x); }
double leaky_relu_slope(double x, double a, double) { return x > 0 ? 1 : a; }
double selu_slope(double x, double a, double b) { return b * (x > 0 ? 1 : a * math::exp(x)); }
double softplus_slope(double x, double, double) { return logistic(x); }
double softsign_slope(double x, double, double) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }
double thresholded_relu_slope(double x, double a, double) { return x > a ? 1 : 0; }

double mish_slope(double given, double, double) {
  const double x = std::isnan(given) ? given : std::clamp(given, -1000.0, 1000.0);
  const double t = math::tanh(std::max(x, 0.0) + math::log1p(math::exp(-std::abs(x))));
  return t + x * logistic(x) * (1 - t * t);
}

double swish_slope(double x, double a, double) {
  const double u = std::isnan(x) ? x : std::clamp(a * x, -1000.0, 1000.0), s = logistic(u);
  return s * (1 + u * (1 - s));
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

template <Slope kSlope, Exactly kExactly>
Result<void> run_plain(Frame& frame) {
  return times_slope(frame, kSlope, kExactly, 0, 0, 1.5);
}
template <Slope kSlope, Exactly kExactly, int kAlphaThousandths = 1000>
Result<void> run_alpha(Frame& frame) {
  return times_slope(frame, kSlope, kExactly, frame.real("alpha", kAlphaThousandths / 1000.0), 0, 1.5);
}
Result<void> run_selu(Frame& frame) {
  return times_slope(frame, Slope::selu, selu_slope, frame.real("alpha", 1.67326319217681884765625),
                     frame.real("gamma", 1.05070102214813232421875), 1.5);
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
      slope_operator("CeluGradient", run_alpha<Slope::celu, celu_slope>),
      slope_operator("EluGradient", run_alpha<Slope::elu, elu_slope>),
      slope_operator("ErfGradient", run_plain<Slope::erf, erf_slope>),
      slope_operator("LeakyReluGradient", run_alpha<Slope::leaky_relu, leaky_relu_slope, 10>),
      slope_operator("MishGradient", run_plain<Slope::mish, mish_slope>),
      slope_operator("QuickGeluGradient", run_alpha<Slope::swish, swish_slope, 1702>),
      slope_operator("SeluGradient", run_selu),
      slope_operator("SoftplusGradient", run_plain<Slope::softplus, softplus_slope>),
      slope_operator("SoftsignGradient", run_plain<Slope::softsign, softsign_slope>),
      slope_operator("SwishGradient", run_alpha<Slope::swish, swish_slope>),
      slope_operator("ThresholdedReluGradient", run_alpha<Slope::thresholded_relu, thresholded_relu_slope>),
  };
  return all;
}

}  // namespace anybit::ops
