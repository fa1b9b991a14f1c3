#include "quantize/target.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit::quantizing {
namespace {

using Formats = Target::Formats;

// Arm Ethos-U by model and multiply-accumulates per cycle.
void add_ethos(std::vector<Target>& list) {
  static const std::vector<std::string_view> kOps = {
      "Conv",          "ConvTranspose", "MatMul",     "Gemm",        "Add",       "Sub",
      "Mul",           "Min",           "Max",        "AveragePool", "MaxPool",   "GlobalAveragePool",
      "GlobalMaxPool", "ReduceMean",    "Softmax",    "Concat",      "Reshape",   "Flatten",
      "Squeeze",       "Unsqueeze",     "Transpose",  "Slice",       "Split",     "Pad",
      "Resize",        "Identity",      "Relu",       "Clip",        "LeakyRelu", "PRelu",
      "Sigmoid",       "Tanh",          "HardSwish",  "HardSigmoid", "Elu",       "Gelu",
      "Exp",           "Sqrt",          "Reciprocal", "Abs",         "Erf",       "Div",
      "LSTM"};
  struct Series {
    std::string_view name;
    std::vector<int> sizes;
  };
  for (const Series& series : {Series{"u55", {32, 64, 128, 256}}, Series{"u65", {256, 512}},
                               Series{"u85", {128, 256, 512, 1024, 2048}}}) {
    for (const int size : series.sizes) {
      Target target;
      target.name = fmt::format("ethos-{}-{}", series.name, size);
      target.summary = "Arm Ethos-U: symmetric int8 weights, static int8 or int16 activations";
      target.ops = kOps;
      target.formats = {{"int8", "int8 sym"}, {"int16 sym", "int8 sym"}};
      target.dynamic = false;
      target.saturates = false;
      list.push_back(std::move(target));
    }
  }
}

// The operators that onnx-mlir maps to the accelerator (its table of supported operators for NNPA). Whether a
// node's shape and attributes fit is checked there. The last rows only move or limit values, which onnx-mlir
// leaves in the accelerator's layout or does on the CPU: they need no conversion.
std::vector<std::string_view> nnpa_operators() {
  return {"MatMul",     "Gemm",
          "Conv",       "ConvTranspose",
          "LSTM",       "GRU",
          "Add",        "Sub",
          "Mul",        "Div",
          "Min",        "Max",
          "Sum",        "Relu",
          "LeakyRelu",  "Gelu",
          "Sigmoid",    "Tanh",
          "Sqrt",       "Exp",
          "Log",        "Pow",
          "Softplus",   "Softmax",
          "MaxPool",    "AveragePool",
          "LogSoftmax", "BatchNormalization",
          "ReduceMean", "GlobalAveragePool",
          "Clip",       "Reshape",
          "Flatten",    "Transpose",
          "Squeeze",    "Unsqueeze",
          "Concat",     "Slice",
          "Identity"};
}

bool fits(const Spec& spec, std::string_view wanted) {
  const auto words = parse_spec(wanted);
  if (!words.ok() || spec.format() != words->format()) return false;
  return !words->symmetric() || spec.symmetric();
}

bool is_set(const std::optional<Spec>& spec) { return spec && !spec->is_float(); }

// Returns true if the spec is the activation format of one of the target's pairs.
bool fits_data(const Spec& spec, const Formats& pair, const Target& target) {
  return fits(spec, pair.activation) && (target.dynamic || !spec.is_dynamic());
}

Error refused(const std::string& place, const Target& target, const Spec& spec, const std::string& what) {
  std::string known;
  for (const Formats& one : target.formats)
    known += fmt::format("{}activations {} with weights {}", known.empty() ? "" : ", ", one.activation,
                         one.weight);
  return error_at(
      Code::invalid_argument, place,
      fmt::format("target {} does not support {} as {}", target.name, to_string(spec), what),
      fmt::format("{}{}{}", known, target.channels ? "" : ", per tensor", target.dynamic ? "" : ", static"));
}

// A rule that was added to a recipe has no line in it.
std::string place_of(const Rule& rule) {
  if (!rule.place.empty() || rule.pattern.empty()) return rule.place;
  return fmt::format("{} '{}'", name_of(rule.kind), shown(rule.pattern));
}

Result<void> check_weight(const Rule& rule, const Spec& weight, const Target& target) {
  const bool known =
      std::ranges::any_of(target.formats, [&](const Formats& one) { return fits(weight, one.weight); });
  const bool granularity = !weight.is_integer() || weight.granularity() == Granularity::tensor ||
                           (target.channels && weight.granularity() == Granularity::channel);
  if (!known || !granularity) return refused(place_of(rule), target, weight, "weights");
  return {};
}

Result<void> check_rule(const Rule& rule, const Target& target) {
  std::vector<Spec> data, weights;
  const auto add = [](const std::optional<Spec>& spec, std::vector<Spec>& to) {
    if (is_set(spec)) to.push_back(*spec);
  };
  add(rule.scheme.data_in, data);
  add(rule.scheme.data_out, data);
  add(rule.scheme.weight, weights);
  for (const Alternative& one : rule.scheme.choose.value_or(std::vector<Alternative>())) {
    add(one.data, data);
    add(one.weight, weights);
  }
  for (const Spec& spec : data) {
    auto checked = check_data(spec, target);
    if (!checked.ok()) return std::move(checked).error().within(place_of(rule));
  }
  for (const Spec& spec : weights) TRY(check_weight(rule, spec, target));
  return {};
}

}  // namespace

