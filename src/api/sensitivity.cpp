#include "anybit/sensitivity.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "api/constant_inputs.hpp"
#include "api/model_access.hpp"
#include "api/quantize_settings.hpp"
#include "api/sample_stream.hpp"
#include "api/trials.hpp"
#include "api/watched_values.hpp"
#include "base/cpu.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "evaluate/levels.hpp"
#include "quantize/plan.hpp"

namespace anybit {
namespace {

using quantizing::Outcome;

constexpr std::int64_t kMaxKept = std::int64_t{512} << 20;
constexpr std::size_t kMostExcluded = 32;
constexpr std::int64_t kRefiningSamples = 8;  // as many as bias correction takes
constexpr double kClearly = 1.25;             // a harm that is larger by this factor is no accident

using Statistics = std::map<std::string, calibrate::Statistics>;

double mean_square(const calibrate::Statistics& seen) {
  double sum = 0;
  const auto add = [&](const calibrate::Bins::Bin& bin) {
    const double middle = 0.5 * (static_cast<double>(bin.low) + static_cast<double>(bin.high));
    sum += middle * middle * static_cast<double>(bin.count);
  };
  seen.bins.each(add);
  return sum / static_cast<double>(std::max<std::int64_t>(1, seen.extent.count));
}

// Noise relative to signal that quantization adds to the weights and inputs of a node.
class Estimates {
 public:
  Estimates(const QuantizationReport& report, const Statistics& seen) {
    for (const auto& one : report.weights) noise_[one.name] = std::pow(10.0, -one.sqnr / 10);
    for (const auto& one : report.tensors) {
      if (one.levels == 0) continue;
      const double step = static_cast<double>(one.scale);
      for (const std::string& value : one.values) {
        const auto found = seen.find(value);
        const double signal = found == seen.end() ? 0 : mean_square(found->second);
        if (signal > 0) noise_[value] = step * step / 12 / signal;
      }
    }
  }

  double of(const graph::Node& node) const {
    double sum = 0;
    for (const std::string& input : node.inputs) {
      const auto found = noise_.find(input);
      if (found != noise_.end()) sum += found->second;
    }
    return sum;
  }

 private:
  std::map<std::string, double> noise_;
};

// By how much the harm of some part gets less.
double largest_gain(const PartsOfOutputs& before, const PartsOfOutputs& after) {
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t k = 0; k < std::min(before[i].size(), after[i].size()); ++k)
      largest = std::max(largest, evaluate::harm_of(before[i][k]) - evaluate::harm_of(after[i][k]));
  }
  return largest;
}

// A node that can be quantized and left in float by itself.
struct Candidate {
  std::size_t node;
  passes::Behind behind;
};

class Measurement {
 public:
  Measurement(const Model& model, const quantizing::Recipe& recipe, const SensitivityOptions& options)
      : model_(model), options_(options), recipe_(recipe) {
    std::erase_if(recipe_.rules, [](const quantizing::Rule& rule) {
      return rule.kind == quantizing::Rule::Kind::tensor;  // they name values that a variant may not have
    });
  }

