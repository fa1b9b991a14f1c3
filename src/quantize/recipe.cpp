#include "quantize/recipe.hpp"

#include <set>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/recipe_foreign.hpp"
#include "quantize/recipe_onnx_mlir.hpp"
#include "quantize/yaml_place.hpp"
#include "refine/table.hpp"
#include "train/options.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::size_t kLongest = 1 << 20;  // bytes of a recipe

Error unknown_key(const YAML::Node& node, std::span<const std::string_view> known) {
  const std::string key = node.IsScalar() ? node.Scalar() : std::string("?");
  const std::string meant = did_you_mean(key, known);
  return at(node, invalid_argument(fmt::format("unknown key '{}'", shown(key)),
                                   meant.empty() ? fmt::format("one of {}", fmt::join(known, ", ")) : meant));
}

Result<std::string> scalar(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar()) return node.Scalar();
  return at(node, invalid_argument(fmt::format("{} must be a single word", what)));
}

Result<bool> yes_or_no(const YAML::Node& node, const std::string& key) {
  bool yes = false;
  if (YAML::convert<bool>::decode(node, yes)) return yes;
  return at(node,
            invalid_argument(fmt::format("{}: '{}'", key, shown(TRY(scalar(node, key)))), "true or false"));
}

// YAML does not define which of two equal keys is used.
Result<void> check_keys(const YAML::Node& map) {
  std::set<std::string> seen;
  for (const auto& pair : map) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    if (!seen.insert(key).second)
      return at(pair.first, invalid_argument(fmt::format("'{}' is given twice", shown(key)), "once"));
  }
  return {};
}

bool is_number_key(std::string_view key) { return key == "scale" || key == "zero_point" || key == "range"; }

// A number or a list of numbers as a word; a range has two.
Result<std::string> number_words(const std::string& key, const YAML::Node& value) {
  if (value.IsScalar()) return fmt::format(" {} {}", key, value.Scalar());
  if (!value.IsSequence()) return at(value, invalid_argument(fmt::format("{}: numbers", key), "[0.5, 0.25]"));
  std::vector<std::string> all;
  for (const auto& one : value) all.push_back(TRY(scalar(one, key)));
  return fmt::format(" {} {}", key, fmt::join(all, key == "range" ? " " : ","));
}

// Converts a map for an affine format to the words that parse_spec() reads.
Result<std::string> affine_words(const YAML::Node& map) {
  static constexpr std::string_view kKeys[] = {"format",   "symmetric",  "granularity", "block_size",
                                               "observer", "percentile", "dynamic",     "narrow",
                                               "scale",    "zero_point", "range"};
  std::string words, block;
  for (const auto& pair : map) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    if (is_number_key(key)) {
      words += TRY(number_words(key, pair.second));
      continue;
    }
    const std::string value = TRY(scalar(pair.second, key));
    if (key == "symmetric") {
      words += TRY(yes_or_no(pair.second, key)) ? " sym" : " asym";
    } else if (key == "granularity") {
      if (value != "block") words += " " + value;
      if (value == "block" && block.empty()) block = " block";
    } else if (key == "block_size") {
      block = " block " + value;
    } else if (key == "observer") {
      words += " " + value;
    } else if (key == "percentile") {
      words += " percentile " + value;
    } else if (key == "dynamic") {
      if (TRY(yes_or_no(pair.second, key))) words += " dynamic";
    } else if (key == "narrow") {
      if (!TRY(yes_or_no(pair.second, key))) words += " full";
    } else if (key != "format") {
      return unknown_key(pair.first, kKeys);
    }
  }
  return words + block;
}

bool is_real(const YAML::Node& node) {
  double value = 0;
  return YAML::convert<double>::decode(node, value);
}

// Does the same for any other format: every key is one of its parameters.
Result<std::string> packed_words(const YAML::Node& map) {
  std::string words;
  for (const auto& pair : map) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    if (key == "format") continue;
    // `scale` may also be a parameter of the format, which is a word.
    const bool numbers =
        is_number_key(key) && (key != "scale" || !pair.second.IsScalar() || is_real(pair.second));
    words += numbers ? TRY(number_words(key, pair.second))
                     : fmt::format(" {}={}", key, TRY(scalar(pair.second, key)));
  }
  return words;
}

