#include "quantize/quantize.hpp"

#include <deque>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/modules.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "graph/verify.hpp"
#include "lower/linear.hpp"
#include "lower/qdq.hpp"
#include "lower/qoperator.hpp"
#include "lower/rows.hpp"
#include "lower/standard.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "ops/table.hpp"
#include "passes/prepare.hpp"
#include "passes/raise_opset.hpp"
#include "passes/remove_unused.hpp"
#include "portable/packed_matmul.hpp"
#include "portable/to_operators.hpp"
#include "quantize/annotation.hpp"
#include "quantize/choose.hpp"
#include "quantize/default_weights.hpp"
#include "quantize/dequantize.hpp"
#include "quantize/existing_quantization.hpp"
#include "quantize/model_facts.hpp"
#include "quantize/opsets.hpp"
#include "quantize/plan.hpp"
#include "quantize/quark.hpp"
#include "quantize/recall.hpp"
#include "quantize/remark_on_speed.hpp"
#include "quantize/report_nodes.hpp"
#include "quantize/rounding_data.hpp"
#include "quantize/scope.hpp"
#include "quantize/stopwatch.hpp"
#include "quantize/sums_in_passing.hpp"
#include "quantize/training.hpp"
#include "quantize/wanted_refinements.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;

class Quantizer {
 public:
  Quantizer(const Model& model, const Recipe& recipe, const calibrate::NextSample& next,
            const Settings& settings)
      : recipe_(recipe),
        next_(next),
        settings_(settings),
        model_(std::make_shared<Model>(model)),
        pool_(settings.executor.threads) {}

  Result<Prepared> prepared() {
    if (is_quantized(*model_) && !settings_.requantize)
      return invalid_argument("the model is quantized already", "the float model");
    TRY(prepare());
    Annotation annotation = TRY(annotate());
    if (!anything(annotation.graph)) return found_nothing(annotation);
    drop_unmet_needs(annotation, {.any = true});  // statistics for optional refinements are not asked for
    return Prepared{std::move(model_), std::move(annotation)};
  }

  // `model`: as it was given.
  Result<Outcomes> run(const Model& model) {
    report_.recipe = recipe_.name;
    report_.opset_before = report_.opset_after = model_->opset().value_or(1);
    report_.weight_bytes_before = report_.weight_bytes_after = constant_bytes(*model_->graph);
    const bool keeps = is_quantized(*model_) && !settings_.requantize;  // the existing quantization is kept
    const Model given = keeps ? *model_ : Model();
    if (keeps) portable::to_operators(*model_);  // converted back when it is written
    if (keeps && has_strange_functions(*model_)) return as_given(given);
    if (!settings_.quark.empty()) return for_quark(keeps);
    TRY(prepare());
    Annotation annotation = TRY(annotate());
    TRY(choose(annotation));
    if (std::string remark = drop_unmet_needs(annotation, rounding_data()); !remark.empty())
      report_.remarks.push_back(std::move(remark));
    if (keeps && !anything(annotation.graph)) return as_given(given);
    report_.remarks.insert(report_.remarks.end(), annotation.remarks.begin(), annotation.remarks.end());
    if (keeps)
      report_.remarks.emplace_back(
          "part of the model is quantized already: that is kept, and the rest is quantized (--requantize for "
          "all)");
    if (!anything(annotation.graph)) {
      if (settings_.may_find_nothing) return Outcomes{*model_, std::move(report_)};
      if (!settings_.target.ops.empty() && !settings_.target.strict) return in_float(model, annotation);
      if (!recipe_.choices.empty()) return in_float(model, annotation);
      return found_nothing(annotation);
    }
    if (settings_.training) {
      TRY(keep_ends(annotation));
      LearnedScales().apply(annotation);
    }
    find_refinements(annotation);
    TRY(refine(Descriptor::Phase::graph, annotation, {}));
    find_refinements(annotation);  // nodes may have been inserted
    report_.prepare_seconds = watch_.lap();
    if (!settings_.training) sums_ = SumsInPassing::of(*model_, refinements_, settings_.executor);
    const std::vector<calibrate::Statistics> statistics = TRY(calibrate(annotation));
    if (!settings_.training) TRY(refine(Descriptor::Phase::after, annotation, statistics));
    report_.calibrate_seconds = watch_.lap();
    if (settings_.training) TRY(train(annotation, statistics));
    if (settings_.training) report_.train_seconds = watch_.lap();
    const lower::GraphPlan plan = TRY(make_plan(annotation, statistics, pool_, report_, settings_, weights_));
    if (!anything(annotation.graph)) {
      return error_at(Code::invalid_argument, {},
                      fmt::format("nothing is quantized: {}", fmt::join(report_.remarks, "; ")),
                      "samples that reach the subgraphs");
    }
    report_nodes(annotation.graph, *model_->graph, report_);
    Model result = *model_;
    TRY(write(result, plan, settings_.qoperator));
    const bool trained = report_.training && report_.training->trained;
    report_.gains_by_training = !settings_.training && gains_by_training(annotation);
    if (std::string remark = trained ? std::string() : remark_on_speed(plan);
        !remark.empty() && !settings_.target.islands)
      report_.remarks.push_back(std::move(remark));
    note_target(result, settings_.target);
    report_.weight_bytes_after = constant_bytes(*result.graph);
    report_.quantize_seconds = watch_.lap();
    return Outcomes{std::move(result), std::move(report_)};
  }

