// Which rules of a recipe hold for a node.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// What rules look at.
struct Subject {
  std::string name;                // of the node
  std::vector<std::string> types;  // its operator, and what else it is called: "Gemm", "linear"
};

// Other names of operators: `linear` is a product with constant weights, `conv2d` a Conv of that rank, …
// `rank`: of the weight; 0 if it is not known.
std::vector<std::string> types_of(const graph::Node& node, bool constant_weight, std::size_t rank);

// True if an operator has this name, or is called so elsewhere.
bool is_type(std::string_view name);

class Matcher {
 public:
  // An error if a regex is none, or a type is one that no operator has.
  static Result<Matcher> make(const Recipe& recipe);
  Matcher(Matcher&&) noexcept;
  ~Matcher();

  // What the rules make of a node: each part from the most specific rule that tells about it. Never empty:
  // what no rule tells about stays in float.
  Scheme scheme(const Subject& subject);
  // True if a rule for this node, and not for all of them, says that its data stays in float.
  bool holds_in_float(const Subject& subject) const;
  // Of the model's own inputs and outputs; nothing if no rule tells about them.
  const Scheme* io() const;
  // How a tensor that is to be quantized by `spec` is: as the rule for it says, if there is one.
  Result<Spec> tensor(const std::string& name, const Spec& spec);
  bool has_tensors() const;
  // True if a rule names this node, by its name or an expression.
  bool named(const std::string& name) const;
  // True if a rule is for every operator that can take part.
  bool covers_all() const;
  // True if a rule is for this operator, under the name that ONNX has for it or another.
  bool by_type(const std::string& op) const;
  // The rules that do either.
  std::set<std::size_t> naming(const graph::Node& node) const;

  // Rules that held for no node: an error for names and expressions; lines for the report for types.
  Result<std::vector<std::string>> unused() const;

 private:
  struct State;
  explicit Matcher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace anybit::quantizing
