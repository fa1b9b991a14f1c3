// How quantization treats an operator: which inputs are data, weight and bias, and how the output relates to
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/model.hpp"
#include "ops/short_list.hpp"

namespace anybit::ops {

// Axis of the output channels in a weight of this rank; -1: none.
using ChannelAxis = std::int64_t (*)(const graph::Node& node, std::size_t rank);

// Input indices.
using Inputs = ShortList<int, 4>;

struct Traits {
  enum class Role : std::uint8_t {
    none,     // stays in float, including its inputs and outputs
    compute,  // computes new values from quantized ones: Conv, MatMul, Add, AveragePool
    move,     // pass-through: Reshape, MaxPool, Concat. Inputs and output share quantization parameters
    element,  // unary elementwise on input 0: Sigmoid, Clip. Chains are fused and quantized as one
  };
  struct Range {
    float low, high;
  };
  struct Weight {
    int input = -1;
    ChannelAxis channel_axis = nullptr;    // null: no channels
    ChannelAxis reduction_axis = nullptr;  // reduction axis; null: next to the channel axis
  };

  // Kinds of linear operators; recipes have words for each kind (linear, matmul, conv2d).
  enum class Linear : std::uint8_t { none, matrices, convolution, transposed_convolution };
  // Sign of the results: any, never negative, or negative only if an input is.
  enum class Sign : std::uint8_t { any, positive, of_inputs };
  // How a pass-through operator handles 8-bit quantized tensors.
  struct PassThrough {
    std::int16_t since = 0;  // first ONNX version that accepts them; 0: none, or it inserts zeros of its own
    bool ours = false;       // our kernel accepts them in any version and rounds interpolated values
    // Whether the node interpolates between input values, which other runtimes truncate; null: never.
    bool (*between)(const graph::Node& node) = nullptr;
  };

  Role role = Role::none;
  // Inputs whose activations may be quantized; {-1}: all of them. If empty, only the weights are quantized
  // and the output stays in float (LSTM). Otherwise the first output is quantized; for a pass-through
  // operator, every output of the input's type is.
  Inputs data = {0};
  ShortList<Weight, 4> weights = {};  // weights if constant, otherwise data if in `data`
  int bias = -1;                      // added to the accumulators; its scale is input scale × weight scale
  std::optional<Range> range = {};    // fixed output range, independent of the input
  bool clamps = false;                // only saturates values: fused with its producer (Relu, Clip)
  // Elementwise, but with several inputs or with parameters beside the data: Add, Min, PRelu. If the other
  // inputs are scalars, it is a unary elementwise function.
  bool by_element = false;
  bool sensitive = false;   // numerically sensitive (Exp, norms): float unless a recipe names it
  bool normalizes = false;  // inputs 1 and 2 are the scale and shift of a normalization
  Linear linear = Linear::none;
  Sign sign = Sign::any;
  int mask = -1;                  // input with the attention mask, or with scores that include it
  PassThrough pass_through = {};  // for pass-through operators
  std::string_view alias = {};    // additional name in recipes: the name in PyTorch
  // For operators whose role depends on attributes; `role` is then the usual one.
  Role (*role_of)(const graph::Node& node) = nullptr;

  Role role_in(const graph::Node& node) const { return role_of ? role_of(node) : role; }
  bool moves(const graph::Node& node) const { return role_in(node) == Role::move; }
  // Whether ONNX, in this operator version, passes 8-bit quantized values through unchanged.
  bool passes_quantized(const graph::Node& node, std::int64_t version) const {
    return moves(node) && pass_through.since > 0 && version >= pass_through.since &&
           !(pass_through.between && pass_through.between(node));
  }
  bool is_data(int input) const {
    return std::ranges::any_of(data, [input](int one) { return one == input || one == -1; });
  }
  const Weight* weight(int input) const {
    const auto found = std::ranges::find(weights, input, &Weight::input);
    return found == weights.end() ? nullptr : &*found;
  }

  // Copies with one field changed.
  constexpr Traits called(std::string_view other) const {
    Traits with = *this;
    with.alias = other;
    return with;
  }
  constexpr Traits with_sign(Sign of) const {
    Traits with = *this;
    with.sign = of;
    return with;
  }
  constexpr Traits with_mask(int input) const {
    Traits with = *this;
    with.mask = input;
    return with;
  }
};

constexpr Traits computes(Inputs data = {0}) { return {.role = Traits::Role::compute, .data = data}; }
constexpr Traits computes_sensitive(Inputs data = {0}) {
  return {.role = Traits::Role::compute, .data = data, .sensitive = true};
}
constexpr Traits normalizes(bool sensitive) {
  return {.role = Traits::Role::compute, .sensitive = sensitive, .normalizes = true};
}
constexpr Traits moves(Traits::PassThrough pass_through = {}, Inputs data = {0}) {
  return {.role = Traits::Role::move, .data = data, .pass_through = pass_through};
}
constexpr Traits of_each_element(std::optional<Traits::Range> range = {}, bool sensitive = false) {
  return {.role = Traits::Role::element, .range = range, .by_element = true, .sensitive = sensitive};
}

// Common channel axes.
inline std::int64_t first_axis(const graph::Node&, std::size_t) { return 0; }
inline std::int64_t second_axis(const graph::Node&, std::size_t rank) { return rank < 2 ? -1 : 1; }
inline std::int64_t last_but_one_axis(const graph::Node&, std::size_t rank) {
  return static_cast<std::int64_t>(rank) - 2;
}
inline std::int64_t last_axis(const graph::Node&, std::size_t rank) {
  return rank < 2 ? -1 : static_cast<std::int64_t>(rank) - 1;
}

}  // namespace anybit::ops