// {format: int8, symmetric: true, …}
Result<std::string> words_of_map(const YAML::Node& map) {
  TRY(check_keys(map));
  const YAML::Node format = map["format"];
  if (!format || !format.IsScalar())
    return at(map, invalid_argument("no format is named", "{format: int8, …}"));
  auto bare = parse_spec(format.Scalar());
  if (!bare.ok()) return at(format, std::move(bare).error());
  return format.Scalar() +
         (bare->is_integer() && bare->has_own_type() ? TRY(affine_words(map)) : TRY(packed_words(map)));
}

Result<Spec> spec_of_map(const YAML::Node& map) {
  auto spec = parse_spec(TRY(words_of_map(map)));
  if (!spec.ok()) return at(map, std::move(spec).error());
  return spec;
}

Result<Spec> spec_of(const YAML::Node& node) {
  if (node.IsMap()) return spec_of_map(node);
  if (node.IsNull()) return Spec{};
  auto spec = parse_spec(TRY(scalar(node, "how a tensor is stored")));
  if (!spec.ok()) return at(node, std::move(spec).error());
  return spec;
}

// The specs of an operator's parts. An error if a word has no effect there.

Result<void> check_given_weights(const YAML::Node& node, const Spec& spec) {
  if (spec.is_integer() && spec.has_own_type() && spec.granularity() != Granularity::block) return {};
  return at(node, invalid_argument(fmt::format("'{}': given numbers are for weights of int2, int4, int8 or "
                                               "int16 with a scale for the tensor or each channel",
                                               to_string(spec)),
                                   "int8 sym channel scale …"));
}

Result<Spec> weight_spec(const YAML::Node& node) {
  Spec spec = TRY(spec_of(node));
  if (spec.observer != "minmax")
    return at(node,
              invalid_argument(
                  fmt::format("'{}' is an observer of activations; weights use the range of their values",
                              spec.observer),
                  fmt::format("weights without it, or activations: … {}", spec.observer)));
  if (spec.is_given()) {
    TRY(check_given_weights(node, spec));
    return spec;
  }
  if (spec.is_dynamic())
    return at(node, invalid_argument("weights are constant: they cannot be dynamic",
                                     "weights without it, or activations: … dynamic"));
  spec.source = Spec::Source::values;
  return spec;
}

// Dynamic quantization supports 8-bit integers.
Result<void> check_dynamic(const YAML::Node& node, const Spec& spec) {
  if (!spec.is_dynamic()) return {};
  if (spec.is_integer() && spec.has_own_type() && spec.format() != "int8" && spec.format() != "uint8")
    return at(node, invalid_argument(fmt::format("'{}': dynamic quantization has 8 bits", to_string(spec)),
                                     "uint8 asym dynamic, int8 sym dynamic, …; or static, without dynamic"));
  if (spec.observer != "minmax")
    return at(node,
              invalid_argument(
                  fmt::format("'{}' is an observer, which dynamic quantization does not use", spec.observer),
                  "one of the two words"));
  return {};
}

Result<Spec> data_spec(const YAML::Node& node) {
  Spec spec = TRY(spec_of(node));
  if (!spec.is_float() && spec.source == Spec::Source::values) spec.source = Spec::Source::runtime;
  if (spec.is_integer() && spec.granularity() != Granularity::tensor) {
    const bool blocks = spec.granularity() == Granularity::block;
    const std::string given = to_string(spec);
    spec.set_granularity(Granularity::tensor);
    return at(node,
              invalid_argument(fmt::format("'{}': activations have one scale per tensor, not one per {}",
                                           given, blocks ? "block" : "channel"),
                               to_string(spec)));
  }
  TRY(check_dynamic(node, spec));
  return spec;
}

// In integer operators a bias is added to int32 accumulators.
Result<Spec> bias_spec(const YAML::Node& node) {
  constexpr const char* kSums = "int32";
  if (node.IsScalar() && node.Scalar() == kSums) {
    Spec sums;
    sums.use.format = kSums;
    return sums;
  }
  const Spec spec = TRY(spec_of(node));
  if (spec.is_integer() && spec.has_own_type())
    return at(node,
              invalid_argument(fmt::format("a bias of {}: it is added to 32-bit accumulators", spec.format()),
                               "bias: int32, or bias: float"));
  return spec;
}

Scheme all_float() { return {Spec{}, Spec{}, Spec{}, Spec{}}; }

