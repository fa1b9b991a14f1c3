// Finds the rules of a recipe that apply to a node.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// The properties of a node that rules match.
struct Subject {
  std::string name;                       // of the node
  std::vector<std::string> types;         // its operator and other names: "Gemm", "linear"
  std::string module = {};                // the innermost module that it comes from: "blocks.sub"
  std::vector<std::string> classes = {};  // of the modules that it comes from: "models.Block"
  const ops::NodeFacts* facts = nullptr;  // its inputs and outputs; null: unknown
};

// `constant_weight`: whether the operator, if it is linear, has constant weights. `rank`: of the weight; 0 if
// unknown.
Subject subject_of(const graph::Node& node, bool constant_weight, std::size_t rank);

// Returns true if this is the name of an operator in ONNX or another framework.
bool is_type(std::string_view name);

// Classes of modules: graph::module_classes().
using Classes = std::set<std::string, std::less<>>;

class Matcher {
 public:
  // An error if a regular expression is invalid or a type is unknown. `classes`: of the modules that nodes of
  // the model come from; they are types, too.
  static Result<Matcher> make(const Recipe& recipe, const Classes& classes = {});
  Matcher(Matcher&&) noexcept;
  ~Matcher();

  // Returns the scheme of a node: each part from the most specific rule that sets it. All parts are set; the
  // default is float.
  Scheme scheme(const Subject& subject);
  // Returns what was chosen for a node, which replaces its scheme; null if there was no choice.
  const Choice* choice(const std::string& key) const;
  // Returns true if a rule that is specific to this node sets its activations to float.
  bool holds_in_float(const Subject& subject) const;
  // Returns the rule for graph inputs and outputs; null if there is none.
  const Scheme* io() const;
  // Returns the spec of a tensor: `spec`, modified by the rule for the tensor if there is one.
  Result<Spec> tensor(const std::string& name, const Spec& spec);
  bool has_tensors() const;
  // Returns true if rules depend on Subject::facts.
  bool needs_facts() const;
  // Returns true if a rule matches this node by name, regular expression, or a module that it comes from.
  bool named(const Subject& subject) const;
  // Returns true if a rule is for every operator that can be quantized.
  bool covers_all() const;
  // Returns true if a rule is for this operator type, by its ONNX name or another.
  bool by_type(const std::string& op) const;
  // The rules that match a node by name, type, or a module that it comes from.
  struct Naming {
    std::set<std::size_t> rules;
    bool itself = false;  // one of them is for the node by itself, not for a module
  };
  Naming naming(const graph::Node& node) const;

  // Reports rules that matched nothing: an error for names and regular expressions, remarks for types.
  Result<std::vector<std::string>> unused() const;

 private:
  struct State;
  explicit Matcher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace anybit::quantizing
