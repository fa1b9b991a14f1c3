#include "quantize/training.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/table.hpp"
#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "lower/qdq.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Model;

// Rates relative to those of weights: of a step by its size, of a zero point by one integer.
constexpr double kStepRate = 10, kZeroPointRate = 30;

// Weights, biases, and scales and shifts of normalizations: float32 initializers of the main graph.
std::vector<std::string> trainable(const Model& model) {
  std::set<std::string> floats;
  for (const graph::Tensor& one : model.graph->initializers) {
    if (one.type() == graph::ElementType::float32 && one.count() > 0) floats.insert(one.name.str());
  }
  for (const graph::ValueInfo& one : model.graph->inputs) floats.erase(one.name.str());
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const graph::Node& node : model.graph->nodes) {
    const ops::Descriptor* op = ops::find(node.domain.str(), node.op_type.str());
    if (!op) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int at = static_cast<int>(i);
      const bool wanted =
          op->traits.weight(at) || op->traits.bias == at || (op->traits.normalizes && (i == 1 || i == 2));
      if (wanted && floats.contains(node.inputs[i]) && seen.insert(node.inputs[i]).second)
        names.push_back(node.inputs[i]);
    }
  }
  return names;
}

float mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float one : values) sum += static_cast<double>(one);
  return static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(values.size(), 1)));
}

graph::Tensor* find_initializer(Model& model, std::string_view name) {
  const auto found = std::ranges::find_if(model.graph->initializers,
                                          [&](const graph::Tensor& one) { return one.name.str() == name; });
  return found == model.graph->initializers.end() ? nullptr : &*found;
}

// The squared error of values at a scale.
double squared_error(std::span<const float* const> values, float scale, float low, float high) {
  double error = 0;
  for (const float* x : values) {
    const float q = std::min(std::max(std::nearbyint(*x / scale), low), high) * scale;
    const double d = static_cast<double>(*x) - static_cast<double>(q);
    error += d * d;
  }
  return error;
}

// Steps of weights with few bits start at the least squared error: the largest value would set them
// otherwise.
void shrink_steps(Model& student, const lower::GraphPlan& plan, const lower::LearnedStep& step,
                  const std::string& weight) {
  constexpr int kFew = 32;  // integers
  if (step.high - step.low >= kFew) return;
  graph::Tensor* steps = find_initializer(student, step.step);
  const graph::Tensor* values = find_initializer(student, weight);
  const auto constant = std::ranges::find_if(
      plan.constants, [&](const lower::Constant& one) { return one.places.front() == step.place; });
  if (!steps || !values || constant == plan.constants.end()) return;
  const Bytes held = values->data.aligned(alignof(float));
  const auto* x = reinterpret_cast<const float*>(held.data());
  const lower::Places places(constant->quantized.dims, step.first);
  std::vector<float> scales = step.first.scales;
  std::vector<std::vector<const float*>> groups(scales.size());
  for (std::int64_t i = 0; i < values->count(); ++i)
    groups[static_cast<std::size_t>(places.of(i))].push_back(x + i);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const float zero = step.first.zero_points.empty() ? 0.0F : static_cast<float>(step.first.zero_points[g]);
    const float low = static_cast<float>(step.low) - zero, high = static_cast<float>(step.high) - zero;
    float best = scales[g];
    double least = squared_error(groups[g], best, low, high);
    for (int k = 96; k >= 20; k -= 4) {
      const float scale = scales[g] * static_cast<float>(k) / 100.0F;
      const double error = squared_error(groups[g], scale, low, high);
      if (error >= least) continue;
      least = error;
      best = scale;
    }
    scales[g] = best;
  }
  steps->data = Bytes::own(std::move(scales));
}

// The values of a trained variable.
std::vector<float> floats_of(const ops::Array& array) {
  const auto elements = array.elements<float>();
  return {elements.begin(), elements.end()};
}

Spec::Given given_by(const lower::LearnedStep& step, const std::map<std::string, ops::Array>& values,
                     const Model& student) {
  const auto current = [&](const std::string& name) -> std::vector<float> {
    if (const auto found = values.find(name); found != values.end()) return floats_of(found->second);
    for (const graph::Tensor& one : student.graph->initializers) {
      if (one.name.str() != name) continue;
      const Bytes held = one.data.aligned(alignof(float));
      const auto* x = reinterpret_cast<const float*>(held.data());
      return {x, x + one.count()};
    }
    return {};
  };
  Spec::Given given;
  given.scales = current(step.step);
  given.zero_points = step.first.zero_points;
  if (!step.zero_point.empty()) {
    given.zero_points.clear();
    for (const float zero : current(step.zero_point))
      given.zero_points.push_back(static_cast<std::int32_t>(
          std::clamp(std::nearbyint(zero), static_cast<float>(step.low), static_cast<float>(step.high))));
  }
  return given;
}

// The parameters of a training: weights first, then what the quantizers learn.
std::vector<train::Parameter> parameters_of(const Model& model, const std::vector<lower::LearnedStep>& steps,
                                            const TrainingOptions& options) {
  std::vector<train::Parameter> parameters;
  for (const std::string& name : trainable(model)) parameters.push_back({.name = name, .decays = true});
  if (options.step_rate == 0) return parameters;
  for (const lower::LearnedStep& one : steps) {
    // The rate of a step is relative to its size: a step of the optimizer changes it by some per mille.
    const float mean = mean_of(one.first.scales), least = std::ranges::min(one.first.scales);
    parameters.push_back({.name = one.step,
                          .rate = options.step_rate * kStepRate * static_cast<double>(mean),
                          .least = least / 64});
    if (!one.zero_point.empty())
      parameters.push_back({.name = one.zero_point, .rate = options.step_rate * kZeroPointRate});
  }
  return parameters;
}