// {bias-correction: {samples: 16}, …}
Result<void> add_refinements(const YAML::Node& map, RefinementReader& reader) {
  TRY(check_keys(map));
  for (const auto& pair : map) {
    RefinementReader::Given parameters;
    if (pair.second.IsMap()) {
      TRY(check_keys(pair.second));
      for (const auto& one : pair.second) {
        const std::string key = TRY(scalar(one.first, "a key"));
        parameters.emplace_back(key, TRY(scalar(one.second, key)));
      }
    } else if (!pair.second.IsNull() && find_refinement(pair.first.Scalar())) {
      return at(pair.second,
                invalid_argument("parameters of a refinement are a map",
                                 fmt::format("{}: {{samples: 16}}", shown(pair.first.Scalar()))));
    }
    auto added = reader.add(pair.first.Scalar(), parameters);
    if (!added.ok()) return at(pair.first, std::move(added).error());
  }
  return {};
}

// A name, names separated by commas, a map from names to parameters, or a list of those.
Result<std::vector<Refinement>> refine_of(const YAML::Node& node) {
  RefinementReader reader;
  const auto add = [&](const YAML::Node& one) -> Result<void> {
    if (one.IsMap()) return add_refinements(one, reader);
    if (!one.IsScalar()) return at(one, invalid_argument("refine: a list of names", refinement_names()));
    auto added = reader.add_text(one.Scalar());
    if (!added.ok()) return at(one, std::move(added).error());
    return {};
  };
  if (!node.IsSequence()) TRY(add(node));
  for (std::size_t i = 0; node.IsSequence() && i < node.size(); ++i) TRY(add(node[i]));
  return reader.take();
}

// One of the schemes of `choose`: float, or weights and activations of 8 bits, dynamic.
Result<Alternative> alternative_of(const YAML::Node& node) {
  constexpr const char* kForm = "float, or {weights: int8 sym tensor, activations: int8 asym dynamic}";
  if (node.IsScalar() && node.Scalar() == "float") return Alternative{};
  if (!node.IsMap()) return at(node, invalid_argument("choose: an alternative is a scheme", kForm));
  TRY(check_keys(node));
  Alternative one;
  for (const auto& pair : node) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    static constexpr std::string_view kKeys[] = {"weights", "activations"};
    if (key == "weights")
      one.weight = TRY(weight_spec(pair.second));
    else if (key == "activations")
      one.data = TRY(data_spec(pair.second));
    else
      return unknown_key(pair.first, kKeys);
  }
  if (!one.data.is_dynamic() || !one.data.is_integer() || !one.weight.is_integer())
    return at(node, invalid_argument("choose: alternatives are float or dynamic 8-bit integers", kForm));
  return one;
}

Result<std::vector<Alternative>> alternatives_of(const YAML::Node& list) {
  constexpr std::size_t kMost = 16;
  if (!list.IsSequence() || list.size() < 2 || list.size() > kMost)
    return at(list,
              invalid_argument("choose: a list of 2 to 16 schemes", "[{weights: …, activations: …}, float]"));
  std::vector<Alternative> all;
  for (const auto& one : list) all.push_back(TRY(alternative_of(one)));
  if (all.front().data.is_float())
    return at(list, invalid_argument("choose: float is the last alternative",
                                     "[{weights: …, activations: …}, float]"));
  return all;
}

