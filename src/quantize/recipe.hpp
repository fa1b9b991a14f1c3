// Recipes: ordered lists of rules. For each part of a scheme the most specific rule wins (tensor, io, then
// name, regex, type, global), and among equals the later one. docs/recipes.md.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/spec.hpp"

namespace anybit::quantizing {

struct Rule {
  enum class Kind { global, type, regex, name, io, tensor };  // in order of specificity
  Kind kind = Kind::global;
  std::string pattern;  // a type, regular expression, node name or tensor name; empty for global and io
  Scheme scheme;
  std::string place;       // for messages: "mine.yaml: line 4", "recipe 'int8'"
  bool every = false;      // global: for all operators that can be quantized, not only linear operators
  std::string words = {};  // tensor: input of parse_spec(), applied to the spec of the other rules
};

struct Recipe {
  std::string name;  // of the preset or file
  std::vector<Rule> rules;
  // If not empty: the only nodes that are quantized, whatever the rules say of others. The rules for inputs
  // and outputs do not apply then.
  std::set<std::string> only = {};
};

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

std::string_view name_of(Rule::Kind kind);

}  // namespace anybit::quantizing
