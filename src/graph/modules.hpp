// The modules of PyTorch that a node comes from. torch.onnx leaves them in the metadata of nodes, as Python
// lists of text: `pkg.torch.onnx.name_scopes` and `pkg.torch.onnx.class_hierarchy`.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

struct Module {
  std::string path;        // "blocks.sub"; empty for the outermost
  std::string class_name;  // "models.Block"; empty if unknown
};

// Outermost first; empty if the metadata has none.
std::vector<Module> modules_of(const Node& node);

// Writes the metadata that modules_of() reads.
void set_modules(Node& node, std::span<const Module> modules);

// Copies the metadata of the modules of another node, unless the node has its own; and its size.
void take_modules(Node& node, const Node& from);
std::int64_t module_bytes(const Node& node);

// The classes of all modules that nodes of the model come from, in every graph.
std::set<std::string, std::less<>> module_classes(const Model& model);

// The name of a node as a path with slashes: "blocks.0" and "/blocks/0" are the same. The TorchScript
// exporter repeats the path of children of a Sequential: "/blocks/blocks.0/conv" is "blocks/0/conv".
std::string module_path(std::string_view name);

}  // namespace anybit::graph
