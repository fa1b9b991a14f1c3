#include "anybit/compare.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "api/common_layers.hpp"
#include "api/executor_options.hpp"
#include "api/model_access.hpp"
#include "api/reference_outputs.hpp"
#include "api/states.hpp"
#include "api/value.hpp"
#include "api/verdict.hpp"
#include "api/worst_samples.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "evaluate/difference.hpp"
#include "evaluate/output_parts.hpp"
#include "evaluate/row_scores.hpp"
#include "ops/create/random_stream.hpp"
#include "ops/layout.hpp"
#include "runtime/executor.hpp"

namespace anybit {
namespace {

using evaluate::best_of;
using evaluate::DifferenceSums;
using evaluate::is_among;
using ops::Array;
using ops::Datum;

constexpr double kExact = 200;  // dB: no difference

double sqnr_of(const DifferenceSums& sums) {
  Difference difference;
  sums.fill(difference);
  return difference.sqnr;
}

// The elements in plain layout as float32; empty if the type is not a float.
Result<std::vector<float>> floats(const Datum& datum, ops::Memory& memory) {
  if (!datum.is_array() || datum.array.type() != graph::ElementType::float32) return std::vector<float>();
  Array plain = datum.array;
  if (plain.layout() != ops::Layout::plain) {
    plain = TRY(Array::make(memory, datum.array.type(), datum.array.dims()));
    ops::convert_layout(datum.array, plain);
  }
  const std::span<const float> values = plain.elements<float>();
  return std::vector<float>(values.begin(), values.end());
}

// Keeps the reference's values until the other model produces the same value: several times in loops.
struct Keeper : runtime::Watcher {
  ops::Memory* memory = nullptr;
  std::vector<std::vector<std::vector<float>>> kept;

  Result<void> see(std::size_t watched, const Datum& value) override {
    kept[watched].push_back(TRY(floats(value, *memory)));
    return {};
  }
};

struct Comparer : runtime::Watcher {
  ops::Memory* memory = nullptr;
  const Keeper* keeper = nullptr;
  std::vector<DifferenceSums>* sums = nullptr;
  std::vector<std::size_t> shown;  // of each value, in this run

  Result<void> see(std::size_t watched, const Datum& value) override {
    const std::vector<float> mine = TRY(floats(value, *memory));
    const auto& kept = keeper->kept[watched];
    const std::size_t at = shown[watched]++;
    if (at >= kept.size() || kept[at].size() != mine.size()) {
      (*sums)[watched].skip();
    } else if (!mine.empty()) {
      (*sums)[watched].add(kept[at], mine);
    }
    return {};
  }
};

// Rows of scores: the last axis of an output, with at least two scores per row.
class Scores {
 public:
  Scores(const std::vector<std::int64_t>& labels, Comparison& into) : labels_(labels), into_(into) {}

  // `other` may be null: then its rows are not compared, and the labels of these rows are skipped.
  Result<void> add(const Datum& reference, const Datum* other) {
    if (!reference.is_array() || reference.array.type() != graph::ElementType::float32) return {};
    const Array& first = reference.array;
    const auto width = first.rank() < 1 ? 0 : static_cast<std::size_t>(first.dim(first.rank() - 1));
    if (width < 2) return {};
    const std::span<const float> ours = first.elements<float>();
    if (!other || !other->is_array() || other->array.type() != first.type() ||
        other->array.dims() != first.dims()) {
      seen_ += ours.size() / width;
      return {};
    }
    const std::span<const float> theirs = other->array.elements<float>();
    for (std::size_t at = 0; at + width <= ours.size(); at += width) {
      TRY(add_row(ours.subspan(at, width), theirs.subspan(at, width)));
    }
    return {};
  }

  std::int64_t seen() const { return static_cast<std::int64_t>(seen_); }

 private:
  Result<void> add_row(std::span<const float> ours, std::span<const float> theirs) {
    into_.agreed += best_of(ours) == best_of(theirs) ? 1 : 0;
    ++into_.rows;
    const std::size_t row = seen_++;
    if (labels_.empty()) return {};
    if (row >= labels_.size()) return {};  // reported at the end, when all rows are counted
    const std::size_t label = TRY(evaluate::label_of(labels_, row, ours.size()));
    ++into_.labelled;
    into_.reference_top1 += best_of(ours) == label ? 1 : 0;
    into_.other_top1 += best_of(theirs) == label ? 1 : 0;
    into_.reference_top5 += is_among(ours, label, 5) ? 1 : 0;
    into_.other_top5 += is_among(theirs, label, 5) ? 1 : 0;
    return {};
  }

  const std::vector<std::int64_t>& labels_;
  Comparison& into_;
  std::size_t seen_ = 0;  // rows of the reference
};

std::shared_ptr<const graph::Model> borrowed(const Model& model) {
  return {std::shared_ptr<const graph::Model>(), &ModelAccess::content(model).model};
}

class Run {
 public:
  Run(const Model& reference, const Model& other, const CompareOptions& options)
      : options_(options),
        ours_(executor_options(reference, options.threads, options.max_memory)),
        theirs_(executor_options(other, options.threads, options.max_memory)),
        second_model_(other),
        reference_(borrowed(reference)),
        other_(borrowed(other)),
        states_(*reference_->graph),
        scores_(options.labels, result_) {}

