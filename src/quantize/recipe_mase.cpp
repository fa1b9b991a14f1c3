// Recipes in the dictionaries of MASE.
#include "quantize/recipe_foreign.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/mase_schemes.hpp"
#include "quantize/yaml_place.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::string_view kParts[] = {"data_in", "weight", "bias", "data_out"};

bool is_none(const YAML::Node& node) {
  return node.IsNull() ||
         (node.IsScalar() && (node.Scalar() == "None" || node.Scalar() == "null" || node.Scalar() == "NA"));
}

// A block over the last dimensions: [1, 16] is 16 values of a row.
Result<std::string> block_size(const YAML::Node& node) {
  if (!node.IsSequence()) return word(node, "block_size");
  for (std::size_t i = 0; i + 1 < node.size(); ++i) {
    if (TRY(word(node[i], "a block's extent")) != "1")
      return at(node, error_at(Code::unsupported, {}, "a block over several rows", "[1, N]"));
  }
  if (node.size() == 0) return at(node, invalid_argument("a block of no dimensions", "[1, 16]"));
  return word(node[node.size() - 1], "a block's extent");
}

// Translates a parameter name of MASE.
std::string parameter_name(const std::string& name) {
  if (name == "frac_width") return "frac";
  if (name == "scaling_factor") return "scale";
  return name;
}

bool has_width(const formats::Descriptor& format) {
  return std::ranges::any_of(format.parameters, [](const auto& one) { return one.name == "width"; });
}

// Binary and ternary layers of MASE leave a part of 32 bits in float.
bool stays_float(const formats::Descriptor& format, const std::string& name, const YAML::Node& value) {
  return name == "width" && !has_width(format) && value.IsScalar() && value.Scalar() == "32";
}

// One parameter as a word of a spec; empty if the format implies it.
Result<std::string> parameter(const formats::Descriptor& format, const std::string& name,
                              const YAML::Node& value) {
  if (is_none(value)) return std::string();
  // blocks run along rows, independent of leading dimensions
  if (name == "skip_first_dim") return std::string();
  if (name == "block_size") return " block_size=" + TRY(block_size(value));
  const std::string text = TRY(word(value, name));
  if (name == "scaling_factor") return std::string(text == "true" ? " scale=mean" : " scale=none");
  if (name == "stochastic") return std::string(text == "true" ? " rounding=stochastic" : "");
  if (name == "width" && !has_width(format)) {
    const int bits = TRY(formats::make(format.name))->bits();
    if (text == std::to_string(bits)) return std::string();
    return at(value, invalid_argument(fmt::format("{} of width {}", format.name, shown(text)),
                                      fmt::format("its values have {} bits", bits)));
  }
  return fmt::format(" {}={}", parameter_name(name), text);
}

Error unknown_key(const YAML::Node& key, const formats::Descriptor& format) {
  std::vector<std::string> known;
  for (const std::string_view part : kParts) {
    for (const formats::Parameter& one : format.parameters) {
      const std::string_view name = one.name == "frac" ? "frac_width" : one.name;
      known.push_back(fmt::format("{}_{}", part, name));
    }
    known.push_back(fmt::format("{}_block_size", part));
  }
  return at(key, invalid_argument(
                     fmt::format("unknown key '{}'", shown(key.Scalar())),
                     did_you_mean(key.Scalar(), std::vector<std::string_view>(known.begin(), known.end()))));
}

// The config of one part.
struct Words {
  std::string text;
  bool given = false, is_float = false;
};

// The part whose name a key begins with: data_in of "data_in_width".
Result<std::size_t> part_of(const YAML::Node& key) {
  const std::string& text = key.Scalar();
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    const std::string_view part = kParts[i];
    if (text.size() > part.size() && text.starts_with(part) && text[part.size()] == '_') return i;
  }
  return at(key, invalid_argument(fmt::format("unknown key '{}'", shown(text)),
                                  fmt::format("keys begin with {}_", fmt::join(kParts, "_, "))));
}

bool is_of_no_part(std::string_view key) {
  return key == "name" || key == "bypass" || key == "is_ptq" || key == "profile";
}

// Fills in the specs of the parts that are given; a name alone applies to activations and weights.
Result<Scheme> scheme_of_parts(std::span<const Words> words,
                               const std::function<Result<std::string>(std::size_t part)>& text) {
  const bool any = std::ranges::any_of(words, &Words::given);
  Scheme scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  std::optional<Spec>* const specs[] = {&scheme.data_in, &scheme.weight, &scheme.bias, &scheme.data_out};
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    if (any ? words[i].given : i < 2) *specs[i] = TRY(parse_spec(TRY(text(i))));
  }
  return scheme;
}