 private:
  Outcomes as_given(const Model& model) {
    report_.remarks.emplace_back("the model is quantized already: it is left as it is (--requantize)");
    report_.opset_after = report_.opset_before;
    return {model, std::move(report_)};
  }

  // Each layer stays in float, by choice or because the target does not run it otherwise.
  Outcomes in_float(const Model& model, const Annotation& annotation) {
    report_.remarks.push_back(
        fmt::format("nothing is quantized, and the model is left as it is: {}", reasons(annotation.graph)));
    report_nodes(annotation.graph, *model_->graph, report_);
    report_.opset_after = report_.opset_before;
    return {model, std::move(report_)};
  }

  Result<Outcomes> for_quark(bool is_quantized) {
    if (is_quantized)
      return invalid_argument("the model is quantized already", "--requantize, or the float model");
    TRY(prepare());
    TRY(quantize_for_quark(*model_, recipe_, settings_.quark, settings_.executor.limits, report_));
    if (next_) report_.remarks.emplace_back("block formats need no calibration: the samples are not used");
    report_.quantize_seconds = watch_.lap();
    return Outcomes{*model_, std::move(report_)};
  }

  static Error found_nothing(const Annotation& annotation) {
    return error_at(Code::invalid_argument, {}, "the recipe finds nothing to quantize in this model",
                    reasons(annotation.graph));
  }

  Result<void> prepare() {
    modernize(*model_);
    if (settings_.requantize && is_quantized(*model_)) {
      portable::to_operators(*model_);
      TRY(dequantize(*model_->graph, model_->opset().value_or(1)));
      passes::remove_unused(*model_);
      if (std::string remark = integer_operators_remark(*model_); !remark.empty())
        report_.remarks.push_back(std::move(remark));
    }
    if (std::string remark = fix_default_weights(*model_); !remark.empty())
      report_.remarks.push_back(std::move(remark));
    passes::PrepareOptions options;
    Matcher matcher = TRY(Matcher::make(recipe_, graph::module_classes(*model_)));
    std::optional<Facts> facts;
    if (matcher.needs_facts()) facts = TRY(Facts::of(*model_, settings_.executor.limits));
    const auto scheme_as = [&](Node node, std::string_view op, const ops::NodeFacts* known) {
      node.op_type = graph::Text(op);
      Subject subject = subject_of(node, true, 2);
      subject.facts = known;
      return matcher.scheme(subject);
    };
    each_node(*model_->graph, [&](const Node& node) {
      // As a Gemm with the following Add as bias it would match other rules.
      const ops::NodeFacts* known = facts ? facts->find(node) : nullptr;
      if (node.op_type == "MatMul" && !(scheme_as(node, "MatMul", known) == scheme_as(node, "Gemm", known)))
        options.keep.insert(node.name.str());
      Matcher::Naming naming = matcher.naming(node);
      if (naming.itself) options.named.insert(node.name.str());
      if (!naming.rules.empty()) options.rules.emplace(node.name.str(), std::move(naming.rules));
    });
    if (!settings_.prepare) return {};
    options.limits = settings_.executor.limits;
    std::string remark;
    TRY(passes::prepare(*model_, options, &remark));
    if (!remark.empty()) report_.remarks.push_back(std::move(remark));
    return {};
  }