  Result<Comparison> on(Samples& samples) {
    TRY(check_labels(samples));
    TRY(prepare());
    while (true) {
      auto sample = TRY(samples.next());
      if (!sample) break;
      auto done = one(*sample);
      if (!done.ok()) return std::move(done).error().within(place(result_.samples, samples.name()));
      ++result_.samples;
      if (options_.progress) options_.progress(result_.samples);
    }
    if (result_.samples == 0)
      return invalid_argument("there are no samples", "--data PATH with at least one");
    const bool spare = options_.spare_labels && std::ssize(options_.labels) > scores_.seen();
    if (!options_.labels.empty() && !spare) TRY(evaluate::check_count(options_.labels, scores_.seen()));
    fill();
    result_.verdict = TRY(verdict_of(result_, found_, second_model_));
    return std::move(result_);
  }

 private:
  static std::string place(std::int64_t number, const std::string& name) {
    return name.empty() ? fmt::format("sample {}", number)
                        : fmt::format("sample {} ({})", number, shown(name));
  }

  // A sample has at least one row of scores, so too few labels are an error before anything runs.
  Result<void> check_labels(const Samples& samples) const {
    if (options_.labels.empty()) return {};
    const std::int64_t count = samples.count().value_or(0);
    if (std::ssize(options_.labels) >= count) return {};
    return invalid_argument(fmt::format("{} labels for {} samples", options_.labels.size(), count),
                            "one label for each");
  }

  Result<void> prepare() {
    if (options_.layers) layers_ = common_layers(*reference_, *other_);
    runtime::ExecutorOptions ours = ours_, theirs = theirs_;
    for (const CommonLayer& one : layers_) {
      ours.watch.push_back(one.name);
      theirs.watch.push_back(one.other);
    }
    for_first_ = std::move(ours);
    if (!options_.shared) TRY(make_first());
    second_ = TRY(runtime::Executor::make(other_, theirs));
    keeper_.kept.resize(layers_.size());
    sums_.resize(layers_.size());
    comparer_.memory = &second_->memory();
    comparer_.keeper = &keeper_;
    comparer_.sums = &sums_;
    const std::size_t outputs = reference_->graph->outputs.size();
    if (outputs != second_->outputs().size())
      return invalid_argument(
          fmt::format("the models have {} and {} outputs", outputs, second_->outputs().size()));
    outputs_.resize(outputs);
    parts_.resize(outputs);
    reasons_.resize(outputs);
    return {};
  }

  // Not needed if all its outputs are known.
  Result<void> make_first() {
    first_ = TRY(runtime::Executor::make(reference_, for_first_));
    keeper_.memory = &first_->memory();
    return {};
  }

  // Samples have the first model's inputs; the second must have inputs of the same names.
  Result<void> check_inputs(const std::map<std::string, Value>& sample) const {
    for (const auto& [name, value] : sample) {
      if (second_->input(name).ok()) continue;
      std::vector<std::string> names;
      for (const auto& one : second_->inputs()) names.push_back(one.name);
      return invalid_argument(
          fmt::format("the models take different inputs: the second has no '{}'", shown(name)),
          fmt::format("its inputs are {}", fmt::join(names, ", ")));
    }
    return {};
  }

  Result<void> one(const std::map<std::string, Value>& sample) {
    TRY(check_inputs(sample));
    std::map<std::string, Datum> inputs;
    for (const auto& [name, value] : sample) inputs.emplace(name, TRY(to_datum(value)));
    for (auto& kept : keeper_.kept) kept.clear();
    comparer_.shown.assign(layers_.size(), 0);
    const std::vector<Datum> ours = TRY(reference_outputs(inputs));
    states_.see(inputs, ours);
    auto theirs = run(*second_, inputs, comparer_);
    if (!theirs.ok()) {
      if (failed_++ == 0) failure_ = fmt::format("sample {}: {}", result_.samples, theirs.error().text());
      for (DifferenceSums& one : outputs_) one.skip();
      return ours.empty() ? Result<void>() : scores_.add(ours[0], nullptr);
    }
    if (!ours.empty() && ours[0].is_array()) rank_ = static_cast<std::int64_t>(ours[0].array.rank());
    lowest_.reset();
    for (std::size_t i = 0; i < ours.size(); ++i) TRY(add_output(i, ours[i], (*theirs)[i]));
    if (lowest_) worst_.add(result_.samples, *lowest_, inputs);
    return ours.empty() ? Result<void>() : scores_.add(ours[0], &(*theirs)[0]);
  }

