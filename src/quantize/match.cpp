#include "quantize/match.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/modules.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

// Layer types that depend on more than the operator: see types_of().
constexpr std::string_view kByKind[] = {"linear", "matmul", "bmm",           "conv1d",
                                        "conv2d", "conv3d", "conv_transpose"};

// Treats "blocks.0" and "/blocks/0" as equal.
std::string plain_name(std::string_view name) {
  std::string plain(name);
  std::ranges::replace(plain, '.', '/');
  return plain.starts_with('/') ? plain.substr(1) : plain;
}

// Whether a class of a module, such as "models.Block", is meant by "models.Block" or "Block".
bool is_class(std::string_view class_name, std::string_view pattern) {
  if (!class_name.ends_with(pattern)) return false;
  return class_name.size() == pattern.size() || class_name[class_name.size() - pattern.size() - 1] == '.';
}

bool is_of_class(const Subject& subject, std::string_view pattern) {
  return std::ranges::any_of(subject.classes, [&](const std::string& one) { return is_class(one, pattern); });
}

// `*` matches any characters, `?` matches one.
bool fits(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Matches the name itself and all names below it.
bool covers(std::string_view pattern, std::string_view name) {
  const auto by = [&](const auto& path_of) {
    const std::string wanted = path_of(pattern), given = path_of(name);
    return fits(wanted, given) || fits(wanted + "/*", given);
  };
  return by(plain_name) || (name.find('.') != std::string_view::npos && by(graph::module_path));
}

std::vector<std::string_view> known_types() {
  std::vector<std::string_view> known(std::begin(kByKind), std::end(kByKind));
  for (const ops::Descriptor* one : ops::table()) {
    if (!one->traits.alias.empty()) known.push_back(one->traits.alias);
  }
  for (const ops::Descriptor* one : ops::table()) known.push_back(one->name);
  return known;
}

bool is_float(const Scheme& scheme) {
  const auto left = [](const std::optional<Spec>& spec) { return !spec || spec->is_float(); };
  return left(scheme.data_in) && left(scheme.weight) && left(scheme.data_out);
}

// Translates a type of another framework to its ONNX name.
std::string_view onnx_name(std::string_view type) {
  static const auto by_alias = [] {
    std::map<std::string_view, std::string_view> all;
    for (const ops::Descriptor* one : ops::table()) all.emplace(one->traits.alias, one->name);
    all.erase("");
    return all;
  }();
  const auto found = by_alias.find(type);
  return found == by_alias.end() ? type : found->second;
}

// The rows of an operator; a few exist in two domains.
std::vector<const ops::Traits*> traits_of(std::string_view op) {
  std::vector<const ops::Traits*> found;
  for (const ops::Descriptor* one : ops::table()) {
    if (one->name == op) found.push_back(&one->traits);
  }
  return found;
}

// Known operators that are never quantized: Shape, NonZero, …
bool is_never_quantized(std::string_view type) {
  const auto rows = traits_of(type);
  return !rows.empty() && std::ranges::all_of(rows, [](const ops::Traits* one) {
    return one->role == ops::Traits::Role::none;
  });
}

bool is_for_weights_alone(const Scheme& scheme) {
  const auto tells = [](const std::optional<Spec>& spec) { return spec && !spec->is_float(); };
  return tells(scheme.weight) && !tells(scheme.data_in) && !tells(scheme.data_out);
}

// Known operators that never have weights: Relu, Softmax, …
bool is_without_weights(std::string_view type) {
  const auto rows = traits_of(onnx_name(type));
  return !rows.empty() &&
         std::ranges::all_of(rows, [](const ops::Traits* one) { return one->weights.empty(); });
}

// The scale of a normalization is a weight for the formats of src/formats only: as an integer it would only
// lose precision.
bool has_factors(std::string_view type) {
  return std::ranges::any_of(traits_of(onnx_name(type)), &ops::Traits::normalizes);
}

// Matches an operator by its ONNX name or another.
bool is_for(const Rule& rule, std::string_view op) {
  return rule.kind == Rule::Kind::type && (rule.pattern == op || onnx_name(rule.pattern) == op);
}

Result<void> check_class(const Rule& rule, const Classes& classes) {
  if (std::ranges::any_of(classes, [&](const std::string& one) { return is_class(one, rule.pattern); }))
    return {};
  const bool qualified = rule.pattern.find('.') != std::string::npos;
  if (qualified && !classes.empty()) return {};  // a class that this model does not use
  if (qualified)
    return error_at(
        Code::invalid_argument, rule.place,
        fmt::format("'{}': the nodes of this model do not name the classes of their modules",
                    shown(rule.pattern)),
        "an export with torch.onnx.export(…, dynamo=True), or the module itself; or rules by name");
  std::vector<std::string_view> known = known_types();
  for (const std::string& one : classes) known.push_back(std::string_view(one).substr(one.rfind('.') + 1));
  return error_at(Code::invalid_argument, rule.place,
                  fmt::format("no operator is called '{}'", shown(rule.pattern)),
                  did_you_mean(rule.pattern, known));
}

Result<void> check_type(const Rule& rule, const Classes& classes) {
  if (is_never_quantized(rule.pattern) && !is_float(rule.scheme))
    return error_at(Code::invalid_argument, rule.place,
                    fmt::format("{} cannot be quantized", shown(rule.pattern)),
                    "Conv, MatMul, Gemm, Add, …; docs/recipes.md");
  if (is_without_weights(rule.pattern) && rule.scheme.data_in && rule.scheme.data_in->is_dynamic() &&
      rule.scheme.data_in->is_integer() && rule.scheme.data_in->has_own_type())
    return error_at(Code::invalid_argument, rule.place,
                    fmt::format("{} has no weights: it cannot be quantized dynamically", shown(rule.pattern)),
                    "MatMul, Gemm, Conv, LSTM, GRU, Attention, …; or a static recipe");
  if (is_for_weights_alone(rule.scheme) && is_without_weights(rule.pattern) &&
      !(!rule.scheme.weight->is_integer() && has_factors(rule.pattern)))
    return error_at(Code::invalid_argument, rule.place,
                    fmt::format("{} has no weights, and the rule is for weights only", shown(rule.pattern)),
                    "activations: …, or no rule for it");
  return is_type(rule.pattern) ? Result<void>() : check_class(rule, classes);
}

// `linear` is a linear operator with constant weights, `conv2d` a Conv of that rank, …
std::vector<std::string> types_of(const graph::Node& node, bool constant_weight, std::size_t rank) {
  using Linear = ops::Traits::Linear;
  std::vector<std::string> types{node.op_type.str()};
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor) return types;
  if (!descriptor->traits.alias.empty()) types.emplace_back(descriptor->traits.alias);
  switch (descriptor->traits.linear) {
    case Linear::none:
      break;
    case Linear::matrices:
      if (constant_weight) {
        types.emplace_back("linear");
      } else {
        types.insert(types.end(), {"matmul", "bmm"});
      }
      break;
    case Linear::convolution:
      if (rank >= 3 && rank <= 5) types.push_back(fmt::format("conv{}d", rank - 2));
      break;
    case Linear::transposed_convolution:
      types.emplace_back("conv_transpose");
  }
  return types;
}

}  // namespace

