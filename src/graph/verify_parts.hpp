// The parts of the verifier, shared by its files. Rules: ONNX's IR.md ("Names", "Graphs", "Functions",
// "Tensors") and the comments in onnx.proto. Where common files violate a rule and ONNX Runtime accepts them,
// so does anybit, unless that would make walking the model unsafe.
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

// A name from the model, quoted for a message: 'name'.
std::string quoted(std::string_view name);

// The current position as a chain on the stack; its text is built only for an error.
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

// Checks that the keys are unique.
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

// Checks that names are unique and that no function calls itself, directly or indirectly.
Result<Functions> index_functions(const Model& model);
Result<void> check_calls(const Model& model, const Functions& functions, const Limits& limits);

// Shared by all nodes of one body: the main graph or a function, including the graphs inside.
struct Context {
  const Limits& limits;
  const Model& model;
  const Functions& functions;
  const Imports& imports;
  // Attributes of the function that nodes may refer to; null outside of functions.
  const std::unordered_set<std::string_view>* attributes = nullptr;
};

enum class Known { must, may };  // whether the element type must be known, as for a model's inputs

Result<void> check_type(const Type& type, Known known, const Limits& limits, const Place& place,
                        std::int64_t depth = 1);
// Checks that two types declared for one value agree, as far as both are known.
Result<void> check_agree(const Type& one, const Type& other, std::string_view name, const Place& place);
// How specific a type is; the types declared for one value are compared with the most specific one.
std::size_t knowledge(const Type& type);
Type type_of(const Tensor& tensor);
Type type_of(const SparseTensor& tensor);

Result<void> check_tensor(const Tensor& tensor, const Limits& limits, const Place& place);
Result<void> check_sparse(const SparseTensor& tensor, const Limits& limits, const Place& place);

// The names that are visible at one point. Inner graphs see names that outer graphs defined before.
class Scope {
 public:
  struct Body {  // the nodes being checked, and the index of the current one
    const std::vector<Node>* nodes;
    std::size_t current;
  };

  bool has(std::string_view name) const { return names_.contains(name); }
  // False if the name is visible already, also from an outer graph: shadowing is not allowed.
  bool define(std::string_view name);
  std::size_t mark() const { return order_.size(); }
  void forget_since(std::size_t mark);
  // "did you mean 'x'?", or empty.
  std::string suggest(std::string_view name) const;

  std::vector<Body> bodies;  // outermost first

 private:
  // Names are added one by one and freed at once; those of most models fit into this buffer.
  std::array<std::byte, 4096> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::unordered_set<std::string_view> names_{&memory_};
  std::pmr::vector<std::string_view> order_{&memory_};
};

Result<void> check_attribute(const Attribute& attribute, const Context& context, Scope& scope,
                             const Place& place, std::int64_t depth);
Result<void> check_nodes(const std::vector<Node>& nodes, const Context& context, Scope& scope,
                         const Place& place, std::int64_t depth);

// `model`: its inputs need types, and its names remain in the scope for the training graphs.
enum class Role { model, inner };
Result<void> check_graph(const Graph& graph, const Context& context, Scope& scope, const Place& place,
                         std::int64_t depth, Role role);
Result<void> check_function(const Function& function, const Context& outer);
Result<void> check_training(const TrainingInfo& training, const Context& context, Scope& scope,
                            const Place& place);

// The reason why the current node cannot use an input: it is produced later, in a cycle, or not at all.
Error undefined_input(std::size_t input, const Scope& scope, const Place& place);

}  // namespace anybit::graph::verifier
