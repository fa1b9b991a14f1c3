// Activations that a convolution applies to each result before it is stored.
#pragma once

#include <algorithm>

#include "base/math.hpp"

namespace anybit::kernels {

struct Activation {
  enum class Kind {
    none,
    relu,
    leaky_relu,
    clip,
    sigmoid,
    tanh,
    hard_sigmoid,
    hard_swish,
    silu
  } kind = Kind::none;
  float a = 0, b = 0;  // leaky_relu: slope; clip: minimum, maximum; hard_sigmoid: alpha, beta

  friend bool operator==(const Activation&, const Activation&) = default;
};

template <class T>
T activate(const Activation& activation, T x) {
  using Kind = Activation::Kind;
  const auto sigmoid = [](T v) { return T(1) / (T(1) + math::exp(-v)); };
  switch (activation.kind) {
    case Kind::none:
      return x;
    case Kind::relu:
      return x < T(0) ? T(0) : x;
    case Kind::leaky_relu:
      return x < T(0) ? static_cast<T>(activation.a) * x : x;
    case Kind::clip:
      return std::min(std::max(x, static_cast<T>(activation.a)), static_cast<T>(activation.b));
    case Kind::sigmoid:
      return sigmoid(x);
    case Kind::tanh:
      return math::tanh(x);
    case Kind::hard_sigmoid:
      return std::clamp(static_cast<T>(activation.a) * x + static_cast<T>(activation.b), T(0), T(1));
    case Kind::hard_swish:
      return x * std::clamp(x / T(6) + T(0.5), T(0), T(1));
    case Kind::silu:
      return x * sigmoid(x);
  }
  return x;
}

}  // namespace anybit::kernels