bool is_type(std::string_view name) {
  const std::vector<std::string_view> known = known_types();
  return std::ranges::find(known, name) != known.end();
}

Subject subject_of(const graph::Node& node, bool constant_weight, std::size_t rank) {
  Subject subject{node.name.str(), types_of(node, constant_weight, rank), {}, {}};
  for (graph::Module& one : graph::modules_of(node)) {
    subject.module = std::move(one.path);
    if (!one.class_name.empty()) subject.classes.push_back(std::move(one.class_name));
  }
  return subject;
}

struct Matcher::State {
  std::map<std::string, Choice> choices;
  std::vector<Rule> rules;  // the least specific first; in order within a kind
  // By rule: of the name, and of the operator; null if the rule has none.
  std::vector<std::unique_ptr<re2::RE2>> expressions, operators;
  std::vector<bool> classes;  // by rule: whether its type is a class of modules
  std::vector<bool> used;
  std::set<std::string> met;      // node names and types that were looked up
  std::set<std::string> tensors;  // tensor names that were looked up
  std::set<std::string> only;     // Recipe::only

  bool leaves(const std::string& name) const { return !only.empty() && !only.contains(name); }

  bool holds(std::size_t i, const Subject& subject) const {
    const Rule& rule = rules[i];
    switch (rule.kind) {
      case Rule::Kind::global:
        return true;
      case Rule::Kind::type:
        return std::ranges::find(subject.types, rule.pattern) != subject.types.end() ||
               (classes[i] && is_of_class(subject, rule.pattern));
      case Rule::Kind::regex:
        return re2::RE2::FullMatch(subject.name, *expressions[i]);
      case Rule::Kind::where:
        return (!expressions[i] || re2::RE2::FullMatch(subject.name, *expressions[i])) &&
               re2::RE2::FullMatch("onnx." + subject.types.front(), *operators[i]) &&
               rule.where->holds(subject.facts);
      case Rule::Kind::name:
        return covers(rule.pattern, subject.name) ||
               (!subject.module.empty() && covers(rule.pattern, subject.module));
      case Rule::Kind::io:
      case Rule::Kind::tensor:
        return false;
    }
    return false;
  }

