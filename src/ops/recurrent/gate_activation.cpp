#include "ops/recurrent/gate_activation.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/math.hpp"
#include "kernels/elementwise/unary.hpp"

namespace anybit::ops {
namespace {

using Kind = GateActivation::Kind;

struct Row {
  std::string_view name;  // lower case: names are case-insensitive
  Kind kind;
  bool has_alpha, has_beta;
  double alpha, beta;  // defaults
};

constexpr Row kRows[] = {
    {"affine", Kind::affine, true, true, 1, 0},
    {"elu", Kind::elu, true, false, 1, 0},
    {"hardsigmoid", Kind::hard_sigmoid, true, true, 0.2, 0.5},
    {"leakyrelu", Kind::leaky_relu, true, false, 0.01, 0},
    {"relu", Kind::relu, false, false, 0, 0},
    {"scaledtanh", Kind::scaled_tanh, true, true, 1, 1},
    {"sigmoid", Kind::sigmoid, false, false, 0, 0},
    {"softplus", Kind::softplus, false, false, 0, 0},
    {"softsign", Kind::softsign, false, false, 0, 0},
    {"tanh", Kind::tanh, false, false, 0, 0},
    {"thresholdedrelu", Kind::thresholded_relu, true, false, 1, 0},
};

template <class C>
C value(Kind kind, C a, C b, C x) {
  switch (kind) {
    case Kind::affine:
      return a * x + b;
    case Kind::elu:
      return x < 0 ? a * math::expm1(x) : x;
    case Kind::hard_sigmoid:
      return std::min(C(1), std::max(C(0), a * x + b));
    case Kind::leaky_relu:
      return x < 0 ? a * x : x;
    case Kind::relu:
      return x < 0 ? C(0) : x;
    case Kind::scaled_tanh:
      return a * math::tanh(b * x);
    case Kind::sigmoid:
      return 1 / (1 + math::exp(-x));
    case Kind::softplus:
      return x > 20 ? x : math::log1p(math::exp(x));
    case Kind::softsign:
      return x / (1 + std::abs(x));
    case Kind::tanh:
      return math::tanh(x);
    case Kind::thresholded_relu:
      return x > a ? x : C(0);
  }
  return x;
}

template <class C>
void apply_each(const GateActivation& activation, C* x, std::int64_t n) {
  const auto a = static_cast<C>(activation.alpha), b = static_cast<C>(activation.beta);
  for (std::int64_t i = 0; i < n; ++i) x[i] = value(activation.kind, a, b, x[i]);
}

}  // namespace

void GateActivation::apply(float* x, std::int64_t n) const {
  if (kind == Kind::sigmoid) return kernels::map(kernels::Map::sigmoid, x, x, static_cast<std::size_t>(n));
  if (kind == Kind::tanh) return kernels::map(kernels::Map::tanh, x, x, static_cast<std::size_t>(n));
  apply_each(*this, x, n);
}
void GateActivation::apply(double* x, std::int64_t n) const { apply_each(*this, x, n); }

Result<std::array<GateActivations, 2>> gate_activations(const Attributes& node, std::size_t directions,
                                                        std::span<const std::string_view> usual) {
  const auto named = node.texts("activations").value_or(std::span<const std::string>());
  const std::size_t each = usual.size();
  if (!named.empty() && named.size() != each * directions) {
    return wrong(fmt::format("{} activations are named", named.size()), fmt::format("{}", each * directions));
  }
  const auto alphas = node.floats("activation_alpha").value_or(std::span<const float>());
  const auto betas = node.floats("activation_beta").value_or(std::span<const float>());
  std::size_t next_alpha = 0, next_beta = 0;
  std::array<GateActivations, 2> all{};
  for (std::size_t i = 0; i < each * directions; ++i) {
    std::string name(named.empty() ? usual[i % each] : std::string_view(named[i]));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto* row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows)) return wrong(fmt::format("activation '{}' is unknown", shown(named[i])));
    GateActivation& one = all[i / each][i % each];
    one = {row->kind, row->alpha, row->beta};
    // The lists hold values only for activations that take them, in order.
    if (row->has_alpha && next_alpha < alphas.size()) one.alpha = static_cast<double>(alphas[next_alpha++]);
    if (row->has_beta && next_beta < betas.size()) one.beta = static_cast<double>(betas[next_beta++]);
  }
  return all;
}

}  // namespace anybit::ops
