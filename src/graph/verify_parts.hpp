// The parts of the verifier, which its files share. Rules: ONNX's IR.md ("Names", "Graphs", "Functions",
// "Tensors"), onnx.proto's comments; where files in use are sloppy and ONNX Runtime takes them, so do we,
// unless it would make walking the model unsafe.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::graph::verifier {

// A name from the model in a message: 'name'.
std::string quoted(std::string_view name);

// Where we are, as a chain on the stack: its text is only made when there is an error.
class Place {
 public:
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  Place(const Place* outer, std::string_view word, std::string_view name = {}, std::size_t index = kNoIndex)
      : outer_(outer), word_(word), name_(name), index_(index) {}
  Place(const Place* outer, const Node& node, std::size_t index)
      : outer_(outer), node_(&node), index_(index) {}

  // "graph 'main' > node '/if' (If) > then_branch > node 3 (Add)"
  std::string text() const;
  Error invalid(std::string message, std::string hint = {}) const;
  Error limit(std::string message) const;

 private:
  std::string step() const;
  const Place* outer_;
  std::string_view word_, name_;
  const Node* node_ = nullptr;
  std::size_t index_ = kNoIndex;
};

// Domain to version; "" for ONNX's own.
using Imports = std::unordered_map<std::string_view, std::int64_t>;
Result<Imports> check_imports(const std::vector<OpsetImport>& opsets, const Place& place);

// Are the keys different from each other?
Result<void> check_properties(const std::vector<Property>& properties, const Place& place,
                              std::string_view what);

struct FunctionKey {
  std::string_view domain, name, overload;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};
struct FunctionHash {
  std::size_t operator()(const FunctionKey& key) const;
};
using Functions = std::unordered_map<FunctionKey, std::size_t, FunctionHash>;  // to its index in the model
FunctionKey key_of(const Function& function);
FunctionKey key_of(const Node& node);

// Unique names, and no function that calls itself by whatever way.
Result<Functions> index_functions(const Model& model);
Result<void> check_calls(const Model& model, const Functions& functions, const Limits& limits);

// What all nodes of one body (the model's graph or a function, with the graphs inside them) have in common.
struct Context {
  const Limits& limits;
  const Model& model;
  const Functions& functions;
  const Imports& imports;
  // Names of the function's attributes that nodes may refer to; null outside of functions.
  const std::unordered_set<std::string_view>* attributes = nullptr;
};

enum class Known { must, may };  // be known: the element type, for a model's inputs

Result<void> check_type(const Type& type, Known known, const Limits& limits, const Place& place,
                        std::int64_t depth = 1);
// Do two statements about one value agree, as far as both know?
Result<void> check_agree(const Type& one, const Type& other, std::string_view name, const Place& place);
// How much a type says; among statements about one value, the others are compared with the most telling one.
std::size_t knowledge(const Type& type);
Type type_of(const Tensor& tensor);
Type type_of(const SparseTensor& tensor);

Result<void> check_tensor(const Tensor& tensor, const Limits& limits, const Place& place);
Result<void> check_sparse(const SparseTensor& tensor, const Limits& limits, const Place& place);

// The names that can be used at one point. Inner graphs see what outer ones defined before them.
class Scope {
 public:
  struct Body {  // nodes that are being checked, and which of them it is at
    const std::vector<Node>* nodes;
    std::size_t current;
  };

  bool has(std::string_view name) const { return names_.contains(name); }
  // False if it is there already, be it from an outer graph: a name means one thing wherever it can be seen.
  bool define(std::string_view name);
  std::size_t mark() const { return order_.size(); }
  void forget_since(std::size_t mark);
  // "did you mean 'x'?", or nothing.
  std::string suggest(std::string_view name) const;

  std::vector<Body> bodies;  // outermost first

 private:
  // Names come by the hundred and go all at once; those of most models fit into the room.
  std::array<std::byte, 4096> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::unordered_set<std::string_view> names_{&memory_};
  std::pmr::vector<std::string_view> order_{&memory_};
};

Result<void> check_attribute(const Attribute& attribute, const Context& context, Scope& scope,
                             const Place& place, std::int64_t depth);
Result<void> check_nodes(const std::vector<Node>& nodes, const Context& context, Scope& scope,
                         const Place& place, std::int64_t depth);

// `model`: its inputs need types, and its names stay in the scope for the training graphs.
enum class Role { model, inner };
Result<void> check_graph(const Graph& graph, const Context& context, Scope& scope, const Place& place,
                         std::int64_t depth, Role role);
Result<void> check_function(const Function& function, const Context& outer);
Result<void> check_training(const TrainingInfo& training, const Context& context, Scope& scope,
                            const Place& place);

// Why the node that the scope is at cannot use an input: produced later, in a cycle, or by nobody.
Error undefined_input(std::size_t input, const Scope& scope, const Place& place);

}  // namespace anybit::graph::verifier
