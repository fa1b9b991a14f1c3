#include "quantize/plan.hpp"

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "calibrate/histogram.hpp"
#include "lower/linear.hpp"
#include "quantize/parameters.hpp"
#include "quantize/static_form.hpp"
#include "quantize/weights.hpp"

namespace anybit::quantizing {
namespace {

using calibrate::Statistics;
using lower::Parameters;

bool needs_statistics(const Cluster& cluster) {
  return !cluster.fixed && cluster.spec.is_static() && !cluster.spec.is_given();
}

// Leaves everything in float.
void leave(GraphNotes& notes) {
  for (NodeNote& node : notes.nodes) {
    if (node.outcome != Outcome::left) node.reason = "no sample reached its subgraph";
    node.outcome = Outcome::left;
  }
  notes.clusters.clear();
  notes.values.clear();
  notes.constants.clear();
  notes.biases.clear();
  notes.dynamic.clear();
  notes.half.clear();
  notes.saturating.clear();
  for (GraphNotes& inner : notes.inner) leave(inner);
}

using Needs = std::map<std::string, std::vector<calibrate::Wanted>>;  // by value

void add_need(std::string_view collector, std::vector<calibrate::Wanted>& needs) {
  if (!collector.empty() && std::ranges::count(needs, collector, &calibrate::Wanted::collector) == 0)
    needs.push_back({collector});
}

void gather_names(const GraphNotes& notes, Needs& names) {
  for (const Cluster& cluster : notes.clusters) {
    if (!needs_statistics(cluster)) continue;
    const calibrate::Descriptor* observer = calibrate::find(cluster.spec.observer);
    for (const std::string& source : cluster.sources)
      add_need(observer ? observer->needs : std::string_view(), names[source]);
  }
  for (const ConstantNote& note : notes.constants) {
    for (const calibrate::WantedOf& one : note.rounding.needs) names[one.value].push_back(one.wanted);
  }
  if (!notes.sign.empty()) names.try_emplace(notes.sign);
  for (const GraphNotes& inner : notes.inner) gather_names(inner, names);
}

using Seen = std::map<std::string, const Statistics*>;

// Without statistics for a branch that no sample took, its nodes stay in float.
void leave_unentered(GraphNotes& notes, const Seen& seen, QuantizationReport& report) {
  const auto sign = seen.find(notes.sign);
  if (sign == seen.end() || sign->second->extent.samples > 0) {
    for (GraphNotes& inner : notes.inner) leave_unentered(inner, seen, report);
    return;
  }
  report.remarks.push_back(
      fmt::format("{}: no sample reached this subgraph; it is left in float", notes.place));
  leave(notes);
}

// Passes collected statistics to the refinements that round weights.
void hand_over(GraphNotes& notes, const Seen& seen) {
  for (ConstantNote& note : notes.constants) {
    note.rounding.collected.clear();
    for (const calibrate::WantedOf& one : note.rounding.needs) {
      const auto found = seen.find(one.value);
      note.rounding.collected.push_back(
          found == seen.end() ? nullptr : found->second->find(one.wanted.collector, one.wanted.view.text()));
    }
  }
  for (GraphNotes& inner : notes.inner) hand_over(inner, seen);
}

// Whether training may choose the scale: any float32 will do.
bool may_learn(const Spec& spec) {
  return spec.is_integer() && affine_codec(spec)->kind() == formats::ScaleKind::float32;
}

// The consumer of a constant, for messages.
std::string place_of(const GraphNotes& notes, const std::vector<lower::Place>& places) {
  const NodeNote& node = notes.nodes[static_cast<std::size_t>(places.front().node)];
  return fmt::format("node '{}' ({})", shown(node.name), shown(node.op));
}

class Planner {
 public:
  Planner(const Seen& statistics, ThreadPool& pool, QuantizationReport& report, const Settings& settings,
          QuantizedWeights& weights)
      : statistics_(statistics),
        pool_(pool),
        weights_(weights),
        report_(report),
        histograms_(settings.histograms),
        only_standard_(settings.functions == lower::Functions::Mode::refused) {}

  Result<lower::GraphPlan> plan(const GraphNotes& notes) {
    lower::GraphPlan plan;
    plan.node = notes.node;
    plan.which = notes.which;
    const std::vector<lower::Quantization> clusters = TRY(choose_all(notes.clusters));
    for (const ValueNote& note : notes.values) plan.activations.push_back(activation(note, clusters));
    TRY(add_constants(notes, clusters, plan));
    plan.half = notes.half;
    report_.saturating.insert(report_.saturating.end(), notes.saturating.begin(), notes.saturating.end());
    for (const GraphNotes& inner : notes.inner) plan.inner.push_back(TRY(this->plan(inner)));
    return plan;
  }

