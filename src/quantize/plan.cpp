#include "quantize/plan.hpp"

#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "calibrate/histogram.hpp"
#include "lower/linear.hpp"
#include "quantize/code_constant.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

using calibrate::Statistics;
using lower::Parameters;

bool needs_statistics(const Cluster& cluster) { return !cluster.fixed && !cluster.spec.dynamic; }

// As if the recipe had excluded all of it.
void leave(GraphNotes& notes) {
  for (NodeNote& node : notes.nodes) {
    if (node.outcome != Outcome::left) node.reason = "no sample entered its graph";
    node.outcome = Outcome::left;
  }
  notes.clusters.clear();
  notes.values.clear();
  notes.constants.clear();
  notes.biases.clear();
  notes.dynamic.clear();
  notes.coded_values.clear();
  notes.coded_constants.clear();
  notes.half.clear();
  notes.saturating.clear();
  for (GraphNotes& inner : notes.inner) leave(inner);
}

void gather_names(const GraphNotes& notes, std::map<std::string, bool>& names) {
  for (const Cluster& cluster : notes.clusters) {
    if (!needs_statistics(cluster)) continue;
    const calibrate::Descriptor* observer = calibrate::find(cluster.spec.observer);
    for (const std::string& source : cluster.sources) names[source] |= observer && observer->needs_bins;
  }
  if (!notes.sign.empty()) names[notes.sign] |= false;
  for (const GraphNotes& inner : notes.inner) gather_names(inner, names);
}

std::int64_t bytes_of(const graph::Tensor& tensor) { return static_cast<std::int64_t>(tensor.data.size()); }

std::int64_t bytes_of(const Parameters& parameters) {
  const int bits = lower::codes_of(parameters.type).bits;
  const auto count = static_cast<std::int64_t>(parameters.scales.size());
  return count * 4 + (std::ssize(parameters.zero_points) * bits + 7) / 8;
}

using Seen = std::map<std::string, const Statistics*>;

// Of a branch that no sample took, nothing is known: its nodes stay as they are.
void leave_unentered(GraphNotes& notes, const Seen& seen, QuantizationReport& report) {
  const auto sign = seen.find(notes.sign);
  if (sign == seen.end() || sign->second->samples > 0) {
    for (GraphNotes& inner : notes.inner) leave_unentered(inner, seen, report);
    return;
  }
  report.remarks.push_back(fmt::format("{}: no sample entered this graph; it is left in float", notes.place));
  leave(notes);
}

// Who takes a constant, for messages.
std::string place_of(const GraphNotes& notes, const std::vector<lower::Place>& places) {
  const NodeNote& node = notes.nodes[static_cast<std::size_t>(places.front().node)];
  return fmt::format("node '{}' ({})", shown(node.name), shown(node.op));
}

class Planner {
 public:
  Planner(const Seen& statistics, ThreadPool& pool, QuantizationReport& report, const Settings& settings)
      : statistics_(statistics),
        pool_(pool),
        report_(report),
        histograms_(settings.histograms),
        only_standard_(settings.functions == lower::Functions::Mode::refused) {}

  Result<lower::GraphPlan> plan(const GraphNotes& notes) {
    lower::GraphPlan plan;
    plan.node = notes.node;
    plan.which = notes.which;
    const std::vector<Parameters> clusters = TRY(choose_all(notes.clusters));
    for (const ValueNote& note : notes.values) plan.activations.push_back(activation(note, clusters));
    TRY(add_constants(notes, clusters, plan));
    for (const CodedValueNote& one : notes.coded_values) {
      if (one.value.empty()) continue;  // an output that the node leaves out
      plan.coded_values.push_back({one.value, one.use, one.made, one.places});
    }
    TRY(add_coded_constants(notes, plan));
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

  // What a cluster gets, and what the report says of it.
  struct Chosen {
    Parameters parameters;
    QuantizationReport::Tensor row;
  };

  // Side by side: an observer may try a hundred ranges for each.
  Result<std::vector<Parameters>> choose_all(const std::vector<Cluster>& clusters) {
    std::vector<std::optional<Result<Chosen>>> chosen(clusters.size());
    pool_.run(std::ssize(clusters), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        chosen[i].emplace(choose(clusters[i]));
    });
    std::vector<Parameters> parameters;
    for (std::optional<Result<Chosen>>& one : chosen) {
      Chosen made = TRY(*std::move(one));
      parameters.push_back(std::move(made.parameters));
      report_.tensors.push_back(std::move(made.row));
    }
    return parameters;
  }

