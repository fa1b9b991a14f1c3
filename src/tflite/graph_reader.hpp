// One subgraph of a TFLite file as a graph under construction: values, layouts, quantization.
//
// Layouts: TFLite stores images with channels last (NHWC), ONNX's convolutions take channels first (NCHW). A
// value of three or more dimensions may exist in both; a Transpose is added when an operator asks for the
// other one, once. Operators that work in both take the layout that their input has, so transposes stay at
// the boundaries.
//
// Quantization: a quantized tensor has a stored value, of integers, and a real one behind a DequantizeLinear.
// Operators compute with real values; a result that is quantized goes through a QuantizeLinear.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "anybit/result.hpp"
#include "graph/model.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "tflite/file.hpp"
#include "tflite/tensor_info.hpp"
#include "tflite/variables.hpp"

namespace anybit::tflite {

using Dims = std::vector<std::int64_t>;

enum class Layout : std::uint8_t { as_stored, channels_first };

// The order of dimensions that Transpose takes, from channels last to channels first, and back.
Dims to_channels_first(std::int64_t rank);
Dims to_channels_last(std::int64_t rank);

class GraphReader {
 public:
  // `names`: of the whole model. `depth`: of subgraphs around this one.
  GraphReader(File& file, graph::Names& names, std::int64_t index, std::int64_t depth)
      : file_(file), names_(names), index_(index), depth_(depth) {}

  // Reads the tensors, and reserves their names.
  Result<void> open();
  File& file() { return file_; }
  graph::Names& names() { return names_; }
  std::int64_t depth() const { return depth_; }
  const wire::SubGraph& source() const { return *source_; }
  graph::Graph& graph() { return graph_; }
  Variables& variables() { return variables_; }

  Result<void> check_index(std::int64_t tensor) const;
  const TensorInfo& info(std::int64_t tensor) const { return tensors_[static_cast<std::size_t>(tensor)]; }
  bool constant(std::int64_t tensor) const { return info(tensor).constant; }
  // The layout that a value was computed in.
  Layout layout(std::int64_t tensor) const { return values_[static_cast<std::size_t>(tensor)].computed; }

  // The name of a value, in this layout: as in the file, or as real numbers if it is quantized.
  Result<std::string> stored(std::int64_t tensor, Layout layout = Layout::as_stored);
  Result<std::string> real(std::int64_t tensor, Layout layout = Layout::as_stored);
  // The real value with its dimensions first replaced by `dims` and then put into `order`: weights.
  Result<std::string> rearranged(std::int64_t tensor, const Dims& dims, const Dims& order);
  // A constant bias. Without scales of its own it has those of the sums: input scale × weight scale.
  Result<std::string> bias(std::int64_t tensor, std::int64_t input, std::int64_t weight);

  // Adds a node. The name of its result, and of its results.
  std::string emit(std::string_view op, std::vector<std::string> inputs,
                   std::vector<graph::Attribute> attributes = {}, std::string_view domain = "");
  std::vector<std::string> emit_many(std::string_view op, std::vector<std::string> inputs,
                                     std::size_t outputs, std::vector<graph::Attribute> attributes = {});
  void add(graph::Node node) { graph_.nodes.push_back(std::move(node)); }
  // Constants that an operator needs.
  std::string integers(const Dims& values);
  std::string integer(std::int64_t value);
  std::string number(float value);
  std::string add_initializer(graph::Tensor tensor, std::string_view stem);
  // Results of nodes are named after this.
  void set_stem(std::string stem) { stem_ = std::move(stem); }
  const std::string& stem() const { return stem_; }

  // A real value in the form of a tensor: quantized if the tensor is.
  Result<std::string> quantized_as(std::int64_t tensor, const std::string& real,
                                   Layout layout = Layout::as_stored);
  // Defines a tensor by a real value, which is quantized if the tensor is.
  Result<void> define(std::int64_t tensor, const std::string& value, Layout layout = Layout::as_stored);
  // Defines a tensor by a value as it is stored.
  Result<void> define_stored(std::int64_t tensor, const std::string& value,
                             Layout layout = Layout::as_stored);
  // Defines a tensor as another name of a constant.
  Result<void> define_constant(std::int64_t tensor, TensorInfo constant);

  const std::string& unique_name(std::int64_t tensor) const {
    return tensor_names_[static_cast<std::size_t>(tensor)];
  }
  // The type of a tensor as the file declares it.
  graph::Type type_of(std::int64_t tensor) const;
  // The subgraph's results under names that are their own: an output of a graph is no input or constant.
  Result<std::vector<std::string>> results();

 private:
  struct Both {  // a value in each layout; empty: not made yet
    std::string names[2];
    std::string& in(Layout layout) { return names[static_cast<std::size_t>(layout)]; }
  };
  struct Value {
    Both stored, real;
    Layout computed = Layout::as_stored;
    bool defined = false;
    bool name_used = false;  // of constants: an initializer has the tensor's name
    std::string scale, zero_point;
  };

  Value& value(std::int64_t tensor) { return values_[static_cast<std::size_t>(tensor)]; }
  Error error(std::int64_t tensor, Error error) const;
  Result<void> check_defined(std::int64_t tensor);
  Result<std::string> constant_value(std::int64_t tensor, const Dims& dims, const Dims& order);
  std::string in_layout(std::int64_t tensor, const std::string& from, Layout to);
  void add_parameters(std::int64_t tensor);
  std::string dequantized(std::int64_t tensor, const std::string& stored, std::int64_t axis);
  // Renames the result of the last node, if that is what this is and no tensor is defined by it; otherwise
  // the value keeps its name.
  std::string renamed(const std::string& value, const std::string& wanted);

  File& file_;
  graph::Names& names_;
  std::int64_t index_, depth_;
  const wire::SubGraph* source_ = nullptr;
  graph::Graph graph_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> tensor_names_;  // unique
  std::vector<Value> values_;
  std::map<std::pair<std::int64_t, std::pair<Dims, Dims>>, std::string> rearranged_;
  std::map<Dims, std::string> integers_;
  std::unordered_set<std::string> unnamed_;  // results that no tensor is defined by yet
  std::string stem_;
  Variables variables_;
};

}  // namespace anybit::tflite
