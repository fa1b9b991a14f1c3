// How one tensor of an operator is to be stored, and how an operator's tensors are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/element_type.hpp"

namespace anybit::quantizing {

enum class Granularity { tensor, channel, block };

struct Spec {
  std::string format = "float";  // "int8", "mxfp4_e2m1", …; "float": as it is
  // Formats that ONNX has no QuantizeLinear for. What groups share is chosen from the values, as they come:
  // no samples are needed. Nothing of what follows holds for them.
  std::optional<formats::Use> coded = {};
  bool symmetric = false;
  Granularity granularity = Granularity::tensor;
  std::int64_t block_size = 32;     // of Granularity::block
  std::string observer = "minmax";  // how ranges of activations are found: src/calibrate
  double percentile = 0;            // of that observer; 0: its own default
  bool dynamic = false;             // activations: parameters are found when the model runs
  bool narrow = true;               // symmetric weights leave out the lowest code: -127 … 127

  bool is_float() const { return format == "float"; }
  bool is_coded() const { return coded.has_value(); }
  // By QuantizeLinear, with a scale and a zero point.
  bool is_affine() const { return !is_float() && !is_coded(); }
  graph::ElementType element() const;  // undefined for float
  friend bool operator==(const Spec&, const Spec&) = default;
};

// Parts that a rule does not tell about are as a less specific rule says.
struct Scheme {
  std::optional<Spec> data_in, weight, bias, data_out;
  // In what products are computed: "float32"; "float16", by nodes of that type; "int8", where weights are in
  // blocks of few bits and data is rounded on the fly.
  std::optional<std::string> compute = {};
  // How weights are rounded: "none", each to the nearest; "sums", so that outputs keep the sums of theirs;
  // "means": so, and biases make up for what rounding does to the means of outputs on samples.
  std::optional<std::string> refine = {};
  // What int8 weights leave out for kernels that saturate (reduce_range.hpp): "pairs", the largest
  // neighbours; "none". Where no rule tells, the target does.
  std::optional<std::string> reduce_range = {};
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

// "int8 sym channel", "int4 block 32", "float", "uint8 asym dynamic", "int8 percentile 99.9",
// "mxfp4_e2m1 block 32", "fixed width 8 frac 4", "ternary channel scale mean".
Result<Spec> parse_spec(std::string_view text);
// The same words, the shortest that say it.
std::string to_string(const Spec& spec);

}  // namespace anybit::quantizing