bool has_few_bits(const Spec& spec, int most = 2) {
  if (spec.is_float()) return false;
  const auto codec = formats::make(spec.format(), spec.use.parameters);
  return codec.ok() && (*codec)->bits() <= most;
}

// Whether weights of a first or last layer get 8 bits: those of 2 bits, and integers of 4 (LSQ, Esser et al.,
// ICLR 2020, keeps 8 bits there as well).
bool is_widened(const Spec& spec) {
  constexpr int kFewForIntegers = 4;
  if (spec.is_float()) return false;
  const auto format = formats::find(spec.format());
  const bool integer = format.ok() && (*format)->family == "affine";
  return has_few_bits(spec, integer ? kFewForIntegers : 2);
}

}  // namespace

void LearnedScales::apply(Annotation& annotation) const {
  const auto give = [](Spec& spec, const Spec::Given& given) {
    spec.source = Spec::Source::given;
    spec.given = given;
  };
  for (Cluster& one : annotation.graph.clusters) {
    if (const auto found = clusters.find(one.values.front()); found != clusters.end())
      give(one.spec, found->second);
  }
  for (ConstantNote& one : annotation.graph.constants) {
    one.rounding = {};
    if (one.places.empty()) continue;
    if (const auto found = constants.find(one.places.front()); found != constants.end())
      give(one.spec, found->second);
  }
}

Result<LearnedScales> train_quantized(Model& model, const lower::GraphPlan& plan,
                                      const train::SampleStore& samples, const TrainingOptions& options,
                                      const Settings& settings, QuantizationReport& report) {
  train::Job job;
  job.teacher = std::make_shared<const Model>(model);
  job.student = model;
  graph::Names names(job.student);
  lower::Functions functions(job.student, lower::Functions::Mode::left_out);
  const auto steps = TRY(lower::to_training(*job.student.graph, plan, names, functions));
  for (const lower::LearnedStep& one : steps) {
    if (!one.weight) continue;
    const lower::Place place = one.place;
    shrink_steps(job.student, plan, one,
                 model.graph->nodes[static_cast<std::size_t>(place.node)]
                     .inputs[static_cast<std::size_t>(place.input)]);
  }
  job.parameters = parameters_of(model, steps, options);
  job.samples = &samples;
  job.options = options;
  job.executor = settings.executor;
  const Model student = job.student;
  train::Trained trained = TRY(train::train(std::move(job)));
  std::ranges::move(trained.remarks, std::back_inserter(report.remarks));
  report.training = std::move(trained.report);
  LearnedScales learned;
  if (!report.training->trained) return learned;
  for (const auto& [name, array] : trained.values) {
    if (graph::Tensor* weight = find_initializer(model, name)) {
      graph::Tensor changed = graph::make_tensor(name, weight->dims, floats_of(array));
      *weight = std::move(changed);
    }
  }
  for (const lower::LearnedStep& one : steps) {
    Spec::Given given = given_by(one, trained.values, student);
    if (one.weight) {
      learned.constants.emplace(one.place, std::move(given));
    } else {
      learned.clusters.emplace(one.cluster, std::move(given));
    }
  }
  return learned;
}

std::map<std::string, Choice> wider_ends(const Model& model, const Annotation& annotation) {
  const GraphNotes& notes = annotation.graph;
  std::map<std::string, Choice> choices;
  int first = -1, last = -1;
  for (const ConstantNote& one : notes.constants) {
    for (const lower::Place& place : one.places) {
      const NodeNote& node = notes.nodes[static_cast<std::size_t>(place.node)];
      if (!node.scheme.weight) continue;
      if (first < 0 || place.node < first) first = place.node;
      last = std::max(last, place.node);
    }
  }
  for (const int i : {first, last}) {
    if (i < 0) continue;
    const Scheme& scheme = notes.nodes[static_cast<std::size_t>(i)].scheme;
    if (!scheme.weight || !is_widened(*scheme.weight)) continue;
    Choice choice;
    choice.scheme.weight = *parse_spec("int8 sym channel");
    choice.scheme.data = scheme.data_in.value_or(Spec());
    if (has_few_bits(choice.scheme.data)) choice.scheme.data = *parse_spec("int8 asym");
    choice.reason = fmt::format("the {} layer keeps 8 bits in training", i == first ? "first" : "last");
    choices.emplace(choice_key(notes.place, model.graph->nodes[static_cast<std::size_t>(i)].outputs),
                    std::move(choice));
  }
  return choices;
}

bool gains_by_training(const Annotation& annotation) {
  constexpr int kFew = 4;
  const GraphNotes& notes = annotation.graph;
  return std::ranges::any_of(notes.constants,
                             [](const ConstantNote& one) { return has_few_bits(one.spec, kFew); }) ||
         std::ranges::any_of(notes.clusters, [](const Cluster& one) { return has_few_bits(one.spec, kFew); });
}

}  // namespace anybit::quantizing
