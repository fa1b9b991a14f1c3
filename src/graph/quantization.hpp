// Quantization in a graph: the only reader of QuantizeLinear (Q) and DequantizeLinear (DQ).
// Q: q = round(x / scale) + zero_point. DQ: x = (q - zero_point) · scale.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/index.hpp"
#include "graph/model.hpp"
#include "graph/node.hpp"

namespace anybit::graph {

// Whether the node is a Q or DQ, of ONNX or of ONNX Runtime, whose operators had 16-bit types first.
bool quantizes(const Node& node);
bool dequantizes(const Node& node);

// The inputs of Q and DQ.
struct QdqInputs {
  static constexpr std::size_t value = 0, scale = 1, zero_point = 2;
};

// The range of an integer type that Q can produce; 0 bits for other types.
struct IntegerRange {
  int bits = 0;
  std::int32_t low = 0, high = 0;
};
IntegerRange integer_range(ElementType type);
// An element of a constant of such a type; empty for other types.
std::optional<std::int32_t> integer_at(const Tensor& tensor, std::int64_t i);

// The output type of a Q without zero point: uint8, unless its attribute output_dtype says otherwise.
ElementType type_without_zero_point(const Node& quantizer);

// The axis counted from the front; empty if it is out of range.
std::optional<std::int64_t> axis_in(std::int64_t axis, std::int64_t rank);

// Quantization parameters. `Constant` is a Tensor, or an ops::Array in a program that is being built.
template <class Constant>
struct QdqParameters {
  ElementType type = ElementType::undefined;  // of the quantized tensor; undefined: unknown from this node
  const Constant* scale = nullptr;            // null: not constant
  const Constant* zero_point = nullptr;       // null: not constant, or left out
  bool has_zero_point = false;                // otherwise the zero point is 0
  std::int64_t axis = 1;                      // of per-axis scales; negative: counted from the end
  std::int64_t block_size = 0;                // elements along the axis that share a scale; 0: no blocks

  // Whether all parameters are constant, scales are float32, and there are as many zero points as scales, or
  // none.
  bool known() const {
    return scale && scale->type() == ElementType::float32 &&
           (!has_zero_point || (zero_point && zero_point->count() == scale->count()));
  }
  // The following functions require known().
  bool per_tensor() const { return scale->count() == 1; }
  // Whether the number of scales fits a tensor: one, one per index of the axis, or one per block along it.
  bool fits(std::span<const std::int64_t> dims) const {
    if (per_tensor()) return true;
    const auto along = axis_in(axis, static_cast<std::int64_t>(dims.size()));
    if (!along) return false;
    const std::int64_t length = dims[static_cast<std::size_t>(*along)];
    if (block_size == 0) return scale->count() == length;
    if (block_size < 0 || length == 0) return false;
    std::int64_t scales = (length - 1) / block_size + 1;
    for (std::size_t i = 0; i < dims.size(); ++i)
      scales *= static_cast<std::int64_t>(i) == *along ? 1 : dims[i];
    return scale->count() == scales;
  }
};

// Reads a Q or DQ. `constant(i)`: input i as a constant; null if it is none.
template <class Constant, class Find>
QdqParameters<Constant> read_qdq(const Node& node, const Find& constant) {
  QdqParameters<Constant> read;
  read.scale = constant(QdqInputs::scale);
  read.has_zero_point = !input(node, QdqInputs::zero_point).empty();
  read.axis = integer(node, "axis", 1);
  read.block_size = integer(node, "block_size", 0);
  if (read.has_zero_point) {
    read.zero_point = constant(QdqInputs::zero_point);
    if (read.zero_point) read.type = read.zero_point->type();
  } else if (quantizes(node)) {
    read.type = type_without_zero_point(node);
  } else if (const Constant* stored = constant(QdqInputs::value)) {
    read.type = stored->type();
  }
  return read;
}

// The Qs and DQs of a graph. Inner graphs see the constants of enclosing graphs.
class QdqView {
 public:
  using Parameters = QdqParameters<Tensor>;

  // The graph, and the view of the enclosing graph, must outlive this view and must not change.
  explicit QdqView(const Graph& graph, const QdqView* around = nullptr)
      : graph_(graph), index_(graph), around_(around) {}

  const Graph& graph() const { return graph_; }
  const Index& index() const { return index_; }
  // A constant of this graph or an enclosing one; null if there is none.
  const Tensor* constant(std::string_view name) const;

  // The DQ that produces a value; null if there is none.
  const Node* dequantizer(std::string_view value) const;
  // The Q that produces a value, which begins a Q/DQ pair; null if there is none.
  const Node* quantizer(std::string_view quantized) const;
  // The index of the Q that is a value's only consumer; -1 if there is none.
  int only_quantizer(std::string_view value) const;
  // The quantized constant that a DQ dequantizes to this value; null if there is none.
  const Tensor* stored(std::string_view value) const;

  // The parameters of a Q or DQ.
  Parameters parameters(const Node& node) const;

 private:
  const Graph& graph_;
  Index index_;
  const QdqView* around_;
};

}  // namespace anybit::graph
