// The operators anybit knows. A row says everything about one operator; the table is made from the files
// beside this.
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
struct Call;
struct Dim;
struct Prepared;
class Raising;
struct Setup;
struct Value;

// Types and shapes of the outputs, from what is known of the inputs. One value for each output of the node.
using Infer = Result<std::vector<Value>> (*)(const Call& call);
// Multiply-accumulates of one run; unknown if a shape is. One for each product that is added to a sum: bias,
// scaling and activations are not counted. Nothing for operators that are no sums of products.
using Macs = Dim (*)(const Call& call, std::span<const Value> outputs);

// Computes the outputs. The inputs are there, as many as the operator must have.
using Run = Result<void> (*)(Frame& frame);
// What the node keeps for its runs, from its attributes and constant inputs: packed weights, tables. May be
// null.
using Prepare = Result<std::shared_ptr<const Prepared>> (*)(const Setup& setup);

// In which layouts an operator takes its inputs; it gets plain ones otherwise.
enum class Layouts : std::uint8_t {
  plain,
  each,  // the operator looks at each input's layout itself
};

// Where a quantized operator keeps one quantized tensor: the inputs' numbers, -1 if there is none.
struct QuantizedTensor {
  int input = -1, output = -1;  // which one it is
  int scale = -1, zero_point = -1;
  int scale_output = -1;  // a scale that the operator itself finds, when it runs
};

using QuantizedTensors = ShortList<QuantizedTensor, 4>;

// How a node of the version before becomes one of version `to`, when that takes more than a new number.
struct Raise {
  std::int16_t to = 0;
  Result<void> (*edit)(Raising& raising) = nullptr;
};

using Versions = ShortList<std::int16_t, 12>;

struct Descriptor {
  std::string_view name;
  std::string_view domain;  // "" is ONNX's own
  Versions since;           // the opset versions that changed it
  Infer infer = nullptr;
  Macs macs = nullptr;
  QuantizedTensors quantized = {};
  Run run = nullptr;  // nothing: it can be told about, but not run
  // Its work grows with the product of what goes in and what comes out, though it has no
  // multiply-accumulates.
  bool pairwise = false;
  Prepare prepare = nullptr;
  std::size_t required = 1;  // inputs that must be there
  bool pure = true;          // the same inputs give the same outputs: constants are computed ahead
  Layouts layouts = Layouts::plain;
  ShortList<Raise, 4> raise = {};  // in the order of their versions
  Traits traits = {};              // of quantization
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// Nothing if anybit does not know the operator. "ai.onnx" is "".
const Descriptor* find(std::string_view domain, std::string_view name);
// The newest version that opset `opset` has; nothing if the operator is younger.
std::optional<std::int64_t> version_in(const Descriptor& descriptor, std::int64_t opset);

using graph::kMicrosoft;

}  // namespace anybit::ops
