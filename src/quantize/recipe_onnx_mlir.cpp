#include "quantize/recipe_onnx_mlir.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/yaml_place.hpp"

namespace anybit::quantizing {
namespace {

constexpr const char* kList = "nnpa_ops_config";
enum List {
  kQuantization,
  kDevices
};  // a node takes one rule of each; onnx-mlir's newer files have one list

Result<std::string> text_of(const YAML::Node& node, std::string_view what) {
  if (node.IsScalar()) return node.Scalar();
  return at(node, invalid_argument(fmt::format("{} must be a single word", what)));
}

// Members of an object, each of them known and given once. Keys with an underscore in front are comments.
using Members = std::vector<std::pair<std::string, YAML::Node>>;
Result<Members> members_of(const YAML::Node& object, std::string_view what,
                           std::span<const std::string_view> known) {
  if (!object.IsMap())
    return at(object, invalid_argument(fmt::format("{} is an object", what), "{\"…\": …}"));
  Members members;
  std::set<std::string> seen;
  for (const auto& pair : object) {
    const std::string key = TRY(text_of(pair.first, "a key"));
    if (key.starts_with('_')) continue;
    if (!seen.insert(key).second)
      return at(pair.first, invalid_argument(fmt::format("'{}' is given twice", shown(key)), "once"));
    if (!known.empty() && std::ranges::find(known, key) == known.end()) {
      const std::string meant = did_you_mean(key, known);
      return at(pair.first,
                invalid_argument(fmt::format("unknown key '{}' in {}", shown(key), what),
                                 meant.empty() ? fmt::format("one of {}", fmt::join(known, ", ")) : meant));
    }
    members.emplace_back(key, pair.second);
  }
  return members;
}

Result<std::int64_t> index_of(const std::string& key, const YAML::Node& place) {
  std::int64_t index = 0;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (problem == std::errc() && end == key.data() + key.size()) return index;
  return at(place, invalid_argument(fmt::format("'{}' is no index", shown(key)),
                                    "\"0\" for the first, \"-1\" for the last"));
}

Result<Bound> bound_of(const YAML::Node& node, std::string_view what) {
  auto bound = parse_bound(TRY(text_of(node, what)));
  if (!bound.ok()) return at(node, std::move(bound).error());
  return bound;
}

// {"0": {"rank": "4", "type": "f32", "dims": {"-1": "%64==0"}}}
Result<std::vector<TensorCondition>> tensors_of(const YAML::Node& node, const std::string& what) {
  static constexpr std::string_view kKeys[] = {"rank", "type", "dims"};
  std::vector<TensorCondition> all;
  for (const auto& [key, value] : TRY(members_of(node, what, {}))) {
    TensorCondition one;
    one.index = TRY(index_of(key, value));
    for (const auto& [about, given] : TRY(members_of(value, "a tensor's condition", kKeys))) {
      if (about == "rank") {
        one.rank = TRY(bound_of(given, about));
      } else if (about == "type") {
        auto type = type_of_mlir(TRY(text_of(given, about)));
        if (!type.ok()) return at(given, std::move(type).error());
        one.type = *type;
      } else {
        for (const auto& [axis, bound] : TRY(members_of(given, "dims", {}))) {
          const std::int64_t at = TRY(index_of(axis, bound));
          one.dims.emplace_back(at, TRY(bound_of(bound, "a dim")));
        }
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

Scheme in_float() {
  Scheme scheme{Spec{}, Spec{}, Spec{}, Spec{}};
  scheme.compute = "float32";
  return scheme;
}

// The outcome that a rule asks for: the scheme of `quantize`, or the device.
class Rewrite {
 public:
  Result<void> read(const std::string& key, const YAML::Node& value) {
    const std::string word = TRY(text_of(value, key));
    if (key == "device") {
      if (word != "cpu" && word != "nnpa" && !word.empty())
        return at(value, invalid_argument(fmt::format("device '{}'", shown(word)), "cpu, nnpa or \"\""));
      cpu_ = word == "cpu";
      return {};
    }
    if (word != "true" && word != "false")
      return at(value, invalid_argument(fmt::format("quantize: '{}'", shown(word)), "true or false"));
    quantize_ = word == "true";
    return {};
  }
  bool quantizes() const { return quantize_ == true && !cpu_; }
  void apply(Rule& rule, const Scheme& quantized, bool rest_in_float) const {
    if (cpu_ || (quantize_ == false && rest_in_float))
      rule.scheme = in_float();
    else if (quantize_ == true)
      rule.scheme = quantized;
    if (!cpu_) rule.quantize = quantize_;
  }

 private:
  bool cpu_ = false;
  std::optional<bool> quantize_;
};

class ConfigurationReader {
 public:
  explicit ConfigurationReader(Recipe& recipe) : recipe_(recipe) {}

  Result<void> read(const YAML::Node& root) {
    static constexpr std::string_view kKeys[] = {kList, "device_placement", "quantization",
                                                 "compile_options"};
    for (const auto& [key, value] : TRY(members_of(root, "the configuration", kKeys))) {
      if (!value.IsSequence()) return at(value, invalid_argument(fmt::format("'{}' is a list", key), "[…]"));
      for (const auto& entry : value) {
        if (key == "compile_options")
          TRY(read_option(entry));
        else if (key == kList)
          TRY(read_pattern(entry));
        else
          TRY(read_flat(entry, key == "quantization" ? kQuantization : kDevices));
      }
    }
    recipe_.target = "nnpa";
    add_rules();
    return {};
  }

 private:
  // {"pattern": {"match": {…}, "rewrite": {…}}}
  Result<void> read_pattern(const YAML::Node& entry) {
    static constexpr std::string_view kEntry[] = {"pattern"}, kPattern[] = {"match", "rewrite"},
                                      kRewrite[] = {"device", "quantize"};
    const Members outer = TRY(members_of(entry, "an entry", kEntry));
    if (outer.empty()) return at(entry, invalid_argument("an entry has a pattern", "{\"pattern\": {…}}"));
    Condition condition;
    Rewrite rewrite;
    bool matches = false, rewrites = false;
    for (const auto& [part, value] : TRY(members_of(outer[0].second, "a pattern", kPattern))) {
      (part == "match" ? matches : rewrites) = true;
      if (part == "match") {
        TRY(read_match(value, {}, condition, rewrite));
        continue;
      }
      for (const auto& [key, given] : TRY(members_of(value, "rewrite", kRewrite)))
        TRY(rewrite.read(key, given));
    }
    if (!matches || !rewrites)
      return at(outer[0].second, invalid_argument("a pattern has both match and rewrite",
                                                  "{\"match\": {…}, \"rewrite\": {…}}"));
    add(entry, std::move(condition), rewrite);
    return {};
  }

  // The older lists: {"node_type": "onnx.MatMul", "device": "cpu"}
  Result<void> read_flat(const YAML::Node& entry, List list) {
    Condition condition;
    Rewrite rewrite;
    condition.list = list;
    TRY(read_match(entry, list == kQuantization ? "quantize" : "device", condition, rewrite));
    add(entry, std::move(condition), rewrite);
    return {};
  }

  // `outcome`: the key that says what to do, in an entry of the older lists.
  static Result<void> read_match(const YAML::Node& node, std::string_view outcome, Condition& condition,
                                 Rewrite& rewrite) {
    std::vector<std::string_view> keys = {"node_type", "onnx_node_name", "inputs", "outputs"};
    if (!outcome.empty()) keys.push_back(outcome);
    bool told = outcome.empty();
    for (const auto& [key, value] : TRY(members_of(node, outcome.empty() ? "match" : "an entry", keys))) {
      if (key == "node_type") {
        condition.type = TRY(text_of(value, key));
      } else if (key == "onnx_node_name") {
        condition.name = TRY(text_of(value, key));
      } else if (key == "inputs" || key == "outputs") {
        (key == "inputs" ? condition.inputs : condition.outputs) = TRY(tensors_of(value, key));
      } else {
        TRY(rewrite.read(key, value));
        told = true;
      }
    }
    if (condition.type.empty())
      return at(node, invalid_argument("'node_type' is missing", "\"node_type\": \"onnx.MatMul\""));
    if (!told) return at(node, invalid_argument(fmt::format("'{}' is missing", outcome)));
    return {};
  }

  // What the compiler's command line says of quantization; the rest is the compiler's.
  Result<void> read_option(const YAML::Node& node) {
    const std::string option = TRY(text_of(node, "an option"));
    const std::size_t first = option.find_first_not_of('-'), equals = option.find('=');
    const std::string name = first == std::string::npos ? option : option.substr(first, equals - first);
    const std::string value = equals == std::string::npos ? std::string() : option.substr(equals + 1);
    if (name == "nnpa-quant-dynamic") {
      dynamic_ = TRY(scheme_of_words(value, node));
    } else if (name == "nnpa-quant-op-types") {
      for (std::string& type : words_of(value)) op_types_.push_back(std::move(type));
    } else if (name != "maccel" && name != "march" && name != "mcpu") {
      recipe_.remarks.push_back(fmt::format(
          "compile option '{}' is for onnx-mlir: it has no effect on quantization", shown(option)));
    }
    return {};
  }

  static std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    std::stringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
      std::erase(word, ' ');
      if (!word.empty()) words.push_back(word);
    }
    return words;
  }

  static Result<Scheme> scheme_of_words(const std::string& text, const YAML::Node& place) {
    static constexpr std::string_view kWords[] = {"symActivation", "asymActivation", "symWeight",
                                                  "asymWeight"};
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return TRY(find_recipe("nnpa-auto")).rules.front().scheme;
    Scheme scheme = TRY(find_recipe("nnpa")).rules.front().scheme;
    for (const std::string& word : words) {
      if (std::ranges::find(kWords, word) == std::end(kWords))
        return at(place, invalid_argument(fmt::format("nnpa-quant-dynamic: unknown word '{}'", shown(word)),
                                          did_you_mean(word, kWords)));
      if (word.ends_with("Weight"))
        scheme.weight->set_symmetric(word == "symWeight");
      else
        for (auto* spec : {&scheme.data_in, &scheme.data_out})
          (*spec)->set_symmetric(word == "symActivation");
    }
    return scheme;
  }

  void add(const YAML::Node& entry, Condition condition, const Rewrite& rewrite) {
    Rule rule{Rule::Kind::where, condition.type, {}, line_of(entry)};
    rule.where = std::make_shared<const Condition>(std::move(condition));
    entries_.emplace_back(std::move(rule), rewrite);
  }

  // Without quantization, the default mode of the compiler: float16 on the accelerator. As soon as something
  // is quantized, the rest is left to the compiler, in float32.
  void add_rules() {
    const bool any =
        dynamic_ || std::ranges::any_of(entries_, [](const auto& one) { return one.second.quantizes(); });
    const Scheme quantized = dynamic_ ? *dynamic_ : find_recipe("nnpa")->rules.front().scheme;
    Rule all = find_recipe(any ? "nnpa" : "nnpa-float16")->rules.front();
    if (any) all.scheme = in_float();
    all.place = {};
    recipe_.rules.push_back(std::move(all));
    std::vector<std::string> types = op_types_;
    if (dynamic_ && types.empty()) types = {"MatMul"};
    if (std::ranges::count(types, "MatMul") > 0) types.emplace_back("Gemm");  // which preparation fuses it to
    for (const std::string& type : types) {
      if (dynamic_) recipe_.rules.push_back({Rule::Kind::type, type, *dynamic_, {}});
    }
    for (const List list : {kQuantization, kDevices}) {
      for (auto& [rule, rewrite] : entries_) {
        if (rule.where->list != list) continue;
        rewrite.apply(rule, quantized, any);
        recipe_.rules.push_back(rule);
      }
    }
  }

  Recipe& recipe_;
  std::vector<std::pair<Rule, Rewrite>> entries_;
  std::optional<Scheme> dynamic_;
  std::vector<std::string> op_types_;
};

}  // namespace

bool is_onnx_mlir(const YAML::Node& root) {
  return root.IsMap() &&
         (root[kList] || root["device_placement"] || root["quantization"] || root["compile_options"]);
}

Result<Recipe> configured(const Recipe& recipe, const Recipe& file) {
  if (file.target.empty())
    return invalid_argument("this is not a configuration file of onnx-mlir", "--recipe FILE for a recipe");
  const auto quantized = std::ranges::find_if(
      recipe.rules.rbegin(), recipe.rules.rend(),
      [](const Rule& one) { return one.scheme.data_in && !one.scheme.data_in->is_float(); });
  Recipe all = recipe;
  all.target = file.target;
  all.remarks.insert(all.remarks.end(), file.remarks.begin(), file.remarks.end());
  for (const Rule& rule : file.rules) {
    if (rule.kind != Rule::Kind::where) continue;
    Rule& added = all.rules.emplace_back(rule);
    if (rule.quantize == false) added.scheme = in_float();
    if (rule.quantize == true && quantized != recipe.rules.rend()) added.scheme = quantized->scheme;
  }
  return all;
}

Result<void> read_onnx_mlir(const YAML::Node& root, Recipe& recipe) {
  return ConfigurationReader(recipe).read(root);
}

}  // namespace anybit::quantizing
