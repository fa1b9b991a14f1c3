#include "anybit/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "anybit/calibrate.hpp"
#include "anybit/report.hpp"
#include "api/model_access.hpp"
#include "api/quantize_settings.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "quantize/rounding_data.hpp"

namespace anybit {
namespace {

using Clock = std::chrono::steady_clock;
using SweepJson = nlohmann::ordered_json;

constexpr double kTimed = 0.3;  // seconds of timed runs of each model, at least
constexpr int kLeastTurns = 3, kMostTurns = 50;

Result<double> seconds_of(const Executor& executor, const Sample& sample) {
  const auto begin = Clock::now();
  TRY(executor.run(sample));
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Whether another recipe may succeed: not if memory, files or the caller are the reason.
bool is_about_the_recipe(Code code) {
  return code == Code::invalid_argument || code == Code::unsupported || code == Code::not_found ||
         code == Code::invalid_data;
}

// The recipes one after the other; what they share is made once.
class Sweeper {
 public:
  Sweeper(const Model& model, const OpenSamples& open, const SweepOptions& options)
      : model_(model), open_(open), options_(options) {}

  Result<Sweep> run(const std::vector<SweepRecipe>& recipes) {
    result_.bytes = ModelAccess::bytes_of(model_);
    if (options_.speed) TRY(start_timing());
    if (options_.metric) result_.metric = TRY(options_.metric->of(model_));
    for (const SweepRecipe& one : recipes) {
      if (options_.progress) options_.progress(std::ssize(result_.rows));
      SweepRow row;
      row.recipe = one.name;
      if (auto done = fill(one.recipe, row); !done.ok()) {
        if (!is_about_the_recipe(done.error().code)) return std::move(done).error();
        row.failed = done.error().text();
      }
      result_.rows.push_back(std::move(row));
    }
    if (options_.progress) options_.progress(std::ssize(result_.rows));
    return std::move(result_);
  }

 private:
  Result<void> start_timing() {
    Samples samples = TRY(open_());
    first_ = TRY(samples.next());
    if (!first_) return invalid_argument("there are no samples", "--calib PATH with at least one");
    // The data of a sample is valid until the next one.
    keeps_first_ = samples;
    float_ = TRY(Executor::make(model_, executor_options()));
    TRY(float_->run(*first_));
    return {};
  }

  ExecutorOptions executor_options() const {
    ExecutorOptions options;
    options.threads = options_.quantize.threads;
    options.max_memory = options_.quantize.max_memory;
    return options;
  }

  Result<void> fill(const Recipe& recipe, SweepRow& row) {
    const Model quantized = TRY(this->quantized(recipe));
    row.bytes = ModelAccess::bytes_of(quantized);
    CompareOptions compare_options;
    compare_options.threads = options_.quantize.threads;
    compare_options.max_memory = options_.quantize.max_memory;
    compare_options.layers = false;
    compare_options.labels = options_.labels;
    compare_options.spare_labels = options_.spare_labels;
    compare_options.shared = outputs_;
    Samples samples = TRY(open_());
    row.comparison = TRY(compare(model_, quantized, samples, compare_options));
    const std::vector<PartVerdict>& parts = row.comparison.verdict.parts;
    if (!parts.empty()) row.sqnr = parts[0].part.sqnr;
    if (options_.metric) TRY(judge(quantized, row));
    if (options_.speed) TRY(time(quantized, row));
    return {};
  }

  // By the caller's measure.
  Result<void> judge(const Model& quantized, SweepRow& row) {
    row.metric = TRY(options_.metric->of(quantized));
    Verdict& verdict = row.comparison.verdict;
    verdict =
        TRY(judged_by(std::move(verdict), options_.metric->name, *result_.metric, *row.metric, quantized));
    return {};
  }

  // By the shared statistics; by calibration of its own if they lack what a refinement needs, or values that
  // preparation adds.
  Result<Model> quantized(const Recipe& recipe) {
    QuantizeOptions options = options_.quantize;
    options.histograms = false;
    options.progress = {};
    const bool alone = quantizing::rounds_by_samples(RecipeAccess::of(recipe));
    if (!alone && !ranges_ && !failed_) {
      Samples samples = TRY(open_());
      CalibrateOptions calibrating;
      calibrating.threads = options.threads;
      calibrating.max_memory = options.max_memory;
      calibrating.allow_nan = options.allow_nan;
      calibrating.reproducible = options.reproducible;
      auto ranges = calibrate_model(model_, samples, calibrating);
      if (ranges.ok()) {
        ranges_ = *std::move(ranges);
      } else if (!is_about_the_recipe(ranges.error().code)) {
        return std::move(ranges).error();
      } else {
        failed_ = true;
      }
    }
    if (!alone && ranges_) {
      options.ranges = &*ranges_;
      Samples samples = TRY(open_());
      auto made = quantize(model_, recipe, &samples, options);
      if (made.ok()) return std::move(made->model);
      if (!is_about_the_recipe(made.error().code)) return std::move(made).error();
      options.ranges = nullptr;
    }
    Samples samples = TRY(open_());
    return TRY(quantize(model_, recipe, &samples, options)).model;
  }

  // The float model and this one take turns, so that whatever slows the machine slows both.
  Result<void> time(const Model& quantized, SweepRow& row) {
    const Executor executor = TRY(Executor::make(quantized, executor_options()));
    TRY(executor.run(*first_));
    double ours = 0, theirs = 0, spent = 0;
    for (int turn = 0; turn < kLeastTurns || (turn < kMostTurns && spent < 2 * kTimed); ++turn) {
      const double a = TRY(seconds_of(*float_, *first_)), b = TRY(seconds_of(executor, *first_));
      ours = turn == 0 ? a : std::min(ours, a);
      theirs = turn == 0 ? b : std::min(theirs, b);
      spent += a + b;
    }
    row.speed = ours / theirs;
    row.milliseconds = theirs * 1000;
    if (result_.milliseconds == 0 || ours * 1000 < result_.milliseconds) result_.milliseconds = ours * 1000;
    return {};
  }

  const Model& model_;
  const OpenSamples& open_;
  const SweepOptions& options_;
  ReferenceOutputs outputs_;
  std::optional<Ranges> ranges_;
  bool failed_ = false;  // the shared calibration
  std::optional<Samples> keeps_first_;
  std::optional<Sample> first_;
  std::optional<Executor> float_;
  Sweep result_;
};

}  // namespace

Result<Sweep> sweep(const Model& model, const std::vector<SweepRecipe>& recipes, const OpenSamples& open,
                    const SweepOptions& options) noexcept {
  return guarded([&]() -> Result<Sweep> {
    if (recipes.empty()) return invalid_argument("there are no recipes", "one or more");
    return Sweeper(model, open, options).run(recipes);
  });
}

std::string to_json(const Sweep& sweep) {
  SweepJson rows = SweepJson::array();
  for (const SweepRow& one : sweep.rows) {
    SweepJson row = {{"recipe", one.recipe}};
    if (!one.failed.empty()) {
      row["failed"] = one.failed;
      rows.push_back(std::move(row));
      continue;
    }
    const Comparison& comparison = one.comparison;
    row["bytes"] = one.bytes;
    row["level"] = to_string(comparison.verdict.level);
    row["reason"] = comparison.verdict.reason;
    row["sqnr_db"] = one.sqnr;
    add_json_aliases(row);
    if (comparison.labelled > 0)
      row["top1"] = static_cast<double>(comparison.other_top1) / static_cast<double>(comparison.labelled);
    if (one.metric) row["metric"] = *one.metric;
    if (one.speed > 0) {
      row["milliseconds"] = one.milliseconds;
      row["speed"] = one.speed;
    }
    rows.push_back(std::move(row));
  }
  return rows.dump(-1, ' ', false, SweepJson::error_handler_t::replace);
}

}  // namespace anybit