 private:
  const Statistics* find(const std::string& name) const {
    const auto found = statistics_.find(name);
    return found == statistics_.end() ? nullptr : found->second;
  }

  // The quantization of a cluster, and its row in the report.
  struct Chosen {
    lower::Quantization as;
    QuantizationReport::Tensor row;
  };

  // Runs in parallel: an observer may try a hundred ranges per cluster.
  Result<std::vector<lower::Quantization>> choose_all(const std::vector<Cluster>& clusters) {
    std::vector<std::optional<Result<Chosen>>> chosen(clusters.size());
    pool_.run(std::ssize(clusters), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        chosen[i].emplace(choose(clusters[i]));
    });
    std::vector<lower::Quantization> all;
    for (std::optional<Result<Chosen>>& one : chosen) {
      Chosen made = TRY(*std::move(one));
      if (!made.row.name.empty()) report_.tensors.push_back(std::move(made.row));
      all.push_back(std::move(made.as));
    }
    return all;
  }

  Result<Chosen> choose(const Cluster& cluster) const {
    const Spec& spec = cluster.spec;
    Chosen result{{spec.use}, {}};
    if (spec.is_dynamic()) return result;  // parameters are found at run time
    QuantizationReport::Tensor& row = result.row;
    row.name = cluster.values.front();
    row.spec = to_string(spec);
    row.values = cluster.values;
    row.levels = levels_of(spec);
    const calibrate::Range range = spec.is_given() ? given_range(spec) : TRY(range_of(cluster, row));
    const bool known = cluster.fixed && range.low >= cluster.fixed->low && range.high <= cluster.fixed->high;
    if (spec.element() == graph::ElementType::undefined) {
      StaticForm form = TRY(static_form(spec, range));
      result.as = std::move(form.as);
      row.grid_low = form.low;
      row.grid_high = form.high;
    } else {
      result.as.parameters = spec.is_given() ? from_given(spec)
                             : known         ? from_fixed(*cluster.fixed, spec)
                                             : from_range(range, spec);
      const Ends ends = ends_of(spec, result.as.parameters.zero_points[0]);
      row.grid_low = result.as.parameters.scales[0] * ends.low;
      row.grid_high = result.as.parameters.scales[0] * ends.high;
      if (spec.is_integer() && !spec.has_own_type()) result.as.clip = {row.grid_low, row.grid_high};
    }
    if (!spec.is_integer()) result.as.lowest = row.grid_low;
    result.as.cluster = row.name;
    if (!cluster.fixed && !spec.is_given() && may_learn(spec))
      result.as.learned = spec.symmetric() ? lower::Learned::step : lower::Learned::step_and_zero_point;
    row.scale = result.as.parameters.scales[0];
    row.zero_point = result.as.parameters.zero_points[0];
    if (spec.is_given()) {  // no calibration
      row.fixed = true;
      row.low = row.seen_low = row.grid_low;
      row.high = row.seen_high = row.grid_high;
    }
    return result;
  }

  // The range that a given scale covers: static_form() takes the scale itself.
  static calibrate::Range given_range(const Spec& spec) {
    return spec.given.range ? calibrate::Range{spec.given.range->first, spec.given.range->second}
                            : calibrate::Range{};
  }

  // The range of a cluster; also fills in its row of the report.
  Result<calibrate::Range> range_of(const Cluster& cluster, QuantizationReport::Tensor& row) const {
    if (cluster.fixed) {
      const calibrate::Range range = held({cluster.fixed->low, cluster.fixed->high}, cluster);
      row.fixed = true;
      row.low = row.seen_low = range.low;
      row.high = row.seen_high = range.high;
      return range;
    }
    Statistics together;
    const Statistics& seen = *TRY(seen_of(cluster, together));
    const calibrate::Descriptor* observer = TRY(calibrate::named(cluster.spec.observer));
    calibrate::Parameters how;
    if (cluster.spec.percentile != 0) how.percentile = cluster.spec.percentile;
    const calibrate::Grid grid{static_cast<int>(levels_of(cluster.spec)), cluster.spec.symmetric()};
    const calibrate::Range range = held(observer->choose(seen, grid, how), cluster);
    row.low = range.low;
    row.high = range.high;
    row.seen_low = seen.extent.min;
    row.seen_high = seen.extent.max;
    row.samples = seen.extent.samples;
    row.saturated = calibrate::share_outside(seen, range);
    if (histograms_) row.histogram = calibrate::histogram(seen);
    return range;
  }

  // Extends a range to the constants of a cluster: an observer may clip rare activations, but a constant
  // occurs in every run.
  static calibrate::Range held(calibrate::Range range, const Cluster& cluster) {
    if (!cluster.constants) return range;
    return {std::min(range.low, cluster.constants->low), std::max(range.high, cluster.constants->high)};
  }