  Result<Chosen> choose(const Cluster& cluster) const {
    Chosen result;
    QuantizationReport::Tensor& row = result.row;
    Parameters& parameters = result.parameters;
    row.name = cluster.values.front();
    row.spec = to_string(cluster.spec);
    row.values = cluster.values;
    if (cluster.fixed) {
      const calibrate::Range known{cluster.fixed->low, cluster.fixed->high}, range = held(known, cluster);
      const bool wider = range.low < known.low || range.high > known.high;
      parameters = wider ? from_range(range, cluster.spec) : from_fixed(*cluster.fixed, cluster.spec);
      row.fixed = true;
      row.low = row.seen_low = range.low;
      row.high = row.seen_high = range.high;
    } else if (!cluster.spec.dynamic) {
      Statistics together;
      const Statistics& seen = *TRY(seen_of(cluster, together));
      const calibrate::Descriptor* observer = TRY(calibrate::named(cluster.spec.observer));
      const lower::Codes codes = lower::codes_of(cluster.spec.element());
      calibrate::Parameters how;
      if (cluster.spec.percentile != 0) how.percentile = cluster.spec.percentile;
      const calibrate::Range range =
          held(observer->choose(seen, {codes.high - codes.low + 1, cluster.spec.symmetric}, how), cluster);
      parameters = from_range(range, cluster.spec);
      row.low = range.low;
      row.high = range.high;
      row.seen_low = seen.min;
      row.seen_high = seen.max;
      row.samples = seen.samples;
      row.saturated = calibrate::share_outside(seen, range);
      if (histograms_) row.histogram = calibrate::histogram(seen);
    }
    if (!parameters.scales.empty()) {
      const lower::Codes codes = lower::codes_of(parameters.type);
      row.scale = parameters.scales[0];
      row.zero_point = parameters.zero_points[0];
      row.levels = std::int64_t{codes.high} - codes.low + 1;
      row.grid_low = row.scale * static_cast<float>(codes.low - row.zero_point);
      row.grid_high = row.scale * static_cast<float>(codes.high - row.zero_point);
    }
    return result;
  }

  // A range that holds the constants of a cluster, too: an observer may cut off rare activations, but a
  // constant is there in every run.
  static calibrate::Range held(calibrate::Range range, const Cluster& cluster) {
    if (!cluster.constants) return range;
    return {std::min(range.low, cluster.constants->low), std::max(range.high, cluster.constants->high)};
  }

  // What all sources of a cluster showed: that of the only one, or `together`.
  Result<const Statistics*> seen_of(const Cluster& cluster, Statistics& together) const {
    const Statistics* all = nullptr;
    for (const std::string& source : cluster.sources) {
      const Statistics* one = find(source);
      if (!one || one->samples == 0) continue;
      if (!all) {
        all = one;
        continue;
      }
      if (all != &together) together = *all;
      all = &together;
      TRY(together.merge(*one));
    }
    return all ? all : &together;
  }

  static lower::Activation activation(const ValueNote& note, const std::vector<Parameters>& clusters) {
    lower::Activation result;
    result.value = note.value;
    if (note.made >= 0) result.made = clusters[static_cast<std::size_t>(note.made)];
    for (const ValueNote::Taken& taken : note.taken)
      result.taken.push_back({clusters[static_cast<std::size_t>(taken.cluster)], taken.places});
    return result;
  }

