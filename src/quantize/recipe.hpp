// Recipes: ordered lists of rules. For each part of a scheme the most specific rule wins (tensor, io, then
// name, regex, where, type, global), and among equals the later one; of `where`, the first that holds in each
// list. docs/recipes.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/condition.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

struct Rule {
  enum class Kind { global, type, where, regex, name, io, tensor };  // in order of specificity
  Kind kind = Kind::global;
  std::string pattern;  // a type, regular expression, node name or tensor name; empty for global and io
  Scheme scheme;
  std::string place;   // for messages: "mine.yaml: line 4", "recipe 'int8'"
  bool every = false;  // global: for all operators that can be quantized, not only linear operators
  std::shared_ptr<const Condition> where = {};  // for that kind
  std::optional<bool> quantize = {};            // where: what the rule says of it
  std::string words = {};  // tensor: input of parse_spec(), applied to the spec of the other rules
  bool optional = false;   // type: no remark if the model has no such operator
};

// What choose.hpp chose for a layer, and why.
struct Choice {
  Alternative scheme;
  std::string reason;
};

struct Recipe {
  std::string name;  // of the preset or file
  std::vector<Rule> rules;
  std::string target = {};                     // the target that it is for; empty: any
  std::vector<std::string> remarks = {};       // for the report
  std::map<std::string, Choice> choices = {};  // by choice_key(); more specific than every rule
  // Options of training (train/options.hpp), if the recipe asks for it.
  std::optional<formats::Values> train = {};
  // If not empty: the only nodes that are quantized, whatever the rules say of others. The rules for inputs
  // and outputs do not apply then.
  std::set<std::string> only = {};
};
// Identifies a node by its graph (GraphNotes::place) and first output.
std::string choice_key(std::string_view place, const std::vector<std::string>& outputs);

struct Preset {
  std::string_view name, summary;
  std::string_view text;  // the recipe as the text of a file
};
std::span<const Preset> presets();

// Returns a preset.
Result<Recipe> find_recipe(std::string_view preset);
// Parses YAML, of which JSON is a subset, including the dictionaries of MASE and Quark. `name` is for
// messages.
Result<Recipe> read_recipe(const std::string& text, std::string name);
// Parses one rule: `kind` is "type", "name", "regex" or "tensor"; `scheme` is the value of a pattern in a
// file.
Result<Rule> read_rule(const std::string& kind, const std::string& pattern, const std::string& scheme);

// Returns `recipe` with the conditions of a configuration file of onnx-mlir, whose nodes to quantize get the
// scheme of the recipe. An error if `file` is another recipe.
Result<Recipe> configured(const Recipe& recipe, const Recipe& file);

std::string_view name_of(Rule::Kind kind);

}  // namespace anybit::quantizing