  // Annotates the model, after raising its opset as far as the recipe needs.
  Result<Annotation> annotate() {
    if (auto guessed = annotate_at(opset_for(recipe_))) return *std::move(guessed);
    Annotation annotation =
        TRY(quantizing::annotate(*model_, recipe_, settings_.target, settings_.executor.limits));
    const std::int64_t needed = TRY(opset_for(annotation.graph, settings_.functions));
    if (!anything(annotation.graph) || needed <= model_->opset().value_or(1)) return annotation;
    passes::Raised raised = TRY(passes::raise_opset(*model_, needed, settings_.executor.limits));
    *model_ = std::move(raised.model);
    report_.opset_after = needed;
    return quantizing::annotate(*model_, recipe_, settings_.target, settings_.executor.limits);
  }

  // Most older models need the full opset of the recipe: raised first, they are annotated once.
  std::optional<Annotation> annotate_at(std::int64_t opset) {
    if (opset <= model_->opset().value_or(1)) return std::nullopt;
    auto raised = passes::raise_opset(*model_, opset, settings_.executor.limits);
    if (!raised.ok()) return std::nullopt;
    auto model = std::make_shared<Model>(std::move(raised->model));
    auto annotation = quantizing::annotate(*model, recipe_, settings_.target, settings_.executor.limits);
    if (!annotation.ok() || !anything(annotation->graph)) return std::nullopt;
    if (const auto needed = opset_for(annotation->graph, settings_.functions);
        !needed.ok() || *needed != opset)
      return std::nullopt;
    model_ = std::move(model);
    report_.opset_after = opset;
    return std::move(annotation).value();
  }

  RoundingData rounding_data() const {
    const std::int64_t limit = settings_.executor.max_memory;
    constexpr std::int64_t kUsual = 1 << 30;
    return {.any = next_ != nullptr || settings_.known != nullptr,
            .known = settings_.known,
            .bytes = limit > 0 ? std::min(kUsual, limit / 2) : kUsual};
  }

  // After a change of the model. Training takes the place of refinements that round weights.
  Result<void> annotate_again(Annotation& annotation) const {
    annotation = TRY(quantizing::annotate(*model_, recipe_, settings_.target, settings_.executor.limits));
    drop_unmet_needs(annotation, rounding_data());
    if (settings_.training) LearnedScales().apply(annotation);
    return {};
  }

  // --- choices ---

  // Makes the choices that the recipe leaves open, and annotates the model accordingly. Samples are read
  // once: what calibration needs is gathered here, too.
  Result<void> choose(Annotation& annotation) {
    const Limits& limits = settings_.executor.limits;
    const SchemeChooser chooser =
        TRY(SchemeChooser::of(*model_, annotation, recipe_, settings_.target, limits, pool_));
    if (chooser.empty()) return {};
    if (next_ && !settings_.known) TRY(gather_for(chooser, annotation));
    recipe_.choices = chooser.choose([&](const std::string& value) -> const calibrate::Statistics* {
      const auto& known = settings_.known ? *settings_.known : gathered_;
      const auto found = known.find(value);
      return found == known.end() ? nullptr : &found->second;
    });
    if (!recipe_.choices.empty())
      annotation = TRY(quantizing::annotate(*model_, recipe_, settings_.target, limits));
    return {};
  }

  Result<void> gather_for(const SchemeChooser& chooser, const Annotation& annotation) {
    std::map<std::string, std::vector<calibrate::Wanted>> all;
    std::vector<calibrate::Watched> names = watched(annotation, settings_.histograms);
    for (calibrate::Watched& one : chooser.watched()) names.push_back(std::move(one));
    for (const calibrate::Watched& one : names) {
      std::vector<calibrate::Wanted>& to = all[one.name];
      to.insert(to.end(), one.collect.begin(), one.collect.end());
    }
    names.clear();
    for (auto& [name, wanted] : all) names.push_back({name, std::move(wanted)});
    find_refinements(annotation);  // which may ask for samples
    std::vector<calibrate::Statistics> statistics = TRY(gather(names));
    for (std::size_t i = 0; i < names.size(); ++i) gathered_.emplace(names[i].name, std::move(statistics[i]));
    return {};
  }

  // --- calibration ---

