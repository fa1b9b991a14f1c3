// Lowering of dynamically quantized layers: DynamicQuantizeLinear, MatMulInteger or ConvInteger and the
// rescaling after them, as ONNX operators; LSTM and Attention as ONNX Runtime's contrib operators.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "graph/names.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

// Returns why a node has no dynamically quantized form, or std::nullopt if it has one. `weights`: its
// constant weights; `symmetric`: whether its activations are quantized symmetrically.
std::optional<std::string> no_dynamic_form(const graph::Node& node,
                                           std::span<const graph::Tensor* const> weights, bool symmetric);

// The shape [rows, elements] as which a weight of `node` is quantized, with one scale per row; empty: its own
// shape. The weights of an LSTM have scales per gate row of each direction, or per direction.
std::vector<std::int64_t> dynamic_rows(const graph::Node& node, const graph::Tensor& weight, bool each_gate);

// Transposes `count` consecutive matrices of bytes from [rows, columns] to [columns, rows].
Bytes turned(const Bytes& quantized, std::int64_t count, std::int64_t rows, std::int64_t columns);

class DynamicWriter {
 public:
  DynamicWriter(graph::Graph& graph, graph::Names& names) : graph_(graph), names_(names) {}

  // Returns the nodes that replace `node`, whose inputs have their final names.
  std::vector<graph::Node> write(const graph::Node& node, const DynamicLayer& dynamic);

 private:
  std::vector<graph::Node> write_linear(const graph::Node& node, const DynamicLayer& dynamic);
  std::vector<graph::Node> write_lstm(const graph::Node& node, const DynamicLayer& dynamic);
  std::vector<graph::Node> write_attention(const graph::Node& node, const DynamicLayer& dynamic);
  struct QuantizedNames {
    std::string value, scale, zero_point;  // zero_point: empty if it is 0
  };
  std::string constant(graph::Tensor tensor, const std::string& name);
  std::string number(float value, const std::string& name);
  std::string scales(const graph::Node& node, const Constant& weight);
  QuantizedNames weight(const graph::Node& node, const Constant& weight);
  QuantizedNames gates(const Constant& weight);
  QuantizedNames data(const std::string& value, bool symmetric, bool signed_data,
                      std::vector<graph::Node>& nodes);
  QuantizedNames symmetric_about_zero(const std::string& value, bool signed_data,
                                      std::vector<graph::Node>& nodes);
  QuantizedNames asymmetric_min_max(const std::string& value, bool signed_data,
                                    std::vector<graph::Node>& nodes);
  std::string extreme(const char* op, const std::string& of, const std::string& about,
                      std::vector<graph::Node>& nodes);
  std::string step(const std::string& range, float steps, const std::string& about,
                   std::vector<graph::Node>& nodes);
  std::string spread(const std::string& bias, std::size_t axes, const std::string& about,
                     std::vector<graph::Node>& nodes);
  std::string apply(const char* op, std::vector<std::string> inputs, const std::string& about,
                    std::vector<graph::Node>& nodes, std::string output = {});

  graph::Graph& graph_;
  graph::Names& names_;
  std::map<std::string, QuantizedNames> weights_, data_;  // shared between nodes, by their parameters
};

}  // namespace anybit::lower