  // Whether the rule is for this node or a module that it comes from, not for its operator or all nodes.
  bool names(std::size_t i, const Subject& subject) const {
    const Rule::Kind kind = rules[i].kind;
    return (kind == Rule::Kind::name || kind == Rule::Kind::regex || classes[i]) && holds(i, subject);
  }
};

Matcher::Matcher(std::unique_ptr<State> state) : state_(std::move(state)) {}
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

namespace {

Result<std::unique_ptr<re2::RE2>> compiled(const std::string& pattern, const Rule& rule) {
  auto expression = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  if (expression->ok()) return expression;
  return error_at(Code::invalid_argument, rule.place,
                  fmt::format("'{}' is not a regular expression", shown(pattern)), expression->error());
}

}  // namespace

Result<Matcher> Matcher::make(const Recipe& recipe, const Classes& classes) {
  auto state = std::make_unique<State>();
  state->rules = recipe.rules;
  state->choices = recipe.choices;
  state->only = recipe.only;
  std::ranges::stable_sort(state->rules, {}, &Rule::kind);
  for (const Rule& rule : state->rules) {
    if (rule.kind == Rule::Kind::type) TRY(check_type(rule, classes));
    state->classes.push_back(rule.kind == Rule::Kind::type && !is_type(rule.pattern));
    auto& expression = state->expressions.emplace_back();
    auto& op = state->operators.emplace_back();
    if (rule.kind == Rule::Kind::regex) expression = TRY(compiled(rule.pattern, rule));
    if (rule.kind != Rule::Kind::where) continue;
    op = TRY(compiled(rule.where->type, rule));
    if (!rule.where->name.empty()) expression = TRY(compiled(rule.where->name, rule));
  }
  state->used.resize(state->rules.size());
  return Matcher(std::move(state));
}

Scheme Matcher::scheme(const Subject& subject) {
  Scheme result{Spec{}, Spec{}, std::nullopt, Spec{}, std::nullopt};
  state_->met.insert(subject.name);
  state_->met.insert(subject.types.begin(), subject.types.end());
  if (!subject.module.empty()) state_->met.insert(subject.module);
  std::set<int> decided;  // lists of conditions of which one held
  for (std::size_t i = 0; i < state_->rules.size(); ++i) {
    const Condition* where = state_->rules[i].where.get();
    if ((where && decided.count(where->list) != 0) || !state_->holds(i, subject)) continue;
    if (where) decided.insert(where->list);
    state_->used[i] = true;
    if (state_->leaves(subject.name)) continue;
    const Scheme& from = state_->rules[i].scheme;
    if (from.data_in || from.weight) result.choose = from.choose;
    if (from.data_in) result.data_in = from.data_in;
    if (from.weight) result.weight = from.weight;
    if (from.bias) result.bias = from.bias;
    if (from.data_out) result.data_out = from.data_out;
    if (from.compute) result.compute = from.compute;
    if (from.refine) result.refine = from.refine;
    if (from.reduce_range) result.reduce_range = from.reduce_range;
  }
  return result;
}

const Choice* Matcher::choice(const std::string& key) const {
  const auto found = state_->choices.find(key);
  return found == state_->choices.end() ? nullptr : &found->second;
}

bool Matcher::holds_in_float(const Subject& subject) const {
  if (state_->leaves(subject.name)) return true;
  for (std::size_t i = state_->rules.size(); i-- > 0;) {
    const Rule& rule = state_->rules[i];
    if (rule.kind == Rule::Kind::global) return false;
    if (rule.scheme.data_in && state_->holds(i, subject)) return rule.scheme.data_in->is_float();
  }
  return false;
}