  Result<std::vector<Datum>> reference_outputs(const std::map<std::string, Datum>& inputs) {
    const bool shares = options_.shared && layers_.empty();
    if (shares) {
      std::vector<Datum> kept = ReferenceOutputsAccess::of(*options_.shared).find(result_.samples);
      if (!kept.empty()) return kept;
    }
    if (!first_) TRY(make_first());
    std::vector<Datum> outputs = TRY(run(*first_, inputs, keeper_));
    if (shares) TRY(ReferenceOutputsAccess::of(*options_.shared).keep(result_.samples, outputs));
    return outputs;
  }

  // Seeds random operators by the sample's number, so that both models draw the same numbers.
  Result<std::vector<Datum>> run(const runtime::Executor& executor,
                                 const std::map<std::string, Datum>& inputs,
                                 runtime::Watcher& watcher) const {
    const ops::RepeatableDraws draws(static_cast<std::uint64_t>(result_.samples));
    return executor.run(inputs, nullptr, &watcher);
  }

  // Lengths that depend on the data may differ: then the outputs are not compared.
  Result<void> add_output(std::size_t i, const Datum& reference, const Datum& other) {
    const std::vector<float> a = TRY(floats(reference, second_->memory())),
                             b = TRY(floats(other, second_->memory()));
    if (a.size() == b.size()) {
      DifferenceSums sample;
      sample.add(a, b);
      outputs_[i].add(sample);
      if (!a.empty()) lowest_ = std::min(lowest_.value_or(kExact), sqnr_of(sample));
      if (!a.empty()) parts_[i].add(reference.array.dims(), a, b);
      return {};
    }
    outputs_[i].skip();
    if (reasons_[i].empty())
      reasons_[i] =
          fmt::format("{} and {} for sample {}", to_string(reference), to_string(other), result_.samples);
    return {};
  }

  void fill() {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].fill(result_.outputs.emplace_back());
      const std::string& name = result_.outputs.back().name = name_of_output(i);
      std::ranges::move(parts_[i].parts(name), std::back_inserter(found_));
    }
    result_.worst_samples = worst_.take();
    const std::set<std::string> states = states_.outputs();
    for (OutputPart& part : found_) {
      if (states.contains(part.output)) part.kind = "state";
    }
    forget_rows();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Difference difference;
      difference.name = layers_[i].name;
      difference.op = layers_[i].op;
      difference.node = layers_[i].node;
      difference.quantized = layers_[i].quantized;
      sums_[i].fill(difference);
      if (difference.count > 0) result_.layers.push_back(std::move(difference));
    }
    remark();
  }

  std::string name_of_output(std::size_t i) const { return reference_->graph->outputs[i].name.str(); }

  // Without labels, agreement of the first output counts only if it has rows of class scores along its last
  // axis.
  void forget_rows() {
    const auto classes = [&](const OutputPart& part) {
      return part.kind == "classes" && part.output == result_.outputs[0].name && part.axis + 1 == rank_;
    };
    if (!options_.labels.empty() || std::ranges::any_of(found_, classes)) return;
    result_.rows = result_.agreed = 0;
  }

  void remark() {
    if (failed_ > 0)
      result_.remarks.push_back(
          fmt::format("the second model fails for {} of {} samples, which are not compared; {}", failed_,
                      result_.samples, failure_));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (reasons_[i].empty()) continue;
      result_.remarks.push_back(fmt::format(
          "output '{}': {} of {} samples are not compared: the models give different shapes, {}",
          shown(name_of_output(i)), result_.outputs[i].skipped - failed_, result_.samples, reasons_[i]));
    }
    const auto skipped =
        std::ranges::count_if(sums_, [](const DifferenceSums& one) { return one.skipped() > 0; });
    if (skipped > 0)
      result_.remarks.push_back(fmt::format(
          "{} intermediate values have different shapes in the two models for some samples: only the other "
          "samples are compared there",
          skipped));
  }

  const CompareOptions& options_;
  const runtime::ExecutorOptions ours_, theirs_;
  const Model& second_model_;
  std::shared_ptr<const graph::Model> reference_, other_;
  Comparison result_;
  States states_;
  Scores scores_;
  std::vector<CommonLayer> layers_;
  runtime::ExecutorOptions for_first_;
  std::unique_ptr<runtime::Executor> first_, second_;
  Keeper keeper_;
  Comparer comparer_;
  std::vector<DifferenceSums> sums_, outputs_;
  std::vector<evaluate::OutputParts> parts_;  // of each output
  std::vector<OutputPart> found_;
  WorstSamples worst_;
  std::optional<double> lowest_;      // SQNR of the outputs for the sample at hand; empty: not comparable
  std::int64_t rank_ = 0;             // of the first output
  std::vector<std::string> reasons_;  // why samples of an output are not compared; empty if all are
  std::int64_t failed_ = 0;           // samples that the second model cannot run
  std::string failure_;               // the first of them
};

}  // namespace

Result<Comparison> compare(const Model& reference, const Model& other, Samples& samples,
                           const CompareOptions& options) noexcept {
  return guarded([&]() -> Result<Comparison> {
    Comparison result = TRY(Run(reference, other, options).on(samples));
    std::ranges::move(samples.remarks(), std::back_inserter(result.remarks));
    return result;
  });
}

}  // namespace anybit
