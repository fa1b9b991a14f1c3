// What is to be quantized, and how: an ordered list of rules. The most specific rule wins (tensor, io, then
// name, regex, type, global), part by part; among equals the later one. docs/recipes.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/spec.hpp"

namespace anybit::quantizing {

struct Rule {
  enum class Kind { global, type, regex, name, io, tensor };  // the more specific, the later
  Kind kind = Kind::global;
  std::string pattern;  // a type, an expression, a name, that of a tensor; empty for global and io
  Scheme scheme;
  std::string place;       // for messages: "mine.yaml: line 4", "recipe 'int8'"
  bool every = false;      // global: for all operators that can take part, not for products alone
  std::string words = {};  // tensor: what parse_spec() reads, on what the other rules say
};

struct Recipe {
  std::string name;  // of the preset or the file
  std::vector<Rule> rules;
};

struct Preset {
  std::string_view name, summary;
  std::string_view text;  // the recipe, as a file would have it
};
std::span<const Preset> presets();

// By the name of a preset.
Result<Recipe> find_recipe(std::string_view preset);
// YAML, of which JSON is a part; also the dictionaries of MASE and Quark. `name` is for messages.
Result<Recipe> read_recipe(const std::string& text, std::string name);
// One rule: `kind` is "type", "name", "regex" or "tensor"; `scheme` is what a file would have behind the
// pattern.
Result<Rule> read_rule(const std::string& kind, const std::string& pattern, const std::string& scheme);

std::string_view name_of(Rule::Kind kind);

}  // namespace anybit::quantizing
