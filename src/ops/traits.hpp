// What quantization asks of an operator: which inputs are data, weight and bias, and what becomes of the
// values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/model.hpp"
#include "ops/short_list.hpp"

namespace anybit::ops {

// Where the output channels lie in a weight of this rank; -1: it has none.
using ChannelAxis = std::int64_t (*)(const graph::Node& node, std::size_t rank);

// Numbers of inputs.
using Inputs = ShortList<int, 4>;

struct Traits {
  enum class Role : std::uint8_t {
    none,     // stays in float, with all that it takes and makes
    compute,  // takes quantized values, and makes others: Conv, MatMul, Add, AveragePool
    move,  // what goes in comes out, in other places: Reshape, MaxPool, Concat. In and out share parameters
    element,  // a function of each element of input 0 alone: Sigmoid, Clip. Chains are quantized as one
  };
  struct Range {
    float low, high;
  };
  struct Weight {
    int input = -1;
    ChannelAxis channel_axis = nullptr;  // nothing: it has no channels
    ChannelAxis summed_axis = nullptr;   // nothing: beside the channels', before them unless they come first
  };

  // Sums of products as layers have them: recipes have words for each kind (linear, matmul, conv2d).
  enum class Product : std::uint8_t { none, matrices, convolution, transposed_convolution };
  // Whether results can be negative: as it comes, never, only where one of the inputs is.
  enum class Sign : std::uint8_t { any, positive, of_inputs };
  // How an operator that moves values moves codes of 8 bits.
  struct Codes {
    std::int16_t since = 0;  // ONNX's version that takes them; 0: none does, or it adds zeros of its own
    bool ours = false;       // our kernel does in any version, and rounds what lies between two codes
    // The node makes values between those that go in, which other runtimes cut off; nothing: none does.
    bool (*between)(const graph::Node& node) = nullptr;
  };

  Role role = Role::none;
  // Inputs whose values may be quantized while the model runs; {-1}: all of them. None at all: only the
  // weights are quantized, and what the operator makes stays in float (LSTM). Otherwise its first output is
  // quantized, and if it moves values, every output of its input's type.
  Inputs data = {0};
  ShortList<Weight, 4> weights = {};  // inputs that are weights if they are constant; data or not otherwise
  int bias = -1;                      // added to the sums: an integer of the input's times the weight's scale
  std::optional<Range> range = {};    // of the output, whatever goes in
  bool clamps = false;                // only cuts values off: one with what makes its input (Relu, Clip)
  // Element by element, though of several inputs, or with parameters beside the data: Add, Min, PRelu. Where
  // the others are single numbers, it is a function of each element.
  bool by_element = false;
  bool sensitive = false;   // small errors grow (Exp, norms): stays in float unless a recipe names it
  bool normalizes = false;  // inputs 1 and 2 are the scale and the shift of what is normalized
  Product product = Product::none;
  Sign sign = Sign::any;
  int mask = -1;                // the input that is a mask of scores, or scores that one was added to
  Codes codes = {};             // of what moves values
  std::string_view alias = {};  // its name in recipes, beside ONNX's: what PyTorch calls it
  // Where it depends on the node's attributes; the role above is then the usual one.
  Role (*role_of)(const graph::Node& node) = nullptr;

  Role role_in(const graph::Node& node) const { return role_of ? role_of(node) : role; }
  bool moves(const graph::Node& node) const { return role_in(node) == Role::move; }
  // In a node of this version, as ONNX has it: the same codes come out, in other places.
  bool moves_codes(const graph::Node& node, std::int64_t version) const {
    return moves(node) && codes.since > 0 && version >= codes.since &&
           !(codes.between && codes.between(node));
  }
  bool is_data(int input) const {
    return std::ranges::any_of(data, [input](int one) { return one == input || one == -1; });
  }
  const Weight* weight(int input) const {
    const auto found = std::ranges::find(weights, input, &Weight::input);
    return found == weights.end() ? nullptr : &*found;
  }

  // The same with one fact more.
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
constexpr Traits moves(Traits::Codes codes = {}, Inputs data = {0}) {
  return {.role = Traits::Role::move, .data = data, .codes = codes};
}
constexpr Traits of_each_element(std::optional<Traits::Range> range = {}, bool sensitive = false) {
  return {.role = Traits::Role::element, .range = range, .by_element = true, .sensitive = sensitive};
}

// Axes of channels that many weights have.
inline std::int64_t first_axis(const graph::Node&, std::size_t) { return 0; }
inline std::int64_t second_axis(const graph::Node&, std::size_t rank) { return rank < 2 ? -1 : 1; }
inline std::int64_t last_but_one_axis(const graph::Node&, std::size_t rank) {
  return static_cast<std::int64_t>(rank) - 2;
}
inline std::int64_t last_axis(const graph::Node&, std::size_t rank) {
  return rank < 2 ? -1 : static_cast<std::int64_t>(rank) - 1;
}

}  // namespace anybit::ops