  // Without the collectors of layer inputs: the sources of a cluster may have different ones.
  static Statistics for_observers(const Statistics& all) {
    Statistics some;
    some.extent = all.extent;
    some.has_averages = all.has_averages;
    some.averages = all.averages;
    some.has_bins = all.has_bins;
    some.bins = all.bins;
    return some;
  }

  // The merged statistics of a cluster's sources, stored in `together` unless there is only one source.
  Result<const Statistics*> seen_of(const Cluster& cluster, Statistics& together) const {
    const Statistics* all = nullptr;
    for (const std::string& source : cluster.sources) {
      const Statistics* one = find(source);
      if (!one || one->extent.samples == 0) continue;
      if (!all) {
        all = one;
        continue;
      }
      if (all != &together) together = for_observers(*all);
      all = &together;
      TRY(together.merge(for_observers(*one)));
    }
    return all ? all : &together;
  }

  static lower::Activation activation(const ValueNote& note,
                                      const std::vector<lower::Quantization>& clusters) {
    lower::Activation result{note.value};
    if (note.made >= 0) result.made = clusters[static_cast<std::size_t>(note.made)];
    for (const ValueNote::Taken& taken : note.taken)
      result.taken.push_back({clusters[static_cast<std::size_t>(taken.cluster)], taken.places});
    return result;
  }

  // Lower bounds of the weight scales so that the bias, in units of input scale × weight scale, fits int32
  // together with the accumulator.
  static std::vector<double> least_scales(const GraphNotes& notes, std::size_t weight,
                                          const std::vector<lower::Quantization>& clusters) {
    std::vector<double> least;
    const bool per_tensor = notes.constants[weight].spec.granularity() == Granularity::tensor;
    for (const BiasNote& bias : notes.biases) {
      if (bias.weight != weight) continue;
      const auto input =
          static_cast<double>(clusters[static_cast<std::size_t>(bias.input_cluster)].parameters.scales[0]);
      const auto count = static_cast<std::size_t>(bias.tensor->count());
      least.resize(std::max(least.size(), per_tensor ? 1 : count));
      for (std::size_t i = 0; i < count; ++i) {
        double& floor = least[per_tensor ? 0 : i];
        floor = std::max(floor,
                         std::abs(static_cast<double>(bias.tensor->data.at<float>(i))) / (input * kLargest));
      }
    }
    return least;
  }

