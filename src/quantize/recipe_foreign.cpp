#include "quantize/recipe_foreign.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/yaml_place.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::string_view kParts[] = {"data_in", "weight", "bias", "data_out"};

bool is_none(const YAML::Node& node) {
  return node.IsNull() ||
         (node.IsScalar() && (node.Scalar() == "None" || node.Scalar() == "null" || node.Scalar() == "NA"));
}

Result<std::string> word(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) return at(node, invalid_argument(fmt::format("{} must be a single word", what)));
  if (node.Scalar() == "True") return std::string("true");
  if (node.Scalar() == "False") return std::string("false");
  return node.Scalar();
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
  const bool has_width =
      std::ranges::any_of(format.parameters, [](const auto& one) { return one.name == "width"; });
  if (name == "width" && !has_width) {
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
  bool given = false;
};

Result<Scheme> scheme_of_config(const YAML::Node& config) {
  const YAML::Node name = config.IsMap() ? config["name"] : YAML::Node();
  if (!config.IsMap() || !name)
    return at(config, invalid_argument("a config names its scheme", "{\"name\": \"integer\", …}"));
  if (is_none(name)) return Scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  if (config["bypass"] && TRY(word(config["bypass"], "bypass")) == "true")
    return Scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  auto found = formats::find(TRY(word(name, "name")));
  if (!found.ok()) return at(name, std::move(found).error());
  const formats::Descriptor& format = **found;
  Words words[std::size(kParts)];
  for (const auto& pair : config) {
    const std::string key = TRY(word(pair.first, "a key"));
    if (key == "name" || key == "bypass" || key == "is_ptq") continue;
    const auto part = std::ranges::find_if(kParts, [&](std::string_view one) {
      return key.size() > one.size() && key.starts_with(one) && key[one.size()] == '_';
    });
    if (part == std::end(kParts)) return unknown_key(pair.first, format);
    Words& mine = words[part - std::begin(kParts)];
    mine.text += TRY(parameter(format, key.substr(part->size() + 1), pair.second));
    mine.given = true;
    auto checked = parse_spec(std::string(format.name) + mine.text);
    if (!checked.ok()) {
      const bool is_parameter = std::ranges::any_of(format.parameters, [&](const formats::Parameter& one) {
        return one.name == parameter_name(key.substr(part->size() + 1));
      });
      return is_parameter ? at(pair.first, std::move(checked).error()) : unknown_key(pair.first, format);
    }
  }
  const bool any = std::ranges::any_of(words, &Words::given);
  Scheme scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  std::optional<Spec>* const specs[] = {&scheme.data_in, &scheme.weight, &scheme.bias, &scheme.data_out};
  for (std::size_t i = 0; i < std::size(kParts); ++i) {
    const bool meant = any ? words[i].given : i < 2;  // a name alone applies to activations and weights
    if (meant) *specs[i] = TRY(parse_spec(std::string(format.name) + words[i].text));
  }
  return scheme;
}

Result<Scheme> scheme_of_entry(const YAML::Node& entry) {
  if (!entry.IsMap() || !entry["config"])
    return at(entry, invalid_argument("an entry has a config", "{\"config\": {\"name\": …}}"));
  return scheme_of_config(entry["config"]);
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
  std::vector<Rule> rules;
  for (const auto& pair : root) {
    const std::string key = TRY(word(pair.first, "a key"));
    if (key == "by" || key == "report") continue;
    const bool is_default = key == "default";
    Scheme scheme = TRY(scheme_of_entry(pair.second));
    Rule rule{is_default ? Rule::Kind::global : kind, is_default ? "" : key, std::move(scheme),
              line_of(pair.first)};
    rule.every = is_default;
    rules.push_back(std::move(rule));
  }
  return rules;
}

bool is_quark(const YAML::Node& root) {
  return root.IsMap() &&
         (root["element_dtype"] || root["bfp_method"] || root["MXAttributes"] || root["BFPAttributes"]);
}

Result<std::vector<Rule>> read_quark(const YAML::Node& root) {
  for (const char* inner : {"MXAttributes", "BFPAttributes"}) {
    if (root[inner]) return read_quark(root[inner]);
  }
  static constexpr std::string_view kKeys[] = {"element_dtype", "axis",       "block_size",
                                               "rounding_mode", "bfp_method", "bit_width"};
  std::string format = "bfp16", words;
  for (const auto& pair : root) {
    const std::string key = TRY(word(pair.first, "a key"));
    const std::string value = TRY(word(pair.second, key));
    if (key == "element_dtype") {
      format = "mx" + value;
    } else if (key == "axis" || key == "block_size") {
      words += fmt::format(" {}={}", key, value);
    } else if (key == "rounding_mode" && root["element_dtype"]) {
      words += " rounding_mode=" + value;
    } else if (key == "rounding_mode") {
      static constexpr std::string_view kNames[] = {"half_away", "half_up", "half_even"};
      if (value.size() != 1 || value[0] < '0' || value[0] > '2')
        return at(pair.second, invalid_argument(fmt::format("rounding_mode {}", shown(value)), "0, 1 or 2"));
      words += fmt::format(" rounding={}", kNames[value[0] - '0']);
    } else if (key == "bfp_method") {
      if (value != "to_bfp")
        return at(pair.second,
                  error_at(Code::unsupported, {}, fmt::format("bfp_method '{}'", shown(value)), "to_bfp"));
    } else if (key == "bit_width") {
      if (value != "16")
        return at(pair.second,
                  error_at(Code::unsupported, {}, fmt::format("bit_width {}", shown(value)), "16"));
    } else {
      return at(pair.first,
                invalid_argument(fmt::format("unknown key '{}'", shown(key)), did_you_mean(key, kKeys)));
    }
  }
  const auto read = [&](std::string_view more) -> Result<Spec> {
    auto spec = parse_spec(format + words + std::string(more));
    if (!spec.ok()) return at(root, std::move(spec).error());
    return spec;
  };
  const bool is_mx = format != "bfp16";
  Rule rule{Rule::Kind::global, {}, {}, line_of(root)};
  rule.scheme.data_in = TRY(read(is_mx ? " profile=quark" : ""));
  // Stored weights contain neither Inf nor scales outside of E8M0, so that part of the profile has no effect.
  rule.scheme.weight = TRY(read(is_mx ? " profile=quark nonfinite=block scale_overflow=clamp" : ""));
  return std::vector<Rule>{std::move(rule)};
}

