#include "quantize/choose.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/try.hpp"
#include "calibrate/dynamic_error.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "ops/table.hpp"
#include "quantize/implied_clamps.hpp"
#include "quantize/weights.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;
using graph::QdqView;

constexpr std::string_view kErrorCollector = "dynamic-error";
constexpr double kLargestHalf = 65504;  // of float16
constexpr double kLeastDecibels = 20;   // below, a layer stays in float
constexpr double kWorthDecibels = 1;    // less error than that is not worth a higher cost

double decibels(double error) { return error > 0 ? -10 * math::log10(error) : 200; }

// Calls see(view, notes) for the graph and its subgraphs.
template <class See>
Result<void> walk(const Graph& graph, const QdqView* around, const GraphNotes& notes, const See& see) {
  const QdqView view(graph, around);
  TRY(see(view, notes));
  for (const GraphNotes& inner : notes.inner) TRY(walk(subgraph_of(graph, inner), &view, inner, see));
  return {};
}

// The recipe in which every choice has the same outcome; false if no rule has that many alternatives.
bool take_alternative(Recipe& recipe, std::size_t which) {
  bool any = false;
  for (Rule& rule : recipe.rules) {
    if (!rule.scheme.choose || which >= rule.scheme.choose->size()) continue;
    const Alternative& one = (*rule.scheme.choose)[which];
    if (one.data.is_float()) continue;
    rule.scheme.set(one);
    any = true;
  }
  return any;
}

bool is_float(const Alternative& one) { return one.data.is_float() && one.weight.is_float(); }

// The error of values with a normal distribution that reaches four standard deviations, for activations
// without data. Symmetric steps waste half of the range on values that are never negative.
double assumed_error(const Spec& data, bool positive) {
  constexpr double kDeviations = 4;
  const double step = (positive && !data.symmetric() ? kDeviations : 2 * kDeviations) / 255;
  return step * step / 12;
}

std::string name_of(const Alternative& one) {
  return fmt::format("{}Activation,{}Weight", one.data.symmetric() ? "sym" : "asym",
                     one.weight.symmetric() ? "sym" : "asym");
}

// Gathers open layers and their options from the annotations of all alternatives.
class LayerFinder {
 public:
  LayerFinder(const graph::Model& model, ThreadPool& pool) : model_(model), pool_(pool) {}

  Result<void> look_at(const Annotation& annotation) {
    return walk(*model_.graph, nullptr, annotation.graph,
                [&](const QdqView& view, const GraphNotes& notes) -> Result<void> {
                  std::optional<Clamps> clamps;
                  for (const DynamicNote& one : notes.dynamic) {
                    const NodeNote& note = notes.nodes[static_cast<std::size_t>(one.node)];
                    if (!note.scheme.choose || one.weights.empty()) continue;
                    if (!clamps) clamps.emplace(view);
                    TRY(add(view.graph(), notes, one, *clamps));
                  }
                  return {};
                });
  }

  std::vector<SchemeChooser::Layer> take() { return std::move(layers_); }

 private:
  Result<void> add(const Graph& graph, const GraphNotes& notes, const DynamicNote& dynamic,
                   const Clamps& clamps) {
    const Node& node = graph.nodes[static_cast<std::size_t>(dynamic.node)];
    const Scheme& scheme = notes.nodes[static_cast<std::size_t>(dynamic.node)].scheme;
    const std::string key = choice_key(notes.place, node.outputs);
    const auto [found, is_new] = by_key_.emplace(key, layers_.size());
    if (is_new) {
      SchemeChooser::Layer& layer = layers_.emplace_back();
      layer.key = key;
      layer.input = graph::input(node, 0);
      layer.positive = clamps.is_positive(layer.input);
      layer.may_be_float = std::ranges::any_of(*scheme.choose, is_float);
      measure(node, notes.constants[dynamic.weights.front()], layer);
    }
    SchemeChooser::Option option{{*scheme.data_in, *scheme.weight}};
    for (const std::size_t weight : dynamic.weights)
      option.weight_error = std::max(option.weight_error, TRY(weight_error(notes.constants[weight])));
    std::vector<SchemeChooser::Option>& options = layers_[found->second].options;
    if (std::ranges::find(options, option.scheme, &SchemeChooser::Option::scheme) == options.end())
      options.push_back(std::move(option));
    return {};
  }