  Result<Sensitivity> run(Samples& samples) {
    QuantizeOptions quantize;
    quantize.target = options_.target;
    if (!options_.metric) quantize.emit = "packed";  // the same values, and no functions to copy
    quantize.threads = options_.threads;
    quantize.max_memory = options_.max_memory;
    quantize.allow_nan = options_.allow_nan;
    settings_ = TRY(settings_of(model_, recipe_, quantize));
    const auto& content = ModelAccess::content(model_);
    quantizing::Prepared prepared = TRY(quantizing::prepare(content.model, recipe_, settings_));
    settings_.prepare = false;
    settings_.may_find_nothing = true;
    TRY(calibrate(samples, prepared));
    const auto begin = std::chrono::steady_clock::now();
    settings_.known = &statistics_;
    trials_ = std::make_unique<Trials>(prepared.model, settings_, chosen_.take(),
                                       static_cast<std::size_t>(options_.samples), options_.stop);
    if (trials_->samples() == 0)
      return invalid_argument("there are no samples", "--calib PATH with at least one");
    find_layers(prepared);
    TRY(measure(*prepared.model->graph));
    TRY(choose_exclusions());
    result_.recipe = recipe_.name;
    result_.samples = trials_->samples();
    result_.runs = trials_->runs();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const auto& source : content.model.sources) TRY(source->intact());
    return std::move(result_);
  }

 private:
  // Gathers what any variant of the recipe may need: statistics of all values.
  Result<void> calibrate(Samples& samples, const quantizing::Prepared& prepared) {
    std::vector<calibrate::Watched> wanted =
        TRY(watched_values(*prepared.model, true, settings_.executor.limits));
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < wanted.size(); ++i) places[wanted[i].name] = i;
    for (calibrate::Watched& one : quantizing::watched(prepared.annotation)) {
      const auto place = places.find(one.name);
      if (place == places.end()) {
        wanted.push_back(std::move(one));
        continue;
      }
      std::vector<calibrate::Wanted>& all = wanted[place->second].collect;
      for (calibrate::Wanted& collect : one.collect) {
        if (std::ranges::count(all, collect.collector, &calibrate::Wanted::collector) == 0)
          all.push_back(std::move(collect));
      }
    }
    calibrate::GatherOptions gather = settings_.gather;
    gather.executor = settings_.executor;
    SampleStream stream(samples);
    gather.sample_name = [&](std::int64_t number) { return stream.name(number); };
    chosen_ =
        quantizing::ChosenSamples(static_cast<std::size_t>(std::max(options_.samples, kRefiningSamples)));
    auto found = TRY(calibrate::gather(
        prepared.model, wanted,
        [&]() -> Result<std::optional<quantizing::Sample>> {
          auto sample = TRY(stream.next());
          if (sample) TRY(chosen_.offer(*sample));
          return sample;
        },
        gather));
    for (std::size_t i = 0; i < wanted.size(); ++i) statistics_[wanted[i].name] = std::move(found[i]);
    return {};
  }

  // Nodes that compute on quantized values or weights, and those that make several values share their scale.
  static bool is_layer(const quantizing::NodeNote& note, const graph::Node& node, const graph::Index& index) {
    if (note.outcome == Outcome::pass_through) {
      std::set<std::string> data;
      for (const std::string& input : node.inputs) {
        if (!input.empty() && !index.constant(input)) data.insert(input);
      }
      return data.size() > 1;
    }
    return note.outcome == Outcome::quantized || note.outcome == Outcome::weights_only ||
           note.outcome == Outcome::dynamic;
  }

  void find_layers(const quantizing::Prepared& prepared) {
    const graph::Graph& graph = *prepared.model->graph;
    const graph::Index index(graph);
    const passes::Dependence dependence(graph);
    std::size_t nameless = 0;
    const auto& notes = prepared.annotation.graph.nodes;
    for (std::size_t i = 0; i < notes.size(); ++i) {
      if (!is_layer(notes[i], graph.nodes[i], index)) continue;
      if (notes[i].name.empty()) {
        ++nameless;
        continue;
      }
      candidates_.push_back({i, dependence.behind(i)});
      LayerSensitivity& layer = result_.layers.emplace_back();
      layer.node = notes[i].name;
      layer.op = notes[i].op;
      const quantizing::Scheme& scheme = notes[i].scheme;
      if (notes[i].outcome == Outcome::weights_only)
        layer.what = to_string(*scheme.weight);
      else if (notes[i].outcome != Outcome::pass_through)
        layer.what = to_string(*scheme.data_in) + ", " + to_string(*scheme.weight);
    }
    if (nameless > 0)
      result_.remarks.push_back(fmt::format("{} layers without a name are not measured", nameless));
    const auto inside = inner_layers(prepared.annotation.graph);
    if (inside > 0)
      result_.remarks.push_back(fmt::format("{} layers inside subgraphs are not measured", inside));
  }

  static std::int64_t inner_layers(const quantizing::GraphNotes& notes) {
    std::int64_t count = 0;
    for (const quantizing::GraphNotes& inner : notes.inner)
      count += inner_layers(inner) + std::ranges::count_if(inner.nodes, [](const quantizing::NodeNote& note) {
                 return note.outcome == Outcome::quantized || note.outcome == Outcome::weights_only ||
                        note.outcome == Outcome::dynamic;
               });
    return count;
  }

  Result<void> measure(const graph::Graph& graph) {
    std::set<std::string> boundary;
    for (const Candidate& one : candidates_)
      boundary.insert(one.behind.inputs.begin(), one.behind.inputs.end());
    TRY(trials_->start(boundary));
    const quantizing::Outcomes all = TRY(trials_->quantized(recipe_));
    const Estimates estimates(all.report, statistics_);
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      result_.layers[i].estimate = estimates.of(graph.nodes[candidates_[i].node]);
    all_ = TRY(trials_->whole(recipe_, false));
    result_.plain = effect_of(all_);
    result_.all = effect_of(TRY(trials_->whole(recipe_, true)));
    result_.refinements_harm =
        result_.all.level > Level::ok && result_.all.harm > kClearly * result_.plain.harm;
    const std::vector<std::size_t> chosen = chosen_layers();
    const std::int64_t most = options_.max_kept > 0 ? options_.max_kept : kMaxKept;
    std::set<std::string> kept;
    std::vector<std::size_t> batch;
    std::int64_t bytes = 0;
    for (const std::size_t i : chosen) {
      std::int64_t more = 0;
      for (const std::string& name : candidates_[i].behind.inputs) {
        // A sequence cannot be an input of a part: the layer is left out.
        if (!trials_->bytes_of(name)) more = -1;
        if (more >= 0 && !kept.contains(name)) more += 2 * *trials_->bytes_of(name);
      }
      if (more < 0) continue;
      if (!batch.empty() && bytes + more > most) {
        TRY(measure_batch(batch, kept));
        kept.clear();
        batch.clear();
        bytes = 0;
        for (const std::string& name : candidates_[i].behind.inputs) more += 2 * *trials_->bytes_of(name);
      }
      kept.insert(candidates_[i].behind.inputs.begin(), candidates_[i].behind.inputs.end());
      batch.push_back(i);
      bytes += more;
    }
    TRY(measure_batch(batch, kept));
    std::ranges::stable_sort(result_.layers, [](const LayerSensitivity& a, const LayerSensitivity& b) {
      if (a.measured != b.measured) return a.measured;
      return a.measured ? a.harm > b.harm : a.estimate > b.estimate;
    });
    return {};
  }

  // In the order of the graph.
  std::vector<std::size_t> chosen_layers() const {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), 0);
    if (options_.layers > 0 && options_.layers < std::ssize(order)) {
      std::ranges::stable_sort(order, std::ranges::greater{},
                               [&](std::size_t i) { return result_.layers[i].estimate; });
      order.resize(static_cast<std::size_t>(options_.layers));
      std::ranges::sort(order);
    }
    return order;
  }

  Result<void> measure_batch(const std::vector<std::size_t>& batch, const std::set<std::string>& kept) {
    if (batch.empty()) return {};
    TRY(trials_->keep(kept, recipe_));
    for (const std::size_t i : batch) {
      LayerSensitivity& layer = result_.layers[i];
      quantizing::Recipe only = recipe_;
      only.only = {layer.node};
      const PartsOfOutputs alone = TRY(trials_->alone(only, candidates_[i].behind));
      PartsOfOutputs left = TRY(trials_->left(TRY(without({layer.node})), candidates_[i].behind));
      // Outputs that do not depend on the layer suffer from the others all the same.
      for (std::size_t k = 0; k < left.size(); ++k) {
        if (left[k].empty()) left[k] = all_[k];
      }
      layer.alone = effect_of(alone);
      layer.left = effect_of(left);
      layer.harm = std::max(layer.alone.harm, largest_gain(all_, left));
      layer.measured = true;
      if (options_.progress) options_.progress(++done_, std::ssize(candidates_));
    }
    return {};
  }

  Result<quantizing::Recipe> without(const std::vector<std::string>& nodes,
                                     const std::string& scheme = "float") const {
    quantizing::Recipe recipe = recipe_;
    for (const std::string& node : nodes)
      recipe.rules.push_back(TRY(quantizing::read_rule("name", node, scheme)));
    return recipe;
  }

  // A model with some layers promoted.
  struct Score {
    Effect effect;
    double metric = 0;
    bool quantized = true;  // false: only the float model is left
  };

  bool has_bound() const { return options_.min_sqnr > 0 || options_.metric; }

  bool is_enough(const Score& score) const {
    if (has_bound() && !score.quantized) return false;
    if (options_.metric) return score.metric >= options_.min_metric;
    return options_.min_sqnr > 0 ? score.effect.sqnr >= options_.min_sqnr : score.effect.level == Level::ok;
  }

  bool is_better(const Score& score) const {
    if (!score.quantized) return false;
    if (options_.metric) return score.metric > result_.metric;
    return score.effect.sqnr > result_.excluded.sqnr;
  }

  Result<Score> score_of(const quantizing::Recipe& recipe, bool refined) {
    Score score;
    score.effect = effect_of(TRY(trials_->whole(recipe, refined, &score.quantized)));
    if (options_.metric) score.metric = TRY(metric_of(recipe, refined));
    return score;
  }

  Result<double> metric_of(const quantizing::Recipe& recipe, bool refined) {
    if (options_.stop && options_.stop()) return Error{Code::cancelled, "stopped by the caller", {}, {}};
    quantizing::Outcomes made = TRY(trials_->quantized(recipe, refined));
    return options_.metric(ModelAccess::made(std::move(made.model), settings_.executor.limits));
  }

  void keep(const Score& score) {
    result_.excluded = score.effect;
    result_.metric = score.metric;
  }

  std::vector<std::string> harmful_layers() const {
    std::vector<std::string> names;
    for (const LayerSensitivity& layer : result_.layers) {
      if (layer.measured && layer.harm > 0 && (names.size() < kMostExcluded || has_bound()))
        names.push_back(layer.node);
    }
    return names;
  }

  // Promotes the most harmful layers until the model is good enough.
  Result<void> choose_exclusions() {
    Score all{result_.all};
    if (options_.metric) all.metric = result_.metric = TRY(metric_of(recipe_, true));
    if (is_enough(all)) return {};
    const std::vector<std::string> names = harmful_layers();
    if (result_.refinements_harm) {
      Score plain{result_.plain};
      if (options_.metric) plain.metric = TRY(metric_of(recipe_, false));
      if (is_enough(plain)) {
        keep(plain);
        return {};
      }
    }
    for (const std::string& scheme : options_.promotions) {
      if (TRY(fewest(names, scheme))) return {};
    }
    result_.reached = false;
    result_.remarks.push_back(fmt::format(
        "leaving the {} most harmful layers in float is not enough: a wider recipe", names.size()));
    return {};
  }

  // Twice as many layers each time, until it is enough; then looks for fewer. False if all are not enough.
  Result<bool> fewest(std::vector<std::string> names, const std::string& scheme) {
    // A bound that holds only if nothing is quantized is not reached.
    if (has_bound() && scheme == "float" && names.size() == result_.layers.size()) names.pop_back();
    const auto first = [&](std::size_t count) {
      return std::vector<std::string>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
    };
    const auto score = [&](std::size_t count) -> Result<Score> {
      return score_of(TRY(without(first(count), scheme)), !result_.refinements_harm);
    };
    std::size_t bad = 0;
    for (std::size_t count = 1; bad < names.size(); count = std::min(2 * count, names.size())) {
      const Score now = TRY(score(count));
      if (!is_enough(now)) {
        bad = count;
        if (has_bound() && (result_.exclude.empty() || is_better(now))) {
          keep(now);  // the best so far
          result_.exclude = first(count);
          result_.exclude_as = scheme;
        }
        continue;
      }
      std::size_t good = count;
      keep(now);
      while (bad + 1 < good) {
        const std::size_t middle = (bad + good) / 2;
        const Score fewer = TRY(score(middle));
        if (is_enough(fewer)) {
          good = middle;
          keep(fewer);
        } else {
          bad = middle;
        }
      }
      result_.exclude = first(good);
      result_.exclude_as = scheme;
      return true;
    }
    return false;
  }

  const Model& model_;
  const SensitivityOptions& options_;
  quantizing::Recipe recipe_;
  quantizing::Settings settings_;
  quantizing::ChosenSamples chosen_;
  Statistics statistics_;
  std::unique_ptr<Trials> trials_;
  PartsOfOutputs all_;                 // everything is quantized
  std::vector<Candidate> candidates_;  // in the order of result_.layers until they are sorted
  std::int64_t done_ = 0;
  Sensitivity result_;
};

}  // namespace

Result<Sensitivity> sensitivity(const Model& model, const Recipe& recipe, Samples& samples,
                                const SensitivityOptions& options) noexcept {
  return guarded([&]() -> Result<Sensitivity> {
    TRY(check_cpu_cap());
    if (options.samples < 1)
      return invalid_argument(fmt::format("{} samples for the measurement", options.samples), "1 or more");
    const Model constant = lists_weights_as_inputs(model) ? with_constant_defaults(model, {}) : model;
    return Measurement(constant, RecipeAccess::of(recipe), options).run(samples);
  });
}

}  // namespace anybit
