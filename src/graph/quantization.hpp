// What is quantized in a graph, and how: the one reader of QuantizeLinear (Q) and DequantizeLinear (DQ).
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

// A Q or a DQ: ONNX's, or ONNX Runtime's, which had 16 bits first.
bool quantizes(const Node& node);
bool dequantizes(const Node& node);

// The inputs of both.
struct QdqInputs {
  static constexpr std::size_t value = 0, scale = 1, zero_point = 2;
};

// The smallest and largest number of an integer type that values can be quantized to; 0 bits if it is none.
struct IntegerRange {
  int bits = 0;
  std::int32_t low = 0, high = 0;
};
IntegerRange integer_range(ElementType type);
// An element of a constant of such a type; nothing if it is of another.
std::optional<std::int32_t> integer_at(const Tensor& tensor, std::int64_t i);

// What a Q makes when it has no zero point, whose type it would be otherwise: uint8, unless an attribute says
// so.
ElementType type_without_zero_point(const Node& quantizer);

// An axis counted from the front; nothing if there is no such axis.
std::optional<std::int64_t> axis_in(std::int64_t axis, std::int64_t rank);

// How values are quantized. `Constant` is a Tensor, or an ops::Array in a program that is being built.
template <class Constant>
struct QdqParameters {
  ElementType type = ElementType::undefined;  // of what is quantized; undefined: nothing here tells
  const Constant* scale = nullptr;            // null: it is not constant
  const Constant* zero_point = nullptr;       // null: it is not constant, or left out
  bool has_zero_point = false;                // else it is zero
  std::int64_t axis = 1;                      // along which scales change; from the end if it is negative
  std::int64_t block_size = 0;                // values along the axis that share a scale; 0: no blocks

  // All of it is constant, the scales are float32, and each has a zero point if there are any.
  bool known() const {
    return scale && scale->type() == ElementType::float32 &&
           (!has_zero_point || (zero_point && zero_point->count() == scale->count()));
  }
  // The rest is for parameters that are known.
  bool per_tensor() const { return scale->count() == 1; }
  // A scale for all values of a tensor, for each index of the axis, or for each block along it.
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

// What a Q or DQ says. `constant(i)`: input i as a constant; null if it is none.
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

// The Qs and DQs of a graph. A graph inside a node sees the constants of those around it.
class QdqView {
 public:
  using Parameters = QdqParameters<Tensor>;

  // The graph, and the view of the one around it, must stay as they are while this is asked.
  explicit QdqView(const Graph& graph, const QdqView* around = nullptr)
      : graph_(graph), index_(graph), around_(around) {}

  const Graph& graph() const { return graph_; }
  const Index& index() const { return index_; }
  // Of this graph, or of one around it; null if it is none.
  const Tensor* constant(std::string_view name) const;

  // The DQ that makes a value; null if none does.
  const Node* dequantizer(std::string_view value) const;
  // The Q that makes a value, which is what a pair begins with; null if none does.
  const Node* quantizer(std::string_view quantized) const;
  // The Q that takes a value, if nothing else does: the number of its node; -1 if there is none.
  int only_quantizer(std::string_view value) const;
  // The constant that is stored before the DQ that makes a value; null if there is none.
  const Tensor* stored(std::string_view value) const;

  // Of a Q or a DQ.
  Parameters parameters(const Node& node) const;

 private:
  const Graph& graph_;
  Index index_;
  const QdqView* around_;
};

}  // namespace anybit::graph
