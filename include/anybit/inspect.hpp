// What a model is: its interface, its parameters, its work, how it is quantized. Plain values, for people and
// programs.
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

struct InspectOptions {
  std::map<std::string, std::vector<std::int64_t>> input_shapes;  // fixes the shape of an input
  std::map<std::string, std::int64_t> dims;  // fixes a symbolic dimension, wherever it occurs
};

struct Inspection {
  struct Dimension {
    std::optional<std::int64_t> size;
    std::string symbol;  // the name of an unknown one; may be empty
  };
  struct Value {
    std::string name;
    std::string type;          // as a person would write it: "float32[1, 3, height, ?]", "seq(int64[])"
    std::string element_type;  // "float32"; empty if it is not a tensor, or not known
    std::optional<std::vector<Dimension>> shape;  // nothing: not even the rank is known
  };
  struct Entry {
    std::string key, value;
  };
  struct Opset {
    std::string domain;  // "ai.onnx" for ONNX's own
    std::int64_t version = 0;
  };
  // Initializers and Constant nodes, in all graphs and functions.
  struct Parameters {
    std::string type;
    std::int64_t tensors = 0, elements = 0, bytes = 0;
  };
  struct Operator {
    std::string domain, name;
    std::int64_t nodes = 0;
    std::int64_t parameters =
        0;  // elements of the constants that only these nodes use, through casts and the like
    std::int64_t parameter_bytes = 0;
    std::int64_t macs = 0;
    std::int64_t unknown_macs = 0;  // nodes whose multiply-accumulates depend on shapes that are not known
    bool known = true;              // anybit knows the operator, or the model defines it
  };
  struct Node {
    std::string name, domain, op;
    std::string graph;  // where it is: empty in the model's own graph
    std::vector<std::string> inputs;
    std::vector<Value> outputs;
    bool multiplies = false;
    std::optional<std::int64_t> macs;  // of one run
    std::optional<std::int64_t>
        runs;  // for one run of the model; nothing if only the data tell. 0: a cheaper branch
    std::int64_t parameters = 0;
  };
  // Tensors that are quantized in the same way.
  struct Quantized {
    std::string role;         // "weight", "bias", "activation"
    std::string type;         // "int8", "uint4", "float8e4m3fn"
    std::string granularity;  // "tensor", "channel", "block"
    std::int64_t block = 0;   // elements that share a scale, for "block"
    std::string symmetry;     // "symmetric", "asymmetric", or empty if the zero points are not constants
    std::string scale;        // "constant"; "dynamic": found when the model runs
    std::string by;           // the operator that says so: "DequantizeLinear", "QLinearConv", …
    std::int64_t tensors = 0, elements = 0;
  };
  struct Subgraph {
    std::string place;
    std::int64_t depth = 0, nodes = 0;
  };
  struct Function {
    std::string domain, name, overload;
    std::int64_t nodes = 0, calls = 0;
  };
  struct DataFile {
    std::string location;
    std::int64_t tensors = 0, bytes = 0;
  };
  struct Training {
    std::int64_t initialization_nodes = 0, algorithm_nodes = 0, bindings = 0;
  };

  std::string path;
  std::int64_t file_bytes = 0;  // of the model file; external data comes on top
  std::int64_t ir_version = 0;
  std::optional<std::int64_t> model_version;
  std::string producer, producer_version, domain, graph_name, doc;
  std::vector<Opset> opsets;
  std::vector<Entry> metadata;
  std::vector<Value> inputs, outputs;
  std::vector<Parameters> parameters;  // largest first
  std::int64_t parameter_elements = 0, parameter_bytes = 0;
  std::int64_t node_count = 0;  // subgraphs included, functions not
  std::int64_t macs = 0;
  std::int64_t unknown_macs = 0;    // nodes that multiply, but whose shapes are not known
  std::int64_t unknown_loops = 0;   // nodes in loops of unknown length, counted once
  std::int64_t unknown_shapes = 0;  // nodes with an output whose shape is not fully known
  std::vector<Operator> operators;  // most work first
  std::vector<Node> nodes;
  std::vector<Quantized> quantized;
  std::vector<Subgraph> subgraphs;
  std::vector<Function> functions;
  std::vector<DataFile> data_files;
  std::vector<Training> training;
  std::vector<Error> problems;  // Model::remarks(), and nodes that cannot work as they are
};

// Fails only if the options do not fit the model.
ANYBIT_API Result<Inspection> inspect(const Model& model, const InspectOptions& options = {}) noexcept;

}  // namespace anybit
