// The gradients of activations and other unary functions, <Function>Gradient(dy, v): dy times the slope at v.
// v is the function's result for Relu, Sigmoid and Tanh, and its argument for the others. Attributes are those
// of the function; at a kink the slope is that of PyTorch.
#include <cmath>
#include <numbers>

#include "base/math.hpp"
#include "kernels/elementwise/unary_gradient.hpp"
#include "ops/check.hpp"
#include "ops/elementwise/broadcast.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Slope;

double logistic(double x) { return x < 0 ? math::exp(x) / (1 + math::exp(x)) : 1 / (1 + math::exp(-x)); }
double hard_swish_slope(double x, double a, double b) {
  const double t = a * x + b;
  return t <= 0 ? 0 : t >= 1 ? 1 : t + a * x;
}
double mish_slope(double x) {
  const double t = math::tanh(std::max(x, 0.0) + math::log1p(math::exp(-std::abs(x))));
  return t + x * logistic(x) * (1 - t * t);
}
double tanh_gelu_slope(double x) {
  const double k = std::sqrt(2 / std::numbers::pi), t = math::tanh(k * (x + 0.044715 * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}
double gelu_slope(double x) {
  const double density = math::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return math::erfc(-x / std::numbers::sqrt2) / 2 + x * density;
}

double exact_slope(Slope function, double v, double a, double b) {
  switch (function) {
    case Slope::celu:
      return v > 0 ? 1 : math::exp(v / a);
    case Slope::clip:
      return v >= a && v <= b ? 1 : 0;
    case Slope::elu:
      return v > 0 ? 1 : a * math::exp(v);
    case Slope::erf:
      return 2 / std::sqrt(std::numbers::pi) * math::exp(-v * v);
    case Slope::gelu:
      return gelu_slope(v);
    case Slope::hard_sigmoid:
      return a * v + b > 0 && a * v + b < 1 ? a : 0;
    case Slope::hard_swish:
      return hard_swish_slope(v, a, b);
    case Slope::leaky_relu:
      return v > 0 ? 1 : a;
    case Slope::mish:
      return mish_slope(v);
    case Slope::relu:
      return v > 0 ? 1 : 0;
    case Slope::selu:
      return b * (v > 0 ? 1 : a * math::exp(v));
    case Slope::sigmoid:
      return v * (1 - v);
    case Slope::softplus:
      return logistic(v);
    case Slope::softsign:
      return 1 / ((1 + std::abs(v)) * (1 + std::abs(v)));
    case Slope::swish:
      return logistic(a * v) * (1 + a * v * (1 - logistic(a * v)));
    case Slope::tanh:
      return 1 - v * v;
    case Slope::tanh_gelu:
      return tanh_gelu_slope(v);
    case Slope::thresholded_relu:
      return v > a ? 1 : 0;
  }
  return 0;
}

struct SlopeAt {
  Slope function;
  double a = 0, b = 0;
};

// Both operands have the same shape, so the steps are 1, or the run has a single element.
template <class T>
void slope_row(const std::byte* dy, std::int64_t, const std::byte* v, std::int64_t, std::byte* out,
               std::int64_t n, const void* parameters) {
  const auto& [function, a, b] = *static_cast<const SlopeAt*>(parameters);
  const auto *g = reinterpret_cast<const T*>(dy), *x = reinterpret_cast<const T*>(v);
  auto* to = reinterpret_cast<T*>(out);
  if constexpr (std::is_same_v<T, float>) {
    kernels::map_gradient(function, g, x, to, static_cast<std::size_t>(n), static_cast<float>(a),
                          static_cast<float>(b));
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto slope = exact_slope(function, static_cast<double>(static_cast<Computed<T>>(x[i])), a, b);
      to[i] = static_cast<T>(static_cast<Computed<T>>(static_cast<double>(static_cast<Computed<T>>(g[i])) * slope));
    }
  }
}

Result<void> run_slope(Frame& frame, SlopeAt slope) {
  const Array &dy = frame.in(0), &v = frame.in(1);
  if (!(dy.dims() == v.dims())) {
    return wrong(fmt::format("the inputs are {} and {}", to_string(dy), to_string(v)), "equal shapes");
  }
  BinaryRow row = nullptr;
  for_real(dy.type(), [&]<class T>(T) { row = slope_row<T>; });
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, dy.type(), row, dy.type() == ElementType::float32 ? 1 : 20, &slope);
}

template <Slope kFunction>
Result<void> run(Frame& frame) {
  return run_slope(frame, {kFunction});
}
template <Slope kFunction, int kAlphaThousandths>
Result<void> run_alpha(Frame& frame) {
  return run_slope(frame, {kFunction, frame.real("alpha", kAlphaThousandths / 1000.0)});
}
Result<void> run_selu(Frame& frame) {
  return run_slope(frame, {Slope::selu, frame.real("alpha", 1.67326319217681884765625),
                           frame.real("gamma", 1.05070102214813232421875)});
}
Result<void> run_hard_sigmoid(Frame& frame) {
  return run_slope(frame, {Slope::hard_sigmoid, frame.real("alpha", 0.2), frame.real("beta", 0.5)});
}
Result<void> run_hard_swish(Frame& frame) { return run_slope(frame, {Slope::hard_swish, 1.0 / 6, 0.5}); }
Result<void> run_gelu(Frame& frame) {
  return run_slope(frame, {frame.text("approximate", "none") == "tanh" ? Slope::tanh_gelu : Slope::gelu});
}

// ClipGradient(dy, x, low, high): bounds are inputs; one that is left out is infinite.
Result<void> run_clip(Frame& frame) {
  SlopeAt slope{Slope::clip, -INFINITY, INFINITY};
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    if (!frame.has(i) || !has_elements(frame.in(i))) continue;
    (i == 2 ? slope.a : slope.b) = TRY(scalar_from(frame.in(i), i == 2 ? "the lower bound" : "the upper bound"));
  }
  return run_slope(frame, slope);
}

constexpr Descriptor gradient_of(std::string_view name, Run run) {
  return {.name = name,
          .domain = kTraining,
          .since = {1},
          .infer = infer_same,
          .run = run,
          .required = 2,
          .layouts = Layouts::each};
}

}  // namespace

std::span<const Descriptor> activation_gradient_descriptors() {
  static const Descriptor all[] = {
      gradient_of("CeluGradient", run_alpha<Slope::celu, 1000>),
      gradient_of("ClipGradient", run_clip),
      gradient_of("EluGradient", run_alpha<Slope::elu, 1000>),
      gradient_of("ErfGradient", run<Slope::erf>),
      gradient_of("GeluGradient", run_gelu),
      gradient_of("HardSigmoidGradient", run_hard_sigmoid),
      gradient_of("HardSwishGradient", run_hard_swish),
      gradient_of("LeakyReluGradient", run_alpha<Slope::leaky_relu, 10>),
      gradient_of("MishGradient", run<Slope::mish>),
      gradient_of("QuickGeluGradient", run_alpha<Slope::swish, 1702>),
      gradient_of("ReluGradient", run<Slope::relu>),
      gradient_of("SeluGradient", run_selu),
      gradient_of("SigmoidGradient", run<Slope::sigmoid>),
      gradient_of("SoftplusGradient", run<Slope::softplus>),
      gradient_of("SoftsignGradient", run<Slope::softsign>),
      gradient_of("SwishGradient", run_alpha<Slope::swish, 1000>),
      gradient_of("TanhGradient", run<Slope::tanh>),
      gradient_of("ThresholdedReluGradient", run_alpha<Slope::thresholded_relu, 1000>),
  };
  return all;
}

}  // namespace anybit::ops