const Scheme* Matcher::io() const {
  if (!state_->only.empty()) return nullptr;
  for (std::size_t i = state_->rules.size(); i-- > 0;) {
    if (state_->rules[i].kind == Rule::Kind::io) return &state_->rules[i].scheme;
  }
  return nullptr;
}

bool Matcher::needs_facts() const {
  return std::ranges::any_of(state_->rules,
                             [](const Rule& one) { return one.where && one.where->has_tensors(); });
}

bool Matcher::has_tensors() const {
  return !state_->rules.empty() && state_->rules.back().kind == Rule::Kind::tensor;
}

Result<Spec> Matcher::tensor(const std::string& name, const Spec& spec) {
  for (std::size_t i = state_->rules.size(); i-- > 0 && state_->rules[i].kind == Rule::Kind::tensor;) {
    const Rule& rule = state_->rules[i];
    state_->tensors.insert(name);
    if (!fits(rule.pattern, name)) continue;
    state_->used[i] = true;
    auto changed = parse_spec(rule.words, spec);
    if (!changed.ok()) return std::move(changed).error().within(rule.place);
    // Another kind of format would need another kind of node.
    if (changed->is_integer() == spec.is_integer() && changed->is_linear() == spec.is_linear())
      return changed;
    return error_at(Code::invalid_argument, rule.place,
                    fmt::format("tensor '{}' is quantized as {}: a rule for it cannot make it {}",
                                shown(name), to_string(spec), to_string(*changed)),
                    "a rule for its node: name, type");
  }
  return spec;
}

bool Matcher::named(const Subject& subject) const {
  if (!state_->only.empty()) return state_->only.contains(subject.name);
  for (std::size_t i = 0; i < state_->rules.size(); ++i) {
    if (state_->names(i, subject)) return true;
  }
  return false;
}

bool Matcher::covers_all() const { return std::ranges::any_of(state_->rules, &Rule::every); }

bool Matcher::by_type(const std::string& op) const {
  return std::ranges::any_of(state_->rules, [&](const Rule& rule) { return is_for(rule, op); });
}

Matcher::Naming Matcher::naming(const graph::Node& node) const {
  Naming naming;
  const Subject subject = subject_of(node, true, 0);
  for (std::size_t i = 0; i < state_->rules.size(); ++i) {
    const Rule& rule = state_->rules[i];
    const bool by_type = is_for(rule, node.op_type.str());
    if (!by_type && !state_->names(i, subject)) continue;
    naming.rules.insert(i);
    naming.itself |=
        by_type || rule.kind == Rule::Kind::regex ||
        (rule.kind == Rule::Kind::name && fits(plain_name(rule.pattern), plain_name(subject.name)));
  }
  return naming;
}

Result<std::vector<std::string>> Matcher::unused() const {
  std::vector<std::string> lines;
  if (!state_->only.empty()) return lines;
  for (std::size_t i = 0; i < state_->rules.size(); ++i) {
    const Rule& rule = state_->rules[i];
    if (state_->used[i]) continue;
    if (rule.kind == Rule::Kind::name || rule.kind == Rule::Kind::regex) {
      // Includes types: `--exclude` accepts both, and treats an unknown type as a name.
      const std::vector<std::string_view> names(state_->met.begin(), state_->met.end());
      const std::string meant = did_you_mean(rule.pattern, names);
      return error_at(Code::invalid_argument, rule.place,
                      fmt::format("{} '{}' matches no node", name_of(rule.kind), shown(rule.pattern)),
                      meant.empty() ? "`anybit inspect --nodes MODEL` lists the names" : meant);
    }
    if (rule.kind == Rule::Kind::tensor) {
      const std::vector<std::string_view> names(state_->tensors.begin(), state_->tensors.end());
      const std::string meant = did_you_mean(rule.pattern, names);
      return error_at(Code::invalid_argument, rule.place,
                      fmt::format("no tensor '{}' is quantized with static parameters", shown(rule.pattern)),
                      meant.empty() ? "a report of `anybit quantize --json` lists those that are" : meant);
    }
    if (rule.kind == Rule::Kind::where)
      lines.push_back(
          fmt::format("{}: the rule for '{}'{} applies to no node", rule.place, shown(rule.where->type),
                      rule.where->name.empty() ? "" : fmt::format(" '{}'", shown(rule.where->name))));
    if (rule.kind == Rule::Kind::type && !rule.optional)
      lines.push_back(fmt::format("type '{}' is not in this model", shown(rule.pattern)));
  }
  return lines;
}

}  // namespace anybit::quantizing
