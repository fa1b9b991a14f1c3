#include "quantize/recipe_foreign.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/yaml_place.hpp"

namespace anybit::quantizing {

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
