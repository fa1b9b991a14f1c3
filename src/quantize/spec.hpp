// The spec of a tensor, and the scheme of an operator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/element_type.hpp"
#include "lower/parameters.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {

using formats::Granularity;

// A format for a tensor, and the source of its parameters (scale, zero point, exponent).
struct Spec {
  // The format. Without an axis, that of the node applies. "float": not quantized.
  formats::Use use{.format = "float", .parameters = {}, .grouping = {}, .rank = {}};
  enum class Source : std::uint8_t {
    values,   // the tensor itself, for weights
    ranges,   // calibration, by the observer
    runtime,  // the activation itself, at run time (dynamic)
    given,    // the recipe
  };
  Source source = Source::values;
  std::string observer = "minmax";  // for Source::ranges; see src/calibrate
  double percentile = 0;            // for that observer; 0: its default
  // For Source::given: scales, one or one per channel, with as many zero points or one; or the range for the
  // scale.
  struct Given {
    std::vector<float> scales = {};
    std::vector<std::int32_t> zero_points = {};
    std::optional<std::pair<float, float>> range = {};
    friend bool operator==(const Given&, const Given&) = default;
  };
  Given given = {};

  const std::string& format() const { return use.format; }
  bool is_float() const { return use.format == "float"; }
  // Static: known before the model runs, though not from the tensor's own values.
  bool is_static() const { return !is_float() && (source == Source::ranges || is_given()); }
  bool is_given() const { return source == Source::given; }
  bool is_dynamic() const { return !is_float() && source == Source::runtime; }
  // An integer format with scale and zero point.
  bool is_integer() const;
  bool symmetric() const;
  void set_symmetric(bool symmetric);
  Granularity granularity() const;
  void set_granularity(Granularity granularity);
  std::int64_t block_size() const;
  // The ONNX type of QuantizeLinear and DequantizeLinear that holds all of its values; undefined: none.
  graph::ElementType element() const;
  // Always lowered to QuantizeLinear and DequantizeLinear.
  bool is_linear() const;
  // Returns true if the ONNX type has as many bits as the format.
  bool has_own_type() const;
  // The range of quantized values within that type.
  graph::IntegerRange integers() const;
  friend bool operator==(const Spec&, const Spec&) = default;
};

// What a layer may get where a recipe leaves the choice (choose.hpp). Both float: it stays in float.
struct Alternative {
  Spec data, weight;
  friend bool operator==(const Alternative&, const Alternative&) = default;
};

// Parts that a rule does not set are inherited from less specific rules.
struct Scheme {
  std::optional<Spec> data_in, weight, bias, data_out;
  // The compute type of linear operators: "float32"; "float16", by nodes of that type; "int8", for blocked
  // weights of few bits with activations quantized on the fly.
  std::optional<std::string> compute = {};
  std::optional<std::vector<Refinement>> refine = {};  // in order; empty: none
  // The restriction of int8 weights for saturating kernels (reduce_range.hpp): "pairs" or "none". The target
  // sets the default.
  std::optional<std::string> reduce_range = {};
  // Each layer gets the best of these by error and cost. The first is in data_in, data_out and weight.
  std::optional<std::vector<Alternative>> choose = {};
  void set(const Alternative& one) {
    data_in = data_out = one.data;
    weight = one.weight;
  }
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

// "int8 sym channel", "int4 block 32", "float", "uint8 asym dynamic", "int8 percentile 99.9",
// "mxfp4_e2m1 block 32", "fixed width 8 frac 4", "ternary channel scale mean", "fp8_e4m3 tensor minmax",
// "uint8 scale 0.02 zero_point 128", "int8 range -1 1".
Result<Spec> parse_spec(std::string_view text);
// Parses the same words without a format: they modify `base`.
Result<Spec> parse_spec(std::string_view text, const Spec& base);
// Returns the shortest equivalent words.
std::string to_string(const Spec& spec);

}  // namespace anybit::quantizing