bool Target::runs(std::string_view op) const {
  return ops.empty() || std::ranges::find(ops, op) != ops.end();
}

bool Target::runs_in(std::string_view op, const Scheme& scheme) const {
  const auto pair = std::ranges::find_if(formats, [&](const Formats& one) {
    return fits(*scheme.data_in, one.activation) &&
           (scheme.weight->is_float() || fits(*scheme.weight, one.weight));
  });
  return pair == formats.end() || pair->ops.empty() || std::ranges::find(pair->ops, op) != pair->ops.end();
}

std::vector<Target> targets() {
  std::vector<Target> list;
  Target generic;
  generic.summary = "any runtime of quantized ONNX models";
  list.push_back(generic);
  Target runtime;
  runtime.name = "ort";
  runtime.summary = "ONNX Runtime on x86-64: unsigned activations, which it does not have to convert";
  runtime.preset = "u8s8";
  list.push_back(runtime);
  Target nnpa;
  nnpa.name = "nnpa";
  nnpa.summary = "IBM Telum II: float16, or per-tensor int8 matrix multiplications";
  nnpa.preset = "nnpa-float16";
  nnpa.ops = nnpa_operators();
  nnpa.formats = {{"int8", "int8", {"MatMul", "Gemm"}}, {"float16", "float16"}};
  nnpa.islands = true;
  // Telum II multiplies 8-bit integers at twice the rate of its 16-bit floats. The accelerator quantizes
  // activations while it converts them, and onnx-mlir adds the term of their zero point to the bias when it
  // compiles; that of the weights needs row sums at run time.
  nnpa.costs = {.multiply = 0.5,
                .quantize_symmetric = 2,
                .quantize_asymmetric = 3,
                .row_sum = 1,
                .rescale = 1,
                .data_zero_point = 0,
                .weight_zero_point = 1};
  nnpa.channels = false;
  nnpa.saturates = false;
  list.push_back(nnpa);
  add_ethos(list);
  return list;
}

Result<Target> find_target(std::string_view name) {
  std::vector<std::string> names;
  for (Target& one : targets()) {
    if (one.name == name) return std::move(one);
    names.push_back(one.name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string meant = did_you_mean(name, views);
  return error_at(Code::not_found, {}, fmt::format("no target '{}'", shown(name)),
                  meant.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : meant);
}

Result<Target> read_target(const std::string& text, const std::string& name) {
  static constexpr std::string_view kKeys[] = {"target", "system_configuration", "memory_mode"};
  std::string base, system, memory;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap())
      return error_at(Code::malformed, name, "a target is a map", "{target: ethos-u55-128, …}");
    for (const auto& pair : root) {
      const std::string key = pair.first.as<std::string>(), value = pair.second.as<std::string>();
      if (key == "target") {
        base = value;
      } else if (key == "system_configuration") {
        system = value;
      } else if (key == "memory_mode") {
        memory = value;
      } else {
        return error_at(Code::invalid_argument, name, fmt::format("unknown key '{}'", shown(key)),
                        did_you_mean(key, kKeys));
      }
    }
  } catch (const YAML::Exception& thrown) {
    return error_at(Code::malformed, fmt::format("{}, line {}", name, thrown.mark.line + 1), thrown.msg);
  }
  Target target = TRY(find_target(base));
  target.system_configuration = system;
  target.memory_mode = memory;
  return target;
}

Result<void> check(const Recipe& recipe, const Target& target) {
  if (target.formats.empty()) return {};
  for (const Rule& rule : recipe.rules) TRY(check_rule(rule, target));
  return {};
}

Result<void> check_data(const Spec& spec, const Target& target) {
  const bool known = target.formats.empty() || std::ranges::any_of(target.formats, [&](const Formats& one) {
                       return fits_data(spec, one, target);
                     });
  return known ? Result<void>() : refused({}, target, spec, "activations");
}

Result<void> check_pair(const Scheme& scheme, const Target& target) {
  const Spec &data = *scheme.data_in, &weight = *scheme.weight;
  const bool known = target.formats.empty() || std::ranges::any_of(target.formats, [&](const Formats& one) {
                       return fits_data(data, one, target) && fits(weight, one.weight);
                     });
  if (known) return {};
  return refused({}, target, data, fmt::format("activations beside weights {}", to_string(weight)));
}

void note_target(graph::Model& model, const Target& target) {
  const auto note = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    graph::Property property;
    property.key = graph::Text(key);
    property.value = graph::Text(value);
    model.metadata.push_back(std::move(property));
  };
  if (target.name != "generic") note("anybit.target", target.name);
  note("anybit.system_configuration", target.system_configuration);
  note("anybit.memory_mode", target.memory_mode);
}

}  // namespace anybit::quantizing
