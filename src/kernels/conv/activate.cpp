#include "kernels/conv/activate.hpp"

#include <vector>

#include "kernels/elementwise/unary.hpp"

namespace anybit::kernels {

void activate(const Activation& activation, std::span<float> y) {
  const auto map = [&](Map function, float a = 0, float b = 0) {
    kernels::map(function, y.data(), y.data(), y.size(), a, b);
  };
  switch (activation.kind) {
    case Activation::Kind::none:
      return;
    case Activation::Kind::relu:
      return map(Map::relu);
    case Activation::Kind::leaky_relu:
      return map(Map::leaky_relu, activation.a);
    case Activation::Kind::clip:
      return map(Map::clip, activation.a, activation.b);
    case Activation::Kind::sigmoid:
      return map(Map::sigmoid);
    case Activation::Kind::tanh:
      return map(Map::tanh);
    case Activation::Kind::hard_sigmoid:
      return map(Map::hard_sigmoid, activation.a, activation.b);
    case Activation::Kind::hard_swish:
      return map(Map::hard_swish, 1.0f / 6, 0.5f);
    case Activation::Kind::silu: {  // two nodes compute it: -∞ · 0 is NaN
      constexpr std::size_t kPart = 1024;
      float x[kPart];
      for (std::size_t at = 0; at < y.size(); at += kPart) {
        const std::span part = y.subspan(at, std::min(kPart, y.size() - at));
        std::ranges::copy(part, x);
        kernels::map(Map::sigmoid, part.data(), part.data(), part.size());
        for (std::size_t i = 0; i < part.size(); ++i) part[i] *= x[i];
      }
    }
  }
}

}  // namespace anybit::kernels
