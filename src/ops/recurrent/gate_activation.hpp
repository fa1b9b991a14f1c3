// The gate activations of RNN, GRU and LSTM.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "ops/frame.hpp"

namespace anybit::ops {

struct GateActivation {
  enum class Kind {
    affine,
    elu,
    hard_sigmoid,
    leaky_relu,
    relu,
    scaled_tanh,
    sigmoid,
    softplus,
    softsign,
    tanh,
    thresholded_relu
  } kind = Kind::tanh;
  double alpha = 0, beta = 0;

  // In place.
  void apply(float* x, std::int64_t n) const;
  void apply(double* x, std::int64_t n) const;
};

// The activations f, g, h of one direction, as far as the operator has them.
using GateActivations = std::array<GateActivation, 3>;
// From the node's attributes, for `directions` directions; `usual` are the defaults of one direction.
Result<std::array<GateActivations, 2>> gate_activations(const Attributes& node, std::size_t directions,
                                                        std::span<const std::string_view> usual);

}  // namespace anybit::ops