Result<Scheme> scheme_of_map(const YAML::Node& map) {
  static constexpr std::string_view kKeys[] = {"weights",  "activations", "weight", "bias",         "data_in",
                                               "data_out", "compute",     "refine", "reduce_range", "choose"};
  TRY(check_keys(map));
  for (const char* part : {"weights", "weight", "activations", "data_in", "data_out"}) {
    if (map["choose"] && map[part])
      return at(map[part], invalid_argument(fmt::format("'{}' beside 'choose'", part), "one of the two"));
  }
  Scheme scheme;
  for (const auto& pair : map) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    if (key == "compute") {
      scheme.compute = TRY(scalar(pair.second, key));
      if (scheme.compute != "float32" && scheme.compute != "float16" && scheme.compute != "int8")
        return at(pair.second, invalid_argument(fmt::format("compute: {}", shown(*scheme.compute)),
                                                "float32, float16 or int8"));
      continue;
    }
    if (key == "refine") {
      scheme.refine = TRY(refine_of(pair.second));
      continue;
    }
    if (key == "choose") {
      scheme.choose = TRY(alternatives_of(pair.second));
      scheme.set(scheme.choose->front());
      continue;
    }
    if (key == "reduce_range") {
      scheme.reduce_range = TRY(scalar(pair.second, key));
      if (scheme.reduce_range != "none" && scheme.reduce_range != "pairs")
        return at(pair.second, invalid_argument(fmt::format("reduce_range: {}", shown(*scheme.reduce_range)),
                                                "pairs or none"));
      continue;
    }
    if (key == "weights" || key == "weight") {
      scheme.weight = TRY(weight_spec(pair.second));
    } else if (key == "activations") {
      scheme.data_in = scheme.data_out = TRY(data_spec(pair.second));
    } else if (key == "bias") {
      scheme.bias = TRY(bias_spec(pair.second));
    } else if (key == "data_in") {
      scheme.data_in = TRY(data_spec(pair.second));
    } else if (key == "data_out") {
      scheme.data_out = TRY(data_spec(pair.second));
    } else {
      return unknown_key(pair.first, kKeys);
    }
  }
  return scheme;
}

// "float", the name of a preset, or a map of parts.
Result<Scheme> scheme_of(const YAML::Node& node) {
  if (node.IsMap()) return scheme_of_map(node);
  if (node.IsNull()) return all_float();
  const std::string word = TRY(scalar(node, "what to do"));
  if (word == "float" || word == "float32" || word == "none" || word == "None") return all_float();
  auto preset = find_recipe(word);
  if (!preset.ok()) return at(node, std::move(preset).error());
  return preset->rules.front().scheme;
}

// Graph inputs and outputs have neither weights nor biases.
Result<void> check_io(const YAML::Node& value) {
  if (!value.IsMap()) return {};
  for (const auto& pair : value) {
    const std::string key = TRY(scalar(pair.first, "a key"));
    if (key != "activations" && key != "data_in" && key != "data_out")
      return at(pair.first, invalid_argument(fmt::format("io: inputs and outputs have no '{}'", shown(key)),
                                             "activations, data_in (of inputs) or data_out (of outputs)"));
  }
  return {};
}

// A rule for a tensor, which modifies the spec that other rules give it.
Result<Rule> tensor_rule(std::string name, const YAML::Node& node) {
  Rule rule{Rule::Kind::tensor, std::move(name), {}, line_of(node)};
  if (node.IsMap())
    rule.words = TRY(node["format"] ? words_of_map(node) : affine_words(node));
  else
    rule.words = TRY(scalar(node, "how a tensor is quantized"));
  TRY(check_tensor_words(rule.words, node));
  return rule;
}

// true, or a map of options.
Result<formats::Values> training_of(const YAML::Node& node) {
  formats::Values values;
  if (node.IsScalar() && node.Scalar() == "true") return values;
  if (!node.IsMap())
    return at(node, invalid_argument("train: true, or a map", "train: {steps: 1000, loss: kl}"));
  TRY(check_keys(node));
  for (const auto& pair : node) {
    const std::string name = TRY(scalar(pair.first, "a key"));
    auto value = formats::parse("training", train::option_list(), name, TRY(scalar(pair.second, name)));
    if (!value.ok()) return at(pair.first, std::move(value).error());
    values[name] = *std::move(value);
  }
  if (auto checked = train::options_of(values); !checked.ok()) return at(node, std::move(checked).error());
  return values;
}