  Result<std::vector<calibrate::Statistics>> calibrate(const Annotation& annotation) {
    const std::vector<calibrate::Watched> names =
        watched(annotation, settings_.histograms && !settings_.known);
    if (!gathered_.empty()) return recall(names, gathered_, report_.samples);
    if (names.empty()) {
      if ((next_ || settings_.known) && chosen_.most() == 0 && !settings_.training)
        report_.remarks.push_back(fmt::format("recipe '{}' needs no {}: calibration does not use them",
                                              recipe_.name, settings_.known ? "ranges" : "samples"));
      return std::vector<calibrate::Statistics>();
    }
    if (settings_.known) {
      if (next_ && chosen_.most() == 0)
        report_.remarks.emplace_back(
            "the ranges are from the file: the samples are not used for calibration");
      return recall(names, *settings_.known, report_.samples);
    }
    if (!next_)
      return invalid_argument(
          fmt::format("recipe '{}' needs calibration data for the ranges of activations", recipe_.name),
          "--calib PATH; or a recipe that needs none: w8, w4, dynamic-int8");
    return gather(names);
  }

  Result<std::vector<calibrate::Statistics>> gather(const std::vector<calibrate::Watched>& names) {
    calibrate::GatherOptions options = settings_.gather;
    options.executor = settings_.executor;
    options.beside = sums_.beside();
    if (!report_.refinements.empty()) options.outputs = {};  // they have changed the model
    std::int64_t samples = 0;
    const auto progress = options.progress;
    options.progress = [&](std::int64_t done) {
      samples = done;
      if (progress) progress(done);
    };
    // Training reads the rest.
    constexpr std::int64_t kMost = 1024;
    std::int64_t read = 0;
    auto statistics = TRY(calibrate::gather(
        model_, names,
        [&]() -> Result<std::optional<Sample>> {
          if (settings_.training && read++ == kMost) return std::optional<Sample>();
          return next_sample();
        },
        options));
    if (samples == 0) return invalid_argument("there are no samples", "--calib PATH with at least one");
    report_.samples = samples;
    return statistics;
  }

  Result<std::optional<Sample>> next_sample() {
    std::optional<Sample> sample;
    if (ahead_.empty()) {
      sample = TRY(next_());
    } else {
      sample = std::move(ahead_.front());
      ahead_.pop_front();
    }
    if (sample && settings_.training) TRY(store_.add(*sample));
    if (sample && chosen_.most() > 0) sums_.read(TRY(chosen_.offer(*sample)), chosen_);
    return sample;
  }

  // --- training ---

  Result<void> keep_ends(Annotation& annotation) {
    const auto choices = wider_ends(*model_, annotation);
    if (choices.empty()) return {};
    recipe_.choices.insert(choices.begin(), choices.end());
    annotation = TRY(quantizing::annotate(*model_, recipe_, settings_.target, settings_.executor.limits));
    report_.remarks.emplace_back("the first and the last layer keep 8 bits in training");
    return {};
  }

  // Trains from the quantization without training, with the weights rounded to nearest. Where that brings
  // nothing, the refinements of the recipe run as usual.
  Result<void> train(Annotation& annotation, const std::vector<calibrate::Statistics>& statistics) {
    if (!next_) return invalid_argument("training needs samples", "--calib PATH");
    while (TRY(next_sample())) {
    }
    report_.samples = std::max(report_.samples, store_.size());
    Annotation plain;
    TRY(annotate_again(plain));
    QuantizationReport ignored;
    const lower::GraphPlan plan = TRY(make_plan(plain, statistics, pool_, ignored, settings_, weights_));
    Model trained = *model_;
    const LearnedScales learned =
        TRY(train_quantized(trained, plan, store_, *settings_.training, settings_, report_));
    if (!report_.training->trained) return refine(Descriptor::Phase::after, annotation, statistics);
    *model_ = std::move(trained);
    weights_ = {};
    TRY(annotate_again(annotation));
    learned.apply(annotation);
    return {};
  }

  // --- refinements of the whole model ---

  void find_refinements(const Annotation& annotation) {
    refinements_ = wanted_refinements(annotation.graph, *model_->graph);
    std::size_t samples = 0;
    for (const WantedRefinement& one : refinements_) samples = std::max(samples, samples_of(one));
    if (chosen_.most() != samples) chosen_ = ChosenSamples(samples);
  }