  // Numbers of multiplications, inputs and outputs per row of a GEMM or position of a convolution.
  static void measure(const Node& node, const ConstantNote& weight, SchemeChooser::Layer& layer) {
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    const ops::Traits::Weight* traits = descriptor->traits.weight(weight.places.front().input);
    const std::vector<std::int64_t>& dims = weight.tensor->dims;
    const std::int64_t axis = traits && traits->channel_axis ? traits->channel_axis(node, dims.size()) : -1;
    layer.macs = static_cast<double>(weight.tensor->count());
    layer.outputs = axis < 0 ? 1 : static_cast<double>(dims[static_cast<std::size_t>(axis)]);
    const bool convolves = descriptor->traits.linear == ops::Traits::Linear::convolution && dims.size() > 2;
    layer.inputs = convolves ? static_cast<double>(dims[1] * graph::integer(node, "group", 1))
                             : layer.macs / std::max(1.0, layer.outputs);
  }

  // Without refinements: they take long, and change all alternatives alike.
  Result<double> weight_error(ConstantNote note) {
    const auto [known, is_new] = errors_.emplace(std::pair(note.tensor, to_string(note.spec)), 0.0);
    if (!is_new) return known->second;
    note.rounding = {};
    const QuantizedWeight made = TRY(quantize_weight(note, {}, pool_));
    return known->second = math::pow(10.0, -made.sqnr / 10);
  }

  const graph::Model& model_;
  ThreadPool& pool_;
  std::vector<SchemeChooser::Layer> layers_;
  std::map<std::string, std::size_t> by_key_;
  std::map<std::pair<const graph::Tensor*, std::string>, double> errors_;
};

// The first constant of a node with values beyond float16, as a reason; empty if there is none.
std::string beyond_half(const QdqView& view, const Node& node) {
  for (const std::string& name : node.inputs) {
    const graph::Tensor* tensor = view.constant(name);
    if (!tensor || tensor->type() != graph::ElementType::float32) continue;
    float largest = 0;
    for (std::int64_t i = 0; i < tensor->count(); ++i)
      largest = std::max(largest, std::abs(tensor->data.at<float>(static_cast<std::size_t>(i))));
    if (static_cast<double>(largest) > kLargestHalf)
      return fmt::format("its constant '{}' reaches {:.3g}, which float16 cannot hold", shown(name), largest);
  }
  return {};
}

Result<std::vector<SchemeChooser::Half>> halves_of(const graph::Model& model, const Annotation& annotation) {
  std::vector<SchemeChooser::Half> halves;
  TRY(walk(*model.graph, nullptr, annotation.graph,
           [&](const QdqView& view, const GraphNotes& notes) -> Result<void> {
             for (const int at : notes.half) {
               const Node& node = view.graph().nodes[static_cast<std::size_t>(at)];
               SchemeChooser::Half& half = halves.emplace_back();
               half.key = choice_key(notes.place, node.outputs);
               half.problem = beyond_half(view, node);
               for (const auto* names : {&node.inputs, &node.outputs}) {
                 for (const std::string& name : *names) {
                   if (!name.empty() && !view.constant(name)) half.values.push_back(name);
                 }
               }
             }
             return {};
           }));
  return halves;
}

// The cost of a layer as 8-bit integers, in units of its cost in float.
double cost_of(const SchemeChooser::Layer& layer, const Alternative& one, const Target::Costs& costs) {
  const bool data = !one.data.symmetric(), weight = !one.weight.symmetric();
  const double per_input =
      (data ? costs.quantize_asymmetric : costs.quantize_symmetric) + (weight ? costs.row_sum : 0);
  const double per_output =
      costs.rescale + (data ? costs.data_zero_point : 0) + (weight ? costs.weight_zero_point : 0);
  return (layer.macs * costs.multiply + layer.inputs * per_input + layer.outputs * per_output) / layer.macs;
}

struct Judged {
  const Alternative* scheme;
  double decibels, cost;
};

std::vector<Judged> judged(const SchemeChooser::Layer& layer, const calibrate::DynamicError* error,
                           const Target::Costs& costs) {
  std::vector<Judged> all;
  for (const SchemeChooser::Option& one : layer.options) {
    const Spec& data = one.scheme.data;
    const double of_data = !error             ? assumed_error(data, layer.positive)
                           : data.symmetric() ? error->symmetric()
                                              : error->asymmetric();
    all.push_back({&one.scheme, decibels(of_data + one.weight_error), cost_of(layer, one.scheme, costs)});
  }
  return all;
}