Result<void> add_rules(const YAML::Node& key, const YAML::Node& value, Recipe& recipe) {
  static constexpr std::string_view kKeys[] = {"global", "io", "type", "name", "regex", "tensor", "train"};
  const std::string what = TRY(scalar(key, "a key"));
  if (std::string_view(what) == "train") {
    recipe.train = TRY(training_of(value));
    return {};
  }
  if (std::string_view(what) == "TensorQuantOverrides") {
    for (Rule& rule : TRY(read_tensor_overrides(value))) recipe.rules.push_back(std::move(rule));
    return {};
  }
  for (const Rule::Kind kind : {Rule::Kind::global, Rule::Kind::type, Rule::Kind::regex, Rule::Kind::name,
                                Rule::Kind::io, Rule::Kind::tensor}) {
    if (what != name_of(kind)) continue;
    if (kind == Rule::Kind::io) TRY(check_io(value));
    if (kind == Rule::Kind::global || kind == Rule::Kind::io) {
      Scheme scheme = TRY(scheme_of(value));
      recipe.rules.push_back({kind, {}, std::move(scheme), line_of(key)});
      return {};
    }
    if (!value.IsMap())
      return at(value, invalid_argument(fmt::format("'{}' is followed by a map", what),
                                        kind == Rule::Kind::tensor
                                            ? "tensor: {conv1_output: uint8 scale 0.02 zero_point 128}"
                                            : fmt::format("{}: {{Softmax: float}}", what)));
    for (const auto& pair : value) {
      std::string pattern = TRY(scalar(pair.first, "a pattern"));
      if (kind == Rule::Kind::tensor) {
        recipe.rules.push_back(TRY(tensor_rule(std::move(pattern), pair.second)));
        continue;
      }
      Scheme scheme = TRY(scheme_of(pair.second));
      recipe.rules.push_back({kind, std::move(pattern), std::move(scheme), line_of(pair.first)});
    }
    return {};
  }
  return unknown_key(key, kKeys);
}

// Adds the lines of the rules for later messages, unless the recipe is a single line.
void name_places(Recipe& recipe, std::string_view text) {
  const bool lines = text.find('\n') < text.find_last_not_of(" \n");
  for (Rule& rule : recipe.rules)
    rule.place = lines ? fmt::format("{}: {}", recipe.name, rule.place) : recipe.name;
}

}  // namespace

std::string choice_key(std::string_view place, const std::vector<std::string>& outputs) {
  return fmt::format("{}\n{}", place, outputs.empty() ? std::string() : outputs[0]);
}

std::string_view name_of(Rule::Kind kind) {
  static constexpr std::string_view kNames[] = {"global", "type", "where", "regex", "name", "io", "tensor"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<void> check_tensor_words(const std::string& words, const YAML::Node& place) {
  auto checked = parse_spec(words, TRY(parse_spec("int8 asym")));
  if (!checked.ok()) return at(place, std::move(checked).error());
  if (checked->is_float())
    return at(place, invalid_argument("a rule for a tensor says how it is quantized, not whether",
                                      "name: {NODE: float} leaves a node in float"));
  if (checked->is_dynamic())
    return at(place, invalid_argument("a rule for a tensor cannot be dynamic", "without 'dynamic'"));
  return {};
}

Result<Recipe> read_recipe(const std::string& text, std::string name) {
  if (text.size() > kLongest)
    return error_at(Code::limit_exceeded, {}, fmt::format("a recipe of {} bytes", text.size()), "up to 1 MB");
  Recipe recipe{std::move(name), {}};
  // yaml-cpp throws exceptions, which end here.
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return invalid_argument("a recipe is a map of rules", "global: int8");
    if (is_mase(root)) {
      recipe.rules = TRY(read_mase(root));
    } else if (is_quark(root)) {
      recipe.rules = TRY(read_quark(root));
    } else if (is_onnx_mlir(root)) {
      TRY(read_onnx_mlir(root, recipe));
    } else {
      for (const auto& pair : root) TRY(add_rules(pair.first, pair.second, recipe));
    }
  } catch (const YAML::Exception& thrown) {
    return error_at(Code::malformed, fmt::format("line {}", thrown.mark.line + 1), thrown.msg);
  }
  if (recipe.rules.empty()) return invalid_argument("the recipe has no rules", "global: int8");
  name_places(recipe, text);
  return recipe;
}

Result<Rule> read_rule(const std::string& kind, const std::string& pattern, const std::string& scheme) {
  for (const Rule::Kind one :
       {Rule::Kind::global, Rule::Kind::type, Rule::Kind::regex, Rule::Kind::name, Rule::Kind::tensor}) {
    if (kind != name_of(one)) continue;
    try {
      if (one == Rule::Kind::tensor) return tensor_rule(pattern, YAML::Load(scheme));
      Scheme read = TRY(scheme_of(YAML::Load(scheme)));
      return Rule{one, pattern, std::move(read), {}};
    } catch (const YAML::Exception& thrown) {
      return error_at(Code::malformed, {}, thrown.msg);
    }
  }
  return invalid_argument(fmt::format("no rule of kind '{}'", shown(kind)),
                          "global, type, name, regex or tensor");
}

}  // namespace anybit::quantizing