  // Applies the refinements of this phase to the float model, and annotates the result again.
  Result<void> refine(Descriptor::Phase phase, Annotation& annotation,
                      const std::vector<calibrate::Statistics>& statistics) {
    for (WantedRefinement& one : refinements_) {
      if (one.row->phase != phase) continue;
      if (phase == Descriptor::Phase::graph) TRY(read_ahead(samples_of(one)));
      if (one.row->needs_samples && !TRY(choose_samples(one, statistics))) continue;
      const std::vector<Sample> first(ahead_.begin(), ahead_.end());
      const std::span<const Sample> all = phase == Descriptor::Phase::graph ? first : samples_;
      const auto samples = all.first(std::min(samples_of(one), all.size()));
      Refining work{*model_, one.layers, samples, one.parameters, {}, settings_.executor};
      work.bits = [&](int node) { return bits_of(annotation.graph.nodes[static_cast<std::size_t>(node)]); };
      work.options.threads = pool_.threads();
      if (one.row->compares_sums) work.seen = sums_.of_chosen();
      work.quantized = [&]() -> Result<Model> {
        TRY(annotate_again(annotation));
        QuantizationReport ignored;
        const lower::GraphPlan plan =
            TRY(make_plan(annotation, statistics, pool_, ignored, settings_, weights_));
        Model quantized = *model_;
        TRY(write(quantized, plan, false));
        return quantized;
      };
      const std::int64_t layers = TRY(one.row->refine(work));
      report_.refinements.push_back(
          {std::string(one.row->name), layers, parameter_text(*one.row, one.parameters)});
      TRY(annotate_again(annotation));
    }
    return {};
  }

  // Reads samples ahead of calibration, which gets them afterwards.
  Result<void> read_ahead(std::size_t count) {
    while (next_ && !settings_.known && gathered_.empty() && ahead_.size() < count) {
      auto sample = TRY(next_());
      if (!sample) break;
      TRY(make_own(*sample, *memory_));
      ahead_.push_back(*std::move(sample));
    }
    return {};
  }

  // Chooses the samples for refinements. Returns false, and adds a remark, if there are none.
  Result<bool> choose_samples(const WantedRefinement& one,
                              const std::vector<calibrate::Statistics>& statistics) {
    const auto skipped = [&] {
      if (!one.optional)
        report_.remarks.push_back(fmt::format("{} is skipped: it needs calibration data{} (--calib)",
                                              one.row->name, settings_.known ? " beside the ranges" : ""));
      return false;
    };
    if (one.row->phase == Descriptor::Phase::graph) return ahead_.empty() ? skipped() : true;
    const bool calibrated = (!statistics.empty() || !gathered_.empty()) && settings_.known == nullptr;
    if (samples_.empty() && next_ && !calibrated) {
      std::int64_t read = 0;
      while (TRY(next_sample())) ++read;
      report_.samples = std::max(report_.samples, read);
    }
    if (samples_.empty()) samples_ = sums_.take(chosen_);
    return samples_.empty() ? skipped() : true;
  }

  Result<void> write(Model& model, const lower::GraphPlan& plan, bool qoperator) const {
    graph::Names names(*model.graph);
    lower::Functions functions(model, settings_.functions);
    TRY(functions.take_operators(*model.graph));
    TRY(lower::to_qdq(*model.graph, plan, names, functions, settings_.executor.limits));
    if (qoperator) lower::to_qoperator(*model.graph, model.opset().value_or(1));
    TRY(lower::prevent_gemm_fusion(model, settings_.executor.limits));
    if (settings_.functions == lower::Functions::Mode::left_out) portable::join_packed_matmuls(model);
    passes::remove_unused(model);
    import_domains(model);
    model.ir_version = std::max(model.ir_version.value_or(0), ir_for(model.opset().value_or(1)));
    return graph::verify(model, settings_.executor.limits);
  }

  Recipe recipe_;  // with the choices made
  const calibrate::NextSample& next_;
  const Settings& settings_;
  std::shared_ptr<Model> model_;
  ThreadPool pool_;
  QuantizationReport report_;
  QuantizedWeights weights_;
  std::vector<WantedRefinement> refinements_;
  std::map<std::string, calibrate::Statistics> gathered_;  // with the samples read for choices
  std::deque<Sample> ahead_;  // read before calibration, for refinements of the graph
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();  // of these
  ChosenSamples chosen_;
  std::vector<Sample> samples_;  // a subset, once all samples were offered
  SumsInPassing sums_;
  train::SampleStore store_;  // for training
  Stopwatch watch_;
};

}  // namespace

Result<Prepared> prepare(const Model& model, const Recipe& recipe, const Settings& settings) {
  return Quantizer(model, recipe, {}, settings).prepared();
}

Result<Outcomes> quantize(const Model& model, const Recipe& recipe, const calibrate::NextSample& next,
                          const Settings& settings) {
  return Quantizer(model, recipe, next, settings).run(model);
}

}  // namespace anybit::quantizing