std::string text_of(const Judged& one) {
  return fmt::format("{} {:.1f} dB at {:.2f} of the cost of float", name_of(*one.scheme), one.decibels,
                     one.cost);
}

// The cheapest scheme whose error is close to the least; or float.
Choice choice_of(const SchemeChooser::Layer& layer, const calibrate::DynamicError* error,
                 const Target::Costs& costs) {
  const std::vector<Judged> all = judged(layer, error, costs);
  const double most = std::ranges::max(all, {}, &Judged::decibels).decibels;
  const Judged* best = nullptr;
  for (const Judged& one : all) {
    if (one.decibels + kWorthDecibels < most) continue;
    const bool better =
        !best || one.cost < best->cost || (one.cost == best->cost && one.decibels > best->decibels);
    if (better) best = &one;
  }
  std::string others;
  for (const Judged& one : all) {
    if (&one != best) others += fmt::format("; {}", text_of(one));
  }
  const char* by = error ? "on the calibration data" : "by the weights, with normal activations assumed";
  if (layer.may_be_float && best->decibels < kLeastDecibels)
    return {{},
            fmt::format("float: the best of {} would be {}, below {} dB {}", all.size(), text_of(*best),
                        kLeastDecibels, by)};
  if (layer.may_be_float && best->cost >= 1)
    return {{}, fmt::format("float: not slower than {} {}", text_of(*best), by)};
  return {*best->scheme, fmt::format("{} {}{}", text_of(*best), by, others)};
}

// The measured error of a value; null if there is none. It does not depend on the view.
const calibrate::Collector* collected(const calibrate::Statistics& statistics) {
  for (const auto& [key, collector] : statistics.further) {
    if (key.first == kErrorCollector && statistics.extent.samples > 0) return &*collector;
  }
  return nullptr;
}

}  // namespace

Result<SchemeChooser> SchemeChooser::of(const graph::Model& model, const Annotation& annotation,
                                        const Recipe& recipe, const Target& target, const Limits& limits,
                                        ThreadPool& pool) {
  SchemeChooser chooser;
  chooser.costs_ = target.costs;
  chooser.halves_ = TRY(halves_of(model, annotation));
  LayerFinder finder(model, pool);
  for (std::size_t i = 0;; ++i) {
    Recipe one = recipe;
    if (!take_alternative(one, i)) break;
    if (i == 0)
      TRY(finder.look_at(annotation));
    else
      TRY(finder.look_at(TRY(annotate(model, one, target, limits))));
  }
  chooser.layers_ = finder.take();
  return chooser;
}

std::vector<calibrate::Watched> SchemeChooser::watched() const {
  std::map<std::string, std::vector<calibrate::Wanted>> names;
  for (const Layer& one : layers_) names[one.input] = {{kErrorCollector}};
  for (const Half& one : halves_) {
    for (const std::string& value : one.values) names.try_emplace(value);
  }
  std::vector<calibrate::Watched> all;
  for (auto& [name, wanted] : names) all.push_back({name, std::move(wanted)});
  return all;
}

std::map<std::string, Choice> SchemeChooser::choose(const SeenValue& seen) const {
  std::map<std::string, Choice> choices;
  for (const Layer& layer : layers_) {
    const calibrate::Statistics* statistics = seen(layer.input);
    const calibrate::Collector* error = statistics ? collected(*statistics) : nullptr;
    choices.emplace(layer.key, choice_of(layer, static_cast<const calibrate::DynamicError*>(error), costs_));
  }
  for (const Half& half : halves_) {
    std::string problem = half.problem;
    for (const std::string& value : half.values) {
      const calibrate::Statistics* statistics = seen(value);
      if (!problem.empty() || !statistics || statistics->extent.samples == 0) continue;
      const float largest = std::max(std::abs(statistics->extent.min), std::abs(statistics->extent.max));
      if (static_cast<double>(largest) > kLargestHalf)
        problem = fmt::format("'{}' reaches {:.3g} on the calibration data, which float16 cannot hold",
                              shown(value), largest);
    }
    if (!problem.empty()) choices.emplace(half.key, Choice{{}, problem + ": it stays in float32"});
  }
  return choices;
}

}  // namespace anybit::quantizing