namespace {

// "QuantType.QUInt8", "QUInt8".
Result<std::string> format_of_quant_type(const YAML::Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"QInt8", "int8"},   {"QUInt8", "uint8"}, {"QInt16", "int16"},           {"QUInt16", "uint16"},
      {"QInt4", "int4"},   {"QUInt4", "uint4"}, {"QFLOAT8E4M3FN", "fp8_e4m3"}, {"QInt2", "int2"},
      {"QUInt2", "uint2"},
  };
  const std::string name = TRY(word(node, "quant_type"));
  for (const auto& [theirs, ours] : kTypes) {
    if (name == theirs || name == fmt::format("QuantType.{}", theirs)) return std::string(ours);
  }
  return at(node, invalid_argument(fmt::format("quant_type '{}'", shown(name)), "QInt8, QUInt8, QInt16, …"));
}

// The values of `key` in a tensor's entries, one per channel, separated by commas.
Result<std::string> listed(const YAML::Node& entries, const char* key) {
  std::string all;
  for (const auto& one : entries) {
    if (!one[key]) {
      if (all.empty()) continue;
      return at(one, invalid_argument(fmt::format("no {}, as other channels have", key), "one for each"));
    }
    all += (all.empty() ? "" : ",") + TRY(word(one[key], key));
  }
  return all;
}

Result<std::string> override_words(const YAML::Node& entries) {
  static constexpr std::string_view kKeys[] = {"quant_type", "symmetric", "axis", "scale",
                                               "zero_point", "rmin",      "rmax"};
  for (const auto& one : entries) {
    if (!one.IsMap()) return at(one, invalid_argument("an entry is a map", "{\"scale\": 0.02}"));
    for (const auto& pair : one) {
      const std::string key = TRY(word(pair.first, "a key"));
      if (std::ranges::find(kKeys, key) == std::end(kKeys))
        return at(pair.first,
                  error_at(Code::unsupported, {}, fmt::format("'{}' in TensorQuantOverrides", shown(key)),
                           fmt::format("one of {}", fmt::join(kKeys, ", "))));
    }
  }
  const YAML::Node& first = entries[0];
  std::string words;
  if (first["quant_type"]) words += TRY(format_of_quant_type(first["quant_type"]));
  if (first["symmetric"]) words += TRY(word(first["symmetric"], "symmetric")) == "true" ? " sym" : " asym";
  if (first["axis"]) words += " channel axis=" + TRY(word(first["axis"], "axis"));
  for (const char* key : {"scale", "zero_point"}) {
    if (const std::string all = TRY(listed(entries, key)); !all.empty())
      words += fmt::format(" {} {}", key, all);
  }
  if (!first["rmin"] && !first["rmax"]) return words;
  if (entries.size() > 1)
    return at(entries, error_at(Code::unsupported, {}, "ranges of single channels", "scale and zero_point"));
  if (!first["rmin"] || !first["rmax"])
    return at(first, invalid_argument("one of rmin and rmax is missing", "both"));
  return words +
         fmt::format(" range {} {}", TRY(word(first["rmin"], "rmin")), TRY(word(first["rmax"], "rmax")));
}

}  // namespace

Result<std::vector<Rule>> read_tensor_overrides(const YAML::Node& overrides) {
  if (!overrides.IsMap())
    return at(overrides, invalid_argument("TensorQuantOverrides is a map of lists", "{\"name\": [{…}]}"));
  std::vector<Rule> rules;
  for (const auto& pair : overrides) {
    std::string name = TRY(word(pair.first, "a tensor's name"));
    Rule rule{Rule::Kind::tensor, std::move(name), {}, line_of(pair.first)};
    if (!pair.second.IsSequence() || pair.second.size() == 0)
      return at(pair.second, invalid_argument("a tensor is followed by a list", "[{\"scale\": 0.02}]"));
    rule.words = TRY(override_words(pair.second));
    TRY(check_tensor_words(rule.words, pair.second));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace anybit::quantizing
