// How one tensor of an operator is to be stored, and how an operator's tensors are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/element_type.hpp"
#include "lower/parameters.hpp"

namespace anybit::quantizing {

using formats::Granularity;

// A format on a tensor, and where its parameters come from: a scale, a zero point, an exponent.
struct Spec {
  // int8 is one format among all. Without an axis: that is the node's own. "float": the tensor stays as it
  // is.
  formats::Use use{.format = "float", .parameters = {}, .grouping = {}, .rank = {}};
  enum class Source : std::uint8_t {
    values,   // the tensor's own: a weight's
    ranges,   // of calibration, by the observer
    runtime,  // the values of an activation, as they come
    given,    // the numbers below
  };
  Source source = Source::values;
  std::string observer = "minmax";  // of Source::ranges: src/calibrate
  double percentile = 0;            // of that observer; 0: its own default
  // Of Source::given: scales, one for the tensor or for each channel, with as many zero points or one; or the
  // range that the scale is to cover.
  struct Given {
    std::vector<float> scales = {};
    std::vector<std::int32_t> zero_points = {};
    std::optional<std::pair<float, float>> range = {};
    friend bool operator==(const Given&, const Given&) = default;
  };
  Given given = {};

  const std::string& format() const { return use.format; }
  bool is_float() const { return use.format == "float"; }
  // Known before the model runs, though not from the tensor's own values.
  bool is_static() const { return !is_float() && (source == Source::ranges || is_given()); }
  bool is_given() const { return source == Source::given; }
  bool is_dynamic() const { return !is_float() && source == Source::runtime; }
  // Of integers with a scale and a zero point.
  bool is_integer() const;
  bool symmetric() const;
  void set_symmetric(bool symmetric);
  Granularity granularity() const;
  void set_granularity(Granularity granularity);
  std::int64_t block_size() const;
  // The ONNX type of QuantizeLinear and DequantizeLinear that has all of its values; undefined: there is
  // none.
  graph::ElementType element() const;
  // Written by QuantizeLinear and DequantizeLinear, whatever may be emitted beside them.
  bool is_linear() const;
  // Whether the type has as many bits as the format.
  bool has_own_type() const;
  // The integers that it has of that type.
  graph::IntegerRange codes() const;
  friend bool operator==(const Spec&, const Spec&) = default;
};

// A row of table.hpp, by name, with all of its parameters.
struct Refinement {
  std::string name;
  formats::Values parameters = {};
  friend bool operator==(const Refinement&, const Refinement&) = default;
};

// Parts that a rule does not tell about are as a less specific rule says.
struct Scheme {
  std::optional<Spec> data_in, weight, bias, data_out;
  // In what products are computed: "float32"; "float16", by nodes of that type; "int8", where weights are in
  // blocks of few bits and data is rounded on the fly.
  std::optional<std::string> compute = {};
  std::optional<std::vector<Refinement>> refine = {};  // in order; empty: none
  // What int8 weights leave out for kernels that saturate (reduce_range.hpp): "pairs", the largest
  // neighbours; "none". Where no rule tells, the target does.
  std::optional<std::string> reduce_range = {};
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

// "int8 sym channel", "int4 block 32", "float", "uint8 asym dynamic", "int8 percentile 99.9",
// "mxfp4_e2m1 block 32", "fixed width 8 frac 4", "ternary channel scale mean", "fp8_e4m3 tensor minmax",
// "uint8 scale 0.02 zero_point 128", "int8 range -1 1".
Result<Spec> parse_spec(std::string_view text);
// The same words; without a format they change what they tell about, and leave the rest of `base`.
Result<Spec> parse_spec(std::string_view text, const Spec& base);
// The same words, the shortest that say it.
std::string to_string(const Spec& spec);

}  // namespace anybit::quantizing
