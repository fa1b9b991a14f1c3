/// @file
/// Model inspection: inputs and outputs, operators, parameters, multiply-accumulates, and existing
/// quantization.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// anybit::InspectOptions options;
/// options.dims["batch"] = 1;
/// auto found = anybit::inspect(*model, options);
/// if (!found) return;
/// for (const auto& one : found->operators)
///   std::printf("%s: %lld nodes\n", one.name.c_str(), static_cast<long long>(one.nodes));
/// @endcode
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Options of inspect().
struct InspectOptions {
  std::map<std::string, std::vector<std::int64_t>> input_shapes;  ///< shapes of inputs, by name
  std::map<std::string, std::int64_t> dims;                       ///< sizes of symbolic dimensions, by symbol
};

/// The result of inspect().
struct Inspection {
  /// A dimension of a shape.
  struct Dimension {
    std::optional<std::int64_t> size;  ///< std::nullopt: dynamic
    std::string symbol;                ///< name of a dynamic dimension; may be empty
  };
  /// An input, output or intermediate value.
  struct Value {
    std::string name;
    std::string type;          ///< in readable form: "float32[1, 3, height, ?]", "seq(int64[])"
    std::string element_type;  ///< "float32"; empty if unknown or not a tensor
    std::optional<std::vector<Dimension>> shape;  ///< std::nullopt: unknown rank
  };
  /// A metadata entry.
  struct Entry {
    std::string key, value;
  };
  /// An opset import.
  struct Opset {
    std::string domain;  ///< "ai.onnx" for the default domain
    std::int64_t version = 0;
  };
  /// Initializers and Constant nodes of one element type, in all graphs and functions.
  struct Parameters {
    std::string type;
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  /// The nodes of one operator.
  struct Operator {
    std::string domain, name;
    std::int64_t nodes = 0;
    /// Elements of the constants that only these nodes use, directly or through casts and similar nodes.
    std::int64_t parameters = 0;
    std::int64_t parameter_bytes = 0;
    std::int64_t macs = 0;
    std::int64_t unknown_macs = 0;  ///< nodes whose multiply-accumulates depend on unknown shapes
    bool known = true;              ///< anybit implements the operator, or the model defines it as a function
  };
  /// A node.
  struct Node {
    std::string name, domain, op;
    std::string graph;  ///< the subgraph that it is in; empty for the main graph
    std::vector<std::string> inputs;
    std::vector<Value> outputs;
    bool multiplies = false;           ///< its operator has multiply-accumulates
    std::optional<std::int64_t> macs;  ///< per execution of the node
    /// Executions per run of the model; std::nullopt if it depends on the data; 0 for nodes in the cheaper
    /// branch of an If.
    std::optional<std::int64_t> runs;
    std::int64_t parameters = 0;
  };
  /// Tensors that are quantized in the same way.
  struct Quantized {
    std::string role;         ///< "weight", "bias", "activation"
    std::string type;         ///< "int8", "uint4", "float8e4m3fn"
    std::string granularity;  ///< "tensor", "channel", "block"
    std::int64_t block = 0;   ///< block size, for "block"
    std::string symmetry;     ///< "symmetric", "asymmetric"; empty if zero points are not constants
    std::string scale;        ///< "constant" or "dynamic"
    std::string by;           ///< the operator that defines it: "DequantizeLinear", "QLinearConv", …
    std::int64_t tensors = 0, elements = 0;
  };
  /// A subgraph.
  struct Subgraph {
    std::string place;  ///< node and attribute that hold it
    std::int64_t depth = 0, nodes = 0;
  };
  /// A function of the model.
  struct Function {
    std::string domain, name, overload;
    std::int64_t nodes = 0, calls = 0;
  };
  /// A file with external data.
  struct DataFile {
    std::string location;
    std::int64_t tensors = 0, bytes = 0;
  };
  /// Training information (ONNX TrainingInfoProto).
  struct Training {
    std::int64_t initialization_nodes = 0, algorithm_nodes = 0, bindings = 0;
  };

  std::string path;
  std::int64_t file_bytes = 0;  ///< of the model file, without external data
  std::int64_t ir_version = 0;
  std::optional<std::int64_t> model_version;
  std::string producer, producer_version, domain, graph_name, doc;
  std::vector<Opset> opsets;
  std::vector<Entry> metadata;
  std::vector<Value> inputs, outputs;
  std::vector<Parameters> parameters;  ///< largest first
  std::int64_t parameter_elements = 0, parameter_bytes = 0;
  std::int64_t node_count = 0;      ///< including subgraphs, excluding functions
  std::int64_t macs = 0;            ///< multiply-accumulates per run
  std::int64_t unknown_macs = 0;    ///< nodes with multiply-accumulates whose shapes are unknown
  std::int64_t unknown_loops = 0;   ///< nodes in loops of unknown trip count, which are counted once
  std::int64_t unknown_shapes = 0;  ///< nodes with an output of unknown or partly unknown shape
  std::vector<Operator> operators;  ///< most multiply-accumulates first
  std::vector<Node> nodes;
  std::vector<Quantized> quantized;
  std::vector<Subgraph> subgraphs;
  std::vector<Function> functions;
  std::vector<DataFile> data_files;
  std::vector<Training> training;
  std::vector<Error> problems;  ///< Model::remarks(), and nodes that are invalid
};

/// Inspects a model. An error only if the options do not fit the model.
ANYBIT_API Result<Inspection> inspect(const Model& model, const InspectOptions& options = {}) noexcept;

}  // namespace anybit