// A config of a scheme that has another name here.
Result<Scheme> scheme_of_other_name(const YAML::Node& config, const std::string& name) {
  Words words[std::size(kParts)];
  MaseKeys keys[std::size(kParts)];
  for (const auto& pair : config) {
    const std::string key = TRY(word(pair.first, "a key"));
    if (is_of_no_part(key) || is_none(pair.second)) continue;
    const std::size_t part = TRY(part_of(pair.first));
    const std::string inner = key.substr(kParts[part].size() + 1);
    keys[part][inner] = inner == "block_size" ? TRY(block_size(pair.second)) : TRY(word(pair.second, key));
    words[part].given = true;
  }
  auto scheme = scheme_of_parts(words, [&](std::size_t i) { return spec_of_mase(name, kParts[i], keys[i]); });
  if (!scheme.ok()) return at(config, std::move(scheme).error());
  return scheme;
}

// The word for MASE's bits, in formats that have a choice.
std::string profile_of(const YAML::Node& config, const formats::Descriptor& format, bool by_default) {
  const bool has = std::ranges::any_of(format.parameters, [](const formats::Parameter& one) {
    return one.name == "profile" && std::ranges::find(one.choices, "mase") != one.choices.end();
  });
  const bool asked = config["profile"] ? config["profile"].Scalar() == "mase" : by_default;
  return has && asked ? " profile=mase" : "";
}

Result<void> check_profile(const YAML::Node& profile) {
  if (!profile || (profile.IsScalar() && (profile.Scalar() == "mase" || profile.Scalar() == "plain")))
    return {};
  return at(profile, invalid_argument("profile is neither mase nor plain", "\"profile\": \"mase\""));
}

// `mase`: with MASE's bits, unless the config says otherwise.
Result<Scheme> scheme_of_config(const YAML::Node& config, bool mase) {
  const YAML::Node name = config.IsMap() ? config["name"] : YAML::Node();
  if (!config.IsMap() || !name)
    return at(config, invalid_argument("a config names its scheme", "{\"name\": \"integer\", …}"));
  if (is_none(name)) return Scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  if (config["bypass"] && TRY(word(config["bypass"], "bypass")) == "true")
    return Scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  TRY(check_profile(config["profile"]));
  if (auto known = check_mase_scheme(TRY(word(name, "name"))); !known.ok())
    return at(name, std::move(known).error());
  if (has_other_name(name.Scalar())) return scheme_of_other_name(config, name.Scalar());
  auto found = formats::find(name.Scalar());
  if (!found.ok()) return at(name, std::move(found).error());
  const formats::Descriptor& format = **found;
  const std::string profile = profile_of(config, format, mase);
  Words words[std::size(kParts)];
  for (const auto& pair : config) {
    const std::string key = TRY(word(pair.first, "a key"));
    if (is_of_no_part(key)) continue;
    const auto part = part_of(pair.first);
    if (!part.ok()) return unknown_key(pair.first, format);
    Words& mine = words[*part];
    const std::string inner = key.substr(kParts[*part].size() + 1);
    if (stays_float(format, inner, pair.second)) {
      mine.given = mine.is_float = true;
      continue;
    }
    mine.text += TRY(parameter(format, inner, pair.second));
    mine.given = true;
    auto checked = parse_spec(std::string(format.name) + mine.text + profile);
    if (!checked.ok()) {
      const bool is_parameter = std::ranges::any_of(format.parameters, [&](const formats::Parameter& one) {
        return one.name == parameter_name(inner);
      });
      return is_parameter ? at(pair.first, std::move(checked).error()) : unknown_key(pair.first, format);
    }
  }
  return scheme_of_parts(words, [&](std::size_t i) -> Result<std::string> {
    return words[i].is_float ? "float" : std::string(format.name) + words[i].text + profile;
  });
}

Result<Scheme> scheme_of_entry(const YAML::Node& entry, bool mase) {
  if (!entry.IsMap() || !entry["config"])
    return at(entry, invalid_argument("an entry has a config", "{\"config\": {\"name\": …}}"));
  return scheme_of_config(entry["config"], mase);
}

}  // namespace

bool is_mase(const YAML::Node& root) { return root.IsMap() && root["by"]; }

Result<std::vector<Rule>> read_mase(const YAML::Node& root) {
  const std::string by = TRY(word(root["by"], "by"));
  const bool known = by == "type" || by == "name" || by == "regex_name";
  if (!known)
    return at(root["by"], invalid_argument(fmt::format("by '{}'", shown(by)), "type, name or regex_name"));
  const Rule::Kind kind = by == "type"   ? Rule::Kind::type
                          : by == "name" ? Rule::Kind::name
                                         : Rule::Kind::regex;
  TRY(check_profile(root["profile"]));
  const bool mase = root["profile"] && root["profile"].Scalar() == "mase";
  std::vector<Rule> rules;
  for (const auto& pair : root) {
    const std::string key = TRY(word(pair.first, "a key"));
    if (key == "by" || key == "report" || key == "profile") continue;
    const bool is_default = key == "default";
    Scheme scheme = TRY(scheme_of_entry(pair.second, mase));
    Rule rule{is_default ? Rule::Kind::global : kind, is_default ? "" : key, std::move(scheme),
              line_of(pair.first)};
    rule.every = is_default;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace anybit::quantizing