  static Result<void> check_biases(const GraphNotes& notes) {
    for (const BiasNote& bias : notes.biases) {
      const auto count = static_cast<std::size_t>(bias.tensor->count());
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(bias.tensor->data.at<float>(i))) continue;
        return error_at(Code::invalid_data, fmt::format("initializer '{}'", shown(bias.name)),
                        fmt::format("element {} of a bias is not finite", i),
                        "leave the node in float (--exclude), or fix the model")
            .within(place_of(notes, {bias.place}));
      }
    }
    return {};
  }

  Result<void> add_constants(const GraphNotes& notes, const std::vector<lower::Quantization>& clusters,
                             lower::GraphPlan& plan) {
    TRY(check_biases(notes));
    std::vector<lower::Constant> made;
    for (std::size_t i = 0; i < notes.constants.size(); ++i) {
      const ConstantNote& note = notes.constants[i];
      auto one = quantized(note, least_scales(notes, i, clusters));
      if (!one.ok()) return std::move(one).error().within(place_of(notes, note.places));
      made.push_back(*std::move(one));
    }
    for (const DynamicNote& one : notes.dynamic) {
      lower::DynamicLayer layer{one.node, one.symmetric, one.signed_data, {}};
      for (const std::size_t weight : one.weights) layer.weights.push_back(made[weight]);
      plan.dynamic.push_back(std::move(layer));
      for (const std::size_t weight : one.weights)  // the rest are inputs of other nodes
        std::erase_if(made[weight].places, [&](const lower::Place& place) { return place.node == one.node; });
    }
    for (const lower::Constant& one : made) {
      if (!one.places.empty()) plan.constants.push_back(one);
    }
    for (const BiasNote& bias : notes.biases) {
      add_bias(bias, made[bias.weight].parameters, clusters, plan);
      const std::string& input = clusters[static_cast<std::size_t>(bias.input_cluster)].cluster;
      plan.constants.back().units = {input, notes.constants[bias.weight].places.front()};
    }
    return {};
  }

  Result<lower::Constant> quantized(const ConstantNote& note, const std::vector<double>& least) {
    QuantizedWeight made = TRY(weights_.quantize(note, least, pool_));
    lower::Constant& constant = made.constant;
    const bool linear =
        note.spec.is_linear() ||
        (only_standard_ && TRY(lower::linear_type(constant.use)).type != graph::ElementType::undefined);
    if (linear && !constant.is_linear()) {
      auto made_linear = lower::to_linear(constant, pool_);
      if (!made_linear.ok()) return std::move(made_linear).error().within(note.name);
      constant = *std::move(made_linear);
      made.bytes = bytes_of(constant);
    }
    const bool free = note.spec.source == Spec::Source::values && note.spec.has_own_type();
    if (free && constant.parameters.block_size == 0 && may_learn(note.spec))
      constant.learned = lower::Learned::step;
    report(note, made);
    if (note.order && saturates(constant.quantized, *note.order)) report_.saturating.push_back(note.name);
    return std::move(constant);
  }

  // Omits given numbers: hundreds of scales are no summary.
  static Spec without_numbers(Spec spec) {
    spec.source = Spec::Source::values;
    return spec;
  }

  void report(const ConstantNote& note, const QuantizedWeight& made) {
    QuantizationReport::Weight& row = report_.weights.emplace_back();
    row.name = note.name;
    row.spec = to_string(note.spec.given.scales.size() > 1 ? without_numbers(note.spec) : note.spec);
    row.bytes_before = static_cast<std::int64_t>(note.tensor->data.size());
    row.bytes_after = made.bytes;
    row.sqnr = made.sqnr;
    row.scales_raised = made.raised;
    row.rounded_for_sums = made.moved;
    if (histograms_) row.histogram = calibrate::histogram(note.tensor->data);
    const Parameters& parameters = made.constant.parameters;
    if (!note.spec.is_integer() || !made.constant.is_linear()) return;
    const auto [least, largest] = std::ranges::minmax(parameters.scales);
    row.levels = std::int64_t{1} << note.spec.integers().bits;
    row.scales = std::ssize(parameters.scales);
    row.scale_low = least;
    row.scale_high = largest;
  }

  bool saturates(const graph::Tensor& weights, const ReductionOrder& order) const {
    return saturating_pairs(reinterpret_cast<const std::int8_t*>(weights.data.data()), order, pool_) > 0;
  }

  static void add_bias(const BiasNote& bias, const Parameters& weight,
                       const std::vector<lower::Quantization>& clusters, lower::GraphPlan& plan) {
    const float input = clusters[static_cast<std::size_t>(bias.input_cluster)].parameters.scales[0];
    Parameters parameters{.type = graph::ElementType::int32};
    for (const float scale : weight.scales) {
      parameters.scales.push_back(input * scale);
      parameters.zero_points.push_back(0);
    }
    const auto count = static_cast<std::size_t>(bias.tensor->count());
    if (!weight.per_tensor()) {
      parameters.dims = {static_cast<std::int64_t>(count)};
      parameters.axis = std::ssize(bias.tensor->dims) - 1;  // Gemm accepts a row as well
    }
    std::vector<std::int32_t> biases;
    for (std::size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(parameters.scales[parameters.per_tensor() ? 0 : i]);
      const double units = std::nearbyint(static_cast<double>(bias.tensor->data.at<float>(i)) / unit);
      biases.push_back(static_cast<std::int32_t>(std::clamp(units, -kLargest, kLargest)));
    }
    lower::Constant constant{bias.name, {bias.place}};
    constant.grouped = constant.dims = bias.tensor->dims;
    constant.quantized = lower::code_tensor(parameters.type, bias.tensor->dims, biases, bias.name);
    constant.parameters = std::move(parameters);
    plan.constants.push_back(std::move(constant));
  }

  static constexpr double kLargest = 1 << 30;  // half of the int32 range: the rest is for the accumulator

  const Seen& statistics_;
  ThreadPool& pool_;
  QuantizedWeights& weights_;
  QuantizationReport& report_;
  const bool histograms_, only_standard_;
};

}  // namespace

std::vector<calibrate::Watched> watched(const Annotation& annotation, bool bins) {
  Needs names;
  gather_names(annotation.graph, names);
  std::vector<calibrate::Watched> list;
  for (auto& [name, needs] : names) {
    if (bins) add_need("bins", needs);
    list.push_back({name, std::move(needs)});
  }
  return list;
}

Result<lower::GraphPlan> make_plan(Annotation& annotation, const std::vector<Statistics>& statistics,
                                   ThreadPool& pool, QuantizationReport& report, const Settings& settings,
                                   QuantizedWeights& weights) {
  Seen by_name;
  const std::vector<calibrate::Watched> names = watched(annotation);
  for (std::size_t i = 0; i < names.size(); ++i) by_name[names[i].name] = &statistics[i];
  leave_unentered(annotation.graph, by_name, report);
  hand_over(annotation.graph, by_name);
  return Planner(by_name, pool, report, settings, weights).plan(annotation.graph);
}

}  // namespace anybit::quantizing
