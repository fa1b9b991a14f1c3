#include "quantize/recipe_foreign.hpp"

#include <algorithm>
#include <map>

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

namespace {

// A dictionary of Quark with its defaults; values are those of the operators' attributes.
struct QuarkAttributes {
  std::map<std::string, std::string> given;
  const std::string& operator[](const char* name) const { return given.at(name); }
};

const std::map<std::string, std::string>& mx_defaults() {
  static const std::map<std::string, std::string> all{
      {"element_dtype", "int8"}, {"axis", "1"}, {"block_size", "32"}, {"rounding_mode", "0"}};
  return all;
}

const std::map<std::string, std::string>& bfp_defaults() {
  static const std::map<std::string, std::string> all{{"bfp_method", "to_bfp"},
                                                      {"axis", "1"},
                                                      {"bit_width", "16"},
                                                      {"block_size", "8"},
                                                      {"rounding_mode", "0"},
                                                      {"sub_block_size", "2"},
                                                      {"sub_block_shift_bits", "1"},
                                                      {"convert_to_bfloat_before_bfp", "0"},
                                                      {"use_compiler_version_cpu_kernel", "0"}};
  return all;
}

Result<QuarkAttributes> quark_attributes(const YAML::Node& root,
                                         const std::map<std::string, std::string>& defaults) {
  if (!root.IsMap()) return at(root, invalid_argument("attributes are a map", "{'element_dtype': 'int8'}"));
  QuarkAttributes all{defaults};
  for (const auto& pair : root) {
    const std::string key = TRY(word(pair.first, "a key"));
    const auto found = all.given.find(key);
    if (found == all.given.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, value] : defaults) known.push_back(name);
      return at(pair.first,
                invalid_argument(fmt::format("unknown key '{}'", shown(key)), did_you_mean(key, known)));
    }
    found->second = TRY(word(pair.second, key));
  }
  return all;
}

// The words of a format, and those that make it storable as a weight.
struct QuarkFormat {
  std::string activation, weight;
};

Result<QuarkFormat> mx_format(const QuarkAttributes& all) {
  const std::string words =
      fmt::format("mx{} profile=quark rounding_mode={}", all["element_dtype"], all["rounding_mode"]);
  // Stored weights contain neither Inf nor scales outside of E8M0, so that part of the profile has no effect.
  return QuarkFormat{words, words + " nonfinite=block scale_overflow=clamp"};
}

Result<QuarkFormat> bfp_format(const QuarkAttributes& all, const YAML::Node& place) {
  static constexpr std::string_view kRoundings[] = {"half_away", "half_up", "half_even"};
  static constexpr std::string_view kBits[] = {"10", "11", "12", "13", "14", "15", "16", "17",
                                               "18", "19", "20", "21", "22", "23", "24"};
  const auto fail = [&](const char* key, std::string hint) {
    return at(place, invalid_argument(fmt::format("{} {}", key, shown(all[key])), std::move(hint)));
  };
  const std::string& mode = all["rounding_mode"];
  if (mode.size() != 1 || mode[0] < '0' || mode[0] > '2') return fail("rounding_mode", "0, 1 or 2");
  const auto* bits = std::ranges::find(kBits, all["bit_width"]);
  if (bits == std::end(kBits)) return fail("bit_width", "10 to 24");
  if (all["convert_to_bfloat_before_bfp"] != "0")
    return at(place, error_at(Code::unsupported, {}, "convert_to_bfloat_before_bfp in a recipe", "0"));
  const std::string tail = fmt::format(" rounding={}", kRoundings[mode[0] - '0']);
  const auto width = 2 + (bits - kBits);
  const std::string& method = all["bfp_method"];
  if (method == "to_bfp_prime") {
    const std::string words = fmt::format("bfp_prime width={} sub_block_size={} sub_block_shift_bits={}{}",
                                          width, all["sub_block_size"], all["sub_block_shift_bits"], tail);
    return QuarkFormat{words, words};
  }
  if (method != "to_bfp") return fail("bfp_method", "to_bfp or to_bfp_prime");
  const bool compiler = all["use_compiler_version_cpu_kernel"] != "0";
  const std::string words = width == 8 ? "bfp16" : fmt::format("block_fp width={}", width);
  // The lowest value of the compiler's rule has no code: a stored weight has the rule that fits both signs.
  return compiler ? QuarkFormat{words + " profile=quark_compiler" + tail, words + tail}
                  : QuarkFormat{words + " profile=quark" + tail,
                                words + " profile=quark nonfinite=saturate" + tail};
}

}  // namespace

// In MatMul and Gemm blocks lie along the reduction axis, whatever the axis says, as Quark places them.
Result<std::vector<Rule>> read_quark(const YAML::Node& root) {
  const bool named_mx = root["MXAttributes"].IsDefined(),
             named = named_mx || root["BFPAttributes"].IsDefined();
  const YAML::Node inner = named_mx ? root["MXAttributes"] : named ? root["BFPAttributes"] : root;
  const bool is_mx = named_mx || (!named && root["element_dtype"].IsDefined());
  const QuarkAttributes all = TRY(quark_attributes(inner, is_mx ? mx_defaults() : bfp_defaults()));
  const QuarkFormat format = TRY(is_mx ? mx_format(all) : bfp_format(all, inner));
  const auto read = [&](const std::string& words, bool has_axis) -> Result<Spec> {
    auto spec = parse_spec(words + fmt::format(" block_size={}", all["block_size"]) +
                           (has_axis ? fmt::format(" axis={}", all["axis"]) : std::string()));
    if (!spec.ok()) return at(inner, std::move(spec).error());
    return spec;
  };
  std::vector<Rule> rules;
  const auto add = [&](Rule::Kind kind, const char* pattern, bool has_axis) -> Result<void> {
    Rule rule{kind, pattern, {}, line_of(inner)};
    rule.optional = kind != Rule::Kind::global;
    rule.scheme.data_in = TRY(read(format.activation, has_axis));
    rule.scheme.weight = TRY(read(format.weight, has_axis));
    rules.push_back(std::move(rule));
    return {};
  };
  TRY(add(Rule::Kind::global, "", true));
  TRY(add(Rule::Kind::type, "MatMul", false));
  TRY(add(Rule::Kind::type, "Gemm", false));
  return rules;
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
