// The table of operators that anybit knows, with one row (Descriptor) per operator. The build collects the
// rows from the operators' files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "graph/node.hpp"
#include "ops/short_list.hpp"
#include "ops/traits.hpp"

namespace anybit::ops {

class Frame;
class Gradient;
struct Call;
struct Dim;
struct Prepared;
class Raising;
struct Setup;
struct Value;

// Infers types and shapes of the outputs. Returns one value for each output of the node.
using Infer = Result<std::vector<Value>> (*)(const Call& call);
// Multiply-accumulates of one run; unknown if a shape is unknown. Counts one per multiply-add of a linear
// operator; bias, scaling and activations are not counted. Null for operators without multiply-accumulates.
using Macs = Dim (*)(const Call& call, std::span<const Value> outputs);

// Computes the outputs. All required inputs are present.
using Run = Result<void> (*)(Frame& frame);
// Precomputes per-node data from attributes and constant inputs: packed weights, tables. May be null.
using Prepare = Result<std::shared_ptr<const Prepared>> (*)(const Setup& setup);

// The layouts in which an operator takes its inputs.
enum class Layouts : std::uint8_t {
  plain,  // inputs are converted to the plain layout first
  each,   // the operator handles the layout of each input itself
};

// Input and output indices of one quantized tensor of a quantized operator; -1 if there is none.
struct QuantizedTensor {
  int input = -1, output = -1;  // the quantized tensor
  int scale = -1, zero_point = -1;
  int scale_output = -1;  // a scale that the operator computes at run time
};

using QuantizedTensors = ShortList<QuantizedTensor, 4>;

// Converts a node of the previous version to version `to`, if that takes more than a new version number.
struct Raise {
  std::int16_t to = 0;
  Result<void> (*edit)(Raising& raising) = nullptr;
};

// Emits the nodes that compute the gradients of the node's inputs (ops/gradient.hpp).
using GradientRule = Result<void> (*)(Gradient& gradient);

using Versions = ShortList<std::int16_t, 12>;

struct Descriptor {
  std::string_view name;
  std::string_view domain;  // "" is ONNX's own
  Versions since;           // opset versions that changed the operator
  Infer infer = nullptr;
  Macs macs = nullptr;
  QuantizedTensors quantized = {};
  Run run = nullptr;  // null: known to inference, but cannot run
  // Its cost grows with input size times output size, although it has no multiply-accumulates.
  bool pairwise = false;
  Prepare prepare = nullptr;
  std::size_t required = 1;  // number of required inputs
  bool pure = true;          // deterministic without side effects: constant folding may run it
  Layouts layouts = Layouts::plain;
  ShortList<Raise, 4> raise = {};   // ordered by version
  Traits traits = {};               // how quantization treats the operator
  GradientRule gradient = nullptr;  // null: training cannot go through the operator
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// Null if anybit does not know the operator. "ai.onnx" is the same domain as "".
const Descriptor* find(std::string_view domain, std::string_view name);
// The operator version that is in force in opset `opset`; nullopt if the operator was introduced later.
std::optional<std::int64_t> version_in(const Descriptor& descriptor, std::int64_t opset);

using graph::kMicrosoft;

}  // namespace anybit::ops