  // A bias must fit 32 bits in units of input scale × weight scale, together with the sum that it is added
  // to.
  static std::vector<double> least_scales(const GraphNotes& notes, std::size_t weight,
                                          const std::vector<Parameters>& clusters) {
    std::vector<double> least;
    const bool per_tensor = notes.constants[weight].spec.granularity == Granularity::tensor;
    for (const BiasNote& bias : notes.biases) {
      if (bias.weight != weight) continue;
      const auto input =
          static_cast<double>(clusters[static_cast<std::size_t>(bias.input_cluster)].scales[0]);
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
                        "leave the node in float (--exclude), or mend the model")
            .within(place_of(notes, {bias.place}));
      }
    }
    return {};
  }

  Result<void> add_constants(const GraphNotes& notes, const std::vector<Parameters>& clusters,
                             lower::GraphPlan& plan) {
    TRY(check_biases(notes));
    std::vector<lower::Constant> made;
    for (std::size_t i = 0; i < notes.constants.size(); ++i) {
      const ConstantNote& note = notes.constants[i];
      auto one = quantized(note, least_scales(notes, i, clusters));
      if (!one.ok()) return std::move(one).error().within(place_of(notes, note.places));
      made.push_back(std::move(*one));
    }
    for (const DynamicNote& one : notes.dynamic) {
      lower::DynamicProduct product{one.node, one.symmetric, one.signed_codes, {}};
      for (const std::size_t weight : one.weights) product.weights.push_back(made[weight]);
      plan.dynamic.push_back(std::move(product));
      for (const std::size_t weight : one.weights)  // what is left are places of other nodes
        std::erase_if(made[weight].places, [&](const lower::Place& place) { return place.node == one.node; });
    }
    for (const lower::Constant& one : made) {
      if (!one.places.empty()) plan.constants.push_back(one);
    }
    for (const BiasNote& bias : notes.biases) {
      add_bias(bias, made[bias.weight].parameters, clusters, plan);
    }
    return {};
  }

  Result<void> add_coded_constants(const GraphNotes& notes, lower::GraphPlan& plan) {
    for (const CodedConstantNote& note : notes.coded_constants) {
      auto coded = code_constant(note, pool_);
      if (!coded.ok()) return std::move(coded).error().within(place_of(notes, note.places));
      CodedWeight made = std::move(*coded);
      if (only_standard_ && TRY(lower::linear_type(note.use)).type != graph::ElementType::undefined) {
        TRY(add_linear(note, made, plan));
        continue;
      }
      add_weight(note.name, formats::to_string(note.use), *note.tensor, made.bytes, made.signal_to_noise)
          .moved = made.moved;
      made.constant.compute = note.compute;
      plan.coded_constants.push_back(std::move(made.constant));
    }
    return {};
  }

  // In codes of an ONNX type.
  Result<void> add_linear(const CodedConstantNote& note, const CodedWeight& made, lower::GraphPlan& plan) {
    auto linear = lower::to_linear(made.constant, pool_);
    if (!linear.ok()) return std::move(linear).error().within(note.name);
    add_weight(note.name, formats::to_string(note.use), *note.tensor,
               bytes_of(linear->codes) + bytes_of(linear->parameters), made.signal_to_noise)
        .moved = made.moved;
    linear->compute = note.compute;
    plan.constants.push_back(std::move(*linear));
    return {};
  }

  QuantizationReport::Weight& add_weight(std::string name, std::string spec, const graph::Tensor& tensor,
                                         std::int64_t bytes, double signal_to_noise) {
    QuantizationReport::Weight& row = report_.weights.emplace_back();
    row.name = std::move(name);
    row.spec = std::move(spec);
    row.bytes_before = bytes_of(tensor);
    row.bytes_after = bytes;
    row.signal_to_noise = signal_to_noise;
    if (histograms_) row.histogram = calibrate::histogram(tensor.data);
    return row;
  }

  Result<lower::Constant> quantized(const ConstantNote& note, const std::vector<double>& least) {
    graph::Tensor seen = *note.tensor;
    if (!note.rows.empty()) seen.dims = note.rows;
    QuantizedConstant made = TRY(quantize_constant(seen, note.spec, note.axis, least, pool_, note.sums_axis,
                                                   note.bounded ? &*note.order : nullptr));
    if (!note.matrix) made.codes.dims = note.tensor->dims;
    QuantizationReport::Weight& row = add_weight(
        note.name, to_string(note.spec), *note.tensor, bytes_of(made.codes) + bytes_of(made.parameters),
        made.noise > 0 ? 10 * std::log10(made.signal / made.noise) : 200.0);
    const auto [least_scale, largest_scale] = std::ranges::minmax(made.parameters.scales);
    row.raised = made.raised;
    row.moved = made.moved;
    row.levels = std::int64_t{1} << lower::codes_of(made.parameters.type).bits;
    row.scales = std::ssize(made.parameters.scales);
    row.scale_low = least_scale;
    row.scale_high = largest_scale;
    if (note.order && saturates(made.codes, *note.order)) report_.saturating.push_back(note.name);
    return lower::Constant{note.name,
                           note.places,
                           std::move(made.codes),
                           std::move(made.parameters),
                           note.matrix ? note.tensor->dims : std::vector<std::int64_t>(),
                           note.compute,
                           note.apart};
  }

  bool saturates(const graph::Tensor& codes, const ReductionOrder& order) const {
    return saturating_pairs(reinterpret_cast<const std::int8_t*>(codes.data.data()), order, pool_) > 0;
  }

  static void add_bias(const BiasNote& bias, const Parameters& weight,
                       const std::vector<Parameters>& clusters, lower::GraphPlan& plan) {
    const float input = clusters[static_cast<std::size_t>(bias.input_cluster)].scales[0];
    Parameters parameters{.type = graph::ElementType::int32};
    for (const float scale : weight.scales) {
      parameters.scales.push_back(input * scale);
      parameters.zero_points.push_back(0);
    }
    const auto count = static_cast<std::size_t>(bias.tensor->count());
    if (!weight.per_tensor()) {
      parameters.dims = {static_cast<std::int64_t>(count)};
      parameters.axis = std::ssize(bias.tensor->dims) - 1;  // Gemm takes a row as well
    }
    std::vector<std::int32_t> codes;
    for (std::size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(parameters.scales[parameters.per_tensor() ? 0 : i]);
      const double units = std::nearbyint(static_cast<double>(bias.tensor->data.at<float>(i)) / unit);
      codes.push_back(static_cast<std::int32_t>(std::clamp(units, -kLargest, kLargest)));
    }
    plan.constants.push_back({bias.name,
                              {bias.place},
                              lower::code_tensor(parameters.type, bias.tensor->dims, codes, bias.name),
                              parameters});
  }

  static constexpr double kLargest = 1 << 30;  // half of what 32 bits hold: the rest is for the sum

  const Seen& statistics_;
  ThreadPool& pool_;
  QuantizationReport& report_;
  const bool histograms_, only_standard_;
};

}  // namespace

std::vector<calibrate::Watched> watched(const Annotation& annotation, bool bins) {
  std::map<std::string, bool> names;
  gather_names(annotation.graph, names);
  std::vector<calibrate::Watched> list;
  for (const auto& [name, needed] : names) list.push_back({name, needed || bins});
  return list;
}

Result<lower::GraphPlan> make_plan(Annotation& annotation, const std::vector<Statistics>& statistics,
                                   ThreadPool& pool, QuantizationReport& report, const Settings& settings) {
  Seen by_name;
  const std::vector<calibrate::Watched> names = watched(annotation);
  for (std::size_t i = 0; i < names.size(); ++i) by_name[names[i].name] = &statistics[i];
  leave_unentered(annotation.graph, by_name, report);
  return Planner(by_name, pool, report, settings).plan(annotation.graph);
}

}  // namespace anybit::quantizing
