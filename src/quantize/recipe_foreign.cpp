#include "quantize/recipe_foreign.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/yaml_place.hpp"

namespace anybit::quantizing {

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
