// A model in memory: everything in an ONNX file, as plain values. Names connect nodes, as in the file; passes
// that need producers and consumers build an index. Everything can be copied; tensor data is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mapped_file.hpp"
#include "base/value.hpp"
#include "graph/tensor.hpp"
#include "graph/text.hpp"
#include "graph/type.hpp"

namespace anybit::graph {

struct Graph;

// A graph inside a node, copied with it.
class GraphBox {
 public:
  GraphBox();
  GraphBox(Graph graph);
  GraphBox(const GraphBox& other);
  GraphBox(GraphBox&&) noexcept;
  GraphBox& operator=(GraphBox other) noexcept;
  ~GraphBox();
  const Graph& operator*() const { return *graph_; }
  Graph& operator*() { return *graph_; }
  const Graph* operator->() const { return graph_.get(); }
  Graph* operator->() { return graph_.get(); }

 private:
  std::unique_ptr<Graph> graph_;  // null only after a move
};

// AttributeProto.AttributeType, under ONNX's own numbers.
enum class AttributeKind : std::int32_t {
  undefined = 0,
  real = 1,
  integer = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

// The alternatives follow ONNX's fields: f, i, s, t, g, sparse_tensor, tp, floats, ints, … monostate: no
// value (a reference to a function's attribute, or an empty list whose kind only `kind` gives).
using AnyAttributeValue =
    std::variant<std::monostate, float, std::int64_t, std::string, Tensor, GraphBox, SparseTensor, Type,
                 std::vector<float>, std::vector<std::int64_t>, std::vector<std::string>, std::vector<Tensor>,
                 std::vector<GraphBox>, std::vector<SparseTensor>, std::vector<Type>>;

struct Attribute {
  struct Value : AnyAttributeValue {
    using AnyAttributeValue::AnyAttributeValue;
    ANYBIT_VALUE(Value);
  };
  ANYBIT_VALUE(Attribute);
  Text name, reference, doc;         // reference: ref_attr_name, inside functions
  std::optional<std::int32_t> kind;  // absent in files older than IR 4; AttributeKind's numbers
  Value value;
  std::vector<Value> others;  // further values in the file; ONNX reads only the one that `kind` names
  Extra extra;
};

struct Node {
  ANYBIT_VALUE(Node);
  Text name, op_type, domain, overload, doc;
  std::vector<std::string> inputs, outputs;  // an empty name: an optional one that is left out
  std::vector<Attribute> attributes;
  std::vector<Property> metadata;
  std::vector<std::string> device_configurations;  // serialized; not interpreted
  Extra extra;
  // Set on nodes that were inlined, or moved by passes before a run. Not saved.
  std::optional<std::int64_t> opset;  // of its domain, if it differs from the model's: a function has its own
  std::int32_t position = -1;         // in the original graph, for messages; -1: unchanged

  const Attribute* attribute(std::string_view name) const;
};

struct ValueInfo {
  ANYBIT_VALUE(ValueInfo);
  Text name, doc;
  std::optional<Type> type;
  std::vector<Property> metadata;
  Extra extra;
};

struct QuantizationAnnotation {
  Text tensor;
  std::vector<Property> parameters;
  Extra extra;
};

struct Graph {
  ANYBIT_VALUE(Graph);
  Text name, doc;
  std::vector<Node> nodes;  // topologically sorted (checked by the verifier)
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, value_info;
  std::vector<QuantizationAnnotation> annotations;
  std::vector<Property> metadata;
  Extra extra;
};

struct OpsetImport {
  Text domain;
  std::optional<std::int64_t> version;
  Extra extra;
};

struct Function {
  ANYBIT_VALUE(Function);
  Text name, domain, overload, doc;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> default_attributes;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
  std::vector<ValueInfo> value_info;
  std::vector<Property> metadata;
  Extra extra;
};

struct TrainingInfo {
  std::optional<GraphBox> initialization, algorithm;
  std::vector<Property> initialization_bindings, update_bindings;
  Extra extra;
};

struct Model {
  ANYBIT_VALUE(Model);
  std::optional<std::int64_t> ir_version, model_version;
  Text producer, producer_version, domain, doc;
  std::vector<OpsetImport> opsets;
  std::optional<Graph> graph;  // present in a verified model
  std::vector<Function> functions;
  std::vector<TrainingInfo> training;
  std::vector<Property> metadata;
  std::vector<std::string> configurations;  // serialized device configurations; not interpreted
  Extra extra;
  // The mapped files that tensor data may lie in. After reading data, check intact() before trusting the
  // result; when moving tensors to another model, copy the sources, too.
  std::vector<std::shared_ptr<const MappedFile>> sources;
  std::shared_ptr<const MappedFile> file;  // the model's own file among them; null if there is none

  // The imported opset version of a domain; "" and "ai.onnx" are the same. Empty if the model does not import
  // it.
  std::optional<std::int64_t> opset(std::string_view domain = "") const;
};

// "" for both "" and "ai.onnx".
std::string_view canonical_domain(std::string_view domain);

// The position of a node for messages: "node '/conv1' (Conv)", or "node 17 (Conv)" if it has no name.
std::string place_of(const Node& node, std::size_t index);

}  // namespace anybit::graph
