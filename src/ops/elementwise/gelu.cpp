// Gelu and related functions: x · Φ(x), exact or with the tanh approximation. ONNX: Gelu-20; ONNX Runtime's
// Gelu, FastGelu and BiasGelu (which first adds a bias along the last axis), QuickGelu (x · sigmoid(α·x)).
#include <cmath>
#include <numbers>

#include "base/math.hpp"
#include "ops/elementwise/binary_functions.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Map;

double exact_gelu(double x, double, double) { return x * math::erfc(-x / std::numbers::sqrt2) / 2; }
double tanh_gelu(double x, double, double) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x * (1 + math::tanh(u)) / 2;
}
double quick_gelu(double x, double a, double) { return x / (1 + math::exp(-a * x)); }

Result<void> run_gelu(Frame& frame) {
  const std::string_view how = frame.text("approximate", "none");
  if (how == "none") return run_unary(frame, Map::gelu, exact_gelu, 0, 0, 1);
  if (how == "tanh") return run_unary(frame, Map::tanh_gelu, tanh_gelu, 0, 0, 1);
  return wrong(fmt::format("approximate is '{}'", how), "none or tanh");
}

Result<void> run_quick_gelu(Frame& frame) {
  return run_unary(frame, Map::swish, quick_gelu, frame.real("alpha", 1.702), 0, 1);
}

// Gelu of x + bias, row by row, so that the sum stays in the cache.
Result<void> run_biased(Frame& frame, Map map, Exact exact) {
  if (!frame.has(1)) return run_unary(frame, map, exact, 0, 0, 1);
  TRY(frame.make_plain(0));
  const Array &in = frame.in(0), &bias = frame.in(1);
  if (bias.rank() != 1 || in.rank() == 0 || bias.count() != in.dims().back() || bias.type() != in.type()) {
    return wrong(fmt::format("the bias is {}", to_string(bias)), "one value per element of the last axis");
  }
  const std::int64_t columns = bias.count();
  if (!for_real(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_real(in.type(), [&]<class T>(T) {
    const std::int64_t rows = columns == 0 ? 0 : in.count() / columns;
    parallel(frame, rows, static_cast<double>(columns), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const T* from = in.data<T>() + i * columns;
        T* to = out->mutable_data<T>() + i * columns;
        binary_row<T, T, AddPair>(reinterpret_cast<const std::byte*>(from), 1, bias.bytes(), 1,
                                  reinterpret_cast<std::byte*>(to), columns, nullptr);
        if constexpr (std::is_same_v<T, float>) {
          kernels::map(map, to, to, static_cast<std::size_t>(columns));
        } else if constexpr (kIsHalf<T>) {
          unary_half(map, in.type(), reinterpret_cast<const std::byte*>(to), reinterpret_cast<std::byte*>(to),
                     columns, 0, 0);
        } else {
          for (std::int64_t j = 0; j < columns; ++j) to[j] = exact(to[j], 0, 0);
        }
      }
    });
  });
  return {};
}

Result<void> run_fast_gelu(Frame& frame) { return run_biased(frame, Map::tanh_gelu, tanh_gelu); }
Result<void> run_bias_gelu(Frame& frame) { return run_biased(frame, Map::gelu, exact_gelu); }

Result<void> gelu_gradient(Gradient& g) { return gradient_by_input(g, "GeluGradient"); }
Result<void> quick_gelu_gradient(Gradient& g) { return gradient_by_input(g, "QuickGeluGradient"); }

// Of FastGelu and BiasGelu, by the sum of input and bias.
Result<void> biased_gradient(Gradient& g) {
  const std::string sum = g.has(1) ? g.add("Add", {g.input(0), g.input(1)}) : g.input(0);
  Gradient::NodeAttributes how;
  if (g.node.op_type.str() == "FastGelu") how.push_back(graph::attribute("approximate", std::string("tanh")));
  const std::string gradient = g.add("GeluGradient", {g.dy(), sum}, std::move(how), kTraining);
  g.set(0, gradient);
  if (g.has(1)) g.set(1, gradient);
  return {};
}

constexpr Descriptor gelu(std::string_view name, std::string_view domain, std::int16_t since, Run run,
                          GradientRule gradient, Traits traits = of_each_element(),
                          std::size_t required = 1) {
  return {.name = name,
          .domain = domain,
          .since = {since},
          .infer = infer_same,
          .run = run,
          .required = required,
          .layouts = Layouts::each,
          .traits = traits,
          .gradient = gradient};
}

}  // namespace

std::span<const Descriptor> gelu_descriptors() {
  const Traits with_bias = {.role = Traits::Role::compute, .by_element = true};
  static const Descriptor all[] = {
      gelu("Gelu", "", 20, run_gelu, gelu_gradient, of_each_element().called("gelu")),
      gelu("Gelu", kMicrosoft, 1, run_gelu, gelu_gradient, of_each_element().called("gelu")),
      gelu("QuickGelu", kMicrosoft, 1, run_quick_gelu, quick_gelu_gradient),
      gelu("FastGelu", kMicrosoft, 1, run_fast_gelu, biased_gradient, with_bias),
      gelu("BiasGelu", kMicrosoft, 1, run_bias_gelu, biased_gradient, with_bias, 2),
  };
  return all;
}

}  // namespace anybit::ops
