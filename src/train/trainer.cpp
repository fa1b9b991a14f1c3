#include "train/trainer.hpp"

#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/try.hpp"
#include "train/agreement.hpp"
#include "train/checkpoint.hpp"
#include "train/setup.hpp"

namespace anybit::train {
namespace {

using ops::Array;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Measured {
  double loss = 0, agreement = -1;
};

class Trainer {
 public:
  explicit Trainer(Job& job, Setup setup)
      : job_(job),
        options_(job.options),
        setup_(std::move(setup)),
        memory_(ops::Memory::make()),
        order_(*job.samples, setup_.batch, options_.seed, setup_.held_out()),
        targets_(setup_.teacher, setup_.with_loss) {
    state_.steps = setup_.steps;
    state_.report.batch = setup_.batch;
    state_.report.samples = job.samples->size();
    state_.report.augment = name_of(setup_.change);
  }

  Result<Trained> run() {
    first_ = setup_.step->all_variables();
    TRY(find_label_places());
    if (options_.resume && !options_.checkpoint.empty()) {
      auto state = TRY(load_checkpoint(options_.checkpoint, setup_.key, *memory_));
      if (state) TRY(resume(*std::move(state)));
    }
    if (state_.step == 0) {
      const Measured before = TRY(measure(first_));
      state_.report.loss_before = before.loss;
      state_.report.agreement_before = before.agreement;
      state_.safe = first_;
      if (options_.average > 0) TRY(start_averages());
    }
    start_ = saved_ = Clock::now();
    first_step_ = state_.step;
    while (state_.step < state_.steps && !given_up_) TRY(one_step());
    return finish();
  }

 private:
  Result<void> resume(Checkpoint state) {
    state.report.batch = state_.report.batch;
    state.report.samples = state_.report.samples;
    state.report.augment = state_.report.augment;
    TRY(write(state.values));
    state_ = std::move(state);
    order_.skip(state_.step * options_.accumulate);
    resumed_ = true;
    return {};
  }

  Result<void> write(const Values& values) const {
    std::map<std::string, ops::Datum> data;
    for (const auto& [name, array] : values) data.emplace(name, array);
    return setup_.step->write(data);
  }

  // --- batches ---

  // The first label of each sample: a sample may have several rows.
  Result<void> find_label_places() {
    if (options_.labels.empty()) return {};
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < job_.samples->size(); ++i) {
      label_places_.push_back(at);
      at += rows_of(TRY(job_.samples->get(i)));
    }
    return {};
  }

  Result<Array> one_hot(const std::vector<std::int64_t>& which, const std::vector<std::int64_t>& rows) {
    const auto scored = std::ranges::find(setup_.losses, OutputLoss::Kind::kl, &OutputLoss::kind);
    std::int64_t count = 0;
    for (const std::int64_t one : rows) count += one;
    Array hot = TRY(Array::make(*memory_, graph::ElementType::float32, {count, scored->classes}));
    std::ranges::fill(hot.elements<float>(), 0.0F);
    auto* row = hot.mutable_data<float>();
    for (std::size_t k = 0; k < which.size(); ++k) {
      for (std::int64_t i = 0; i < rows[k]; ++i, row += scored->classes)
        row[options_
                .labels[static_cast<std::size_t>(label_places_[static_cast<std::size_t>(which[k])] + i)]] = 1;
    }
    return hot;
  }

  struct Batch {
    Sample inputs;               // of the executor, with targets
    std::vector<Array> targets;  // by output with a loss
  };

  Result<Batch> batch_of(const std::vector<std::int64_t>& which, const LossNodes& nodes, bool changed) {
    Augmentation change = changed ? setup_.change : Augmentation();
    change.step = drawn_;
    Batch batch;
    batch.inputs = TRY(stacked(*job_.samples, which, change, *memory_));
    std::vector<std::int64_t> rows;
    if (which.size() == 1) {
      rows.push_back(rows_of(batch.inputs));
    } else {
      for (const std::int64_t i : which) rows.push_back(rows_of(TRY(job_.samples->get(i))));
    }
    const std::vector<float> shares =
        change.mix ? mixture(change, std::accumulate(rows.begin(), rows.end(), std::int64_t{0}))
                   : std::vector<float>();
    if (change.mix) {
      for (auto& [name, value] : batch.inputs) TRY(mix_rows(value.array, shares, *memory_));
    }
    batch.targets = TRY(targets_.of(which, batch.inputs, rows, change.any()));
    for (std::size_t i = 0; i < nodes.targets.size(); ++i)
      batch.inputs.emplace(nodes.targets[i], batch.targets[i]);
    if (!nodes.labels.empty()) {
      Array hot = TRY(one_hot(which, rows));
      if (change.mix) TRY(mix_rows(hot, shares, *memory_));
      batch.inputs.emplace(nodes.labels, std::move(hot));
    }
    return batch;
  }

  // Loss and agreement of the model with these values of the parameters.
  Result<Measured> measure(const Values& values) {
    std::map<std::string, ops::Datum> data;
    for (const Parameter& one : setup_.parameters) data.emplace(one.name, values.at(one.name));
    TRY(setup_.measure->write(data));
    double loss = 0;
    Agreement agreement;
    const auto each = static_cast<std::size_t>(setup_.batch);
    for (std::size_t first = 0; first < setup_.measured.size();) {
      std::vector<std::int64_t> which{setup_.measured[first]};
      while (++first < setup_.measured.size() && which.size() < each &&
             job_.samples->form(setup_.measured[first]) == job_.samples->form(which[0]))
        which.push_back(setup_.measured[first]);
      const Batch batch = TRY(batch_of(which, setup_.graph.targets, false));
      const auto outputs = TRY(setup_.measure->run(batch.inputs));
      loss += static_cast<double>(outputs.back().array.data<float>()[0]) * static_cast<double>(which.size());
      add_agreement(outputs, batch, agreement);
    }
    return Measured{loss / static_cast<double>(setup_.measured.size()), agreement.share()};
  }

  void add_agreement(const std::vector<ops::Datum>& outputs, const Batch& batch, Agreement& agreement) const {
    for (std::size_t i = 0; i < setup_.losses.size(); ++i)
      agreement.add(setup_.losses[i], outputs[setup_.with_loss[i]].array, batch.targets[i]);
  }

  // --- steps ---

  double rate() const {
    const double done =
        static_cast<double>(state_.step) / static_cast<double>(std::max<std::int64_t>(state_.steps, 1));
    double factor = 1;
    if (options_.schedule == "cosine") factor = 0.5 * (1 + math::cos(std::numbers::pi * done));
    if (options_.schedule == "step") factor = done < 0.5 ? 1 : done < 0.75 ? 0.1 : 0.01;
    const double warm = static_cast<double>(std::min<std::int64_t>(state_.steps / 50 + 1, 20));
    factor *= std::min(1.0, static_cast<double>(state_.step + 1) / warm);
    return options_.rate * factor * state_.rate_factor;
  }

  Result<void> one_step() {
    double loss = 0;
    Agreement agreement;
    for (std::int64_t part = 0; part < options_.accumulate; ++part) loss += TRY(run_batch(part, agreement));
    loss /= static_cast<double>(options_.accumulate);
    ++state_.step;
    if (TRY(diverged(loss))) return {};
    TRY(average());
    note(loss, agreement.share());
    if (options_.minutes > 0) plan_by_time();
    return report(loss, agreement.share());
  }

  // Runs batch `part` of the next step; the last one changes the weights. Returns the loss.
  Result<double> run_batch(std::int64_t part, Agreement& agreement) {
    drawn_ = static_cast<std::uint64_t>(state_.step * options_.accumulate + part);
    Batch batch = TRY(batch_of(order_.next(), setup_.graph.targets, true));
    auto now = static_cast<float>(rate());
    std::int64_t number = state_.step + 1;
    bool last = part + 1 == options_.accumulate;
    const auto scalar = [&](const std::string& name, graph::ElementType type, auto& value) {
      if (!name.empty())
        batch.inputs.emplace(name, Array::over(type, {}, reinterpret_cast<std::byte*>(&value)));
    };
    scalar(setup_.graph.rate, graph::ElementType::float32, now);
    scalar(setup_.graph.step, graph::ElementType::int64, number);
    scalar(setup_.graph.last, graph::ElementType::boolean, last);
    const auto outputs = TRY(setup_.step->run(batch.inputs));
    add_agreement(outputs, batch, agreement);
    return static_cast<double>(outputs.back().array.data<float>()[0]);
  }

  // A smoothed loss far above the first one, or no number: back to the last safe values, with half the rate.
  Result<bool> diverged(double loss) {
    constexpr std::int64_t kSafe = 50;
    constexpr double kFar = 4;
    const double smooth = state_.step == 1 ? loss : 0.9 * state_.smooth + 0.1 * loss;
    if (state_.step == 1) state_.first_smooth = state_.best_smooth = loss;
    const bool far = smooth > kFar * std::max(state_.first_smooth, 1e-6) && state_.step > 20;
    if (std::isfinite(loss) && !far) {
      state_.smooth = smooth;
      state_.best_smooth = std::min(state_.best_smooth, smooth);
      if (state_.step % kSafe == 0 && smooth <= 1.5 * state_.best_smooth) {
        state_.safe_step = state_.step;
        state_.safe = setup_.step->all_variables();
      }
      return false;
    }
    constexpr std::int64_t kMost = 3;
    TRY(write(state_.safe));
    state_.smooth = state_.best_smooth;
    state_.rate_factor /= 2;
    if (++state_.report.restarts > kMost) {
      remarks_.push_back(fmt::format("training diverged {} times and ended after step {}: lower the rate",
                                     state_.report.restarts, state_.safe_step));
      given_up_ = true;
    }
    return true;
  }

  void note(double loss, double agreement) {
    state_.pending.loss += loss;
    state_.pending.agreement += agreement + (state_.pending_steps == 0 ? 1 : 0);
    const std::int64_t interval = std::max<std::int64_t>((setup_.steps + 199) / 200, 1);
    if (++state_.pending_steps < interval && state_.step < state_.steps) return;
    const auto count = static_cast<double>(state_.pending_steps);
    if (state_.report.curve.size() < 200)
      state_.report.curve.push_back(
          {state_.step, state_.pending.loss / count, state_.pending.agreement / count});
    state_.pending = {};
    state_.pending_steps = 0;
  }

  // As many steps as fit into the time, by that of the first ones.
  void plan_by_time() {
    constexpr std::int64_t kLooked = 20;
    if (resumed_ || state_.step != kLooked) return;
    const double each = seconds_since(start_) / static_cast<double>(kLooked);
    state_.steps =
        std::max<std::int64_t>(kLooked, static_cast<std::int64_t>(options_.minutes * 60 * 0.97 / each));
    setup_.steps = state_.steps;
  }

  Result<void> report(double loss, double agreement) {
    bool stop = false;
    if (options_.on_step) {
      const double done = static_cast<double>(state_.step - first_step_);
      const double left =
          seconds_since(start_) / std::max(done, 1.0) * static_cast<double>(state_.steps - state_.step);
      stop = !options_.on_step({state_.step, state_.steps, loss, agreement, rate(), left});
    }
    constexpr double kInterval = 60;  // seconds
    if (!options_.checkpoint.empty() && (stop || seconds_since(saved_) > kInterval)) {
      TRY(save());
      saved_ = Clock::now();
    }
    if (!stop) return {};
    return error_at(Code::cancelled, {}, fmt::format("training was cancelled after step {}", state_.step),
                    options_.checkpoint.empty()
                        ? std::string()
                        : fmt::format("--resume continues from '{}'", options_.checkpoint));
  }

  Result<void> save() {
    state_.values = setup_.step->all_variables();
    state_.report.seconds += seconds_since(start_) - counted_;
    counted_ = seconds_since(start_);
    return save_checkpoint(options_.checkpoint, setup_.key, state_);
  }

  // --- the moving average of the weights ---

  Result<void> start_averages() {
    for (const Parameter& one : setup_.parameters)
      state_.averages.emplace(one.name, TRY(first_.at(one.name).copy(*memory_)));
    return {};
  }

  Result<void> average() {
    if (state_.averages.empty()) return {};
    // It starts as a plain mean.
    const double decay = std::min(options_.average, 1 - 1 / static_cast<double>(state_.step + 1));
    const auto share = static_cast<float>(1 - decay);
    for (auto& [name, mean] : state_.averages) {
      const Array now = TRY(setup_.step->variable(name));
      auto* to = mean.mutable_data<float>();
      for (std::int64_t i = 0; i < now.count(); ++i) to[i] += share * (now.data<float>()[i] - to[i]);
    }
    return {};
  }

  // --- the end ---

  Result<Trained> finish() {
    Trained trained;
    trained.remarks = setup_.remarks;
    trained.remarks.insert(trained.remarks.end(), remarks_.begin(), remarks_.end());
    TrainingReport& report = trained.report = std::move(state_.report);
    const Values all = given_up_ ? state_.safe : setup_.step->all_variables();
    Values chosen;
    for (const Parameter& one : setup_.parameters) chosen.emplace(one.name, all.at(one.name));
    Measured after = TRY(measure(chosen));
    if (!state_.averages.empty()) {
      const Measured mean = TRY(measure(state_.averages));
      if (mean.loss < after.loss) {
        chosen = state_.averages;
        after = mean;
        report.averaged = true;
      }
    }
    report.steps = given_up_ ? state_.safe_step : state_.step;
    report.seconds += seconds_since(start_) - counted_;
    report.loss_after = after.loss;
    report.agreement_after = after.agreement;
    for (const OutputLoss& one : setup_.losses)
      report.loss += fmt::format(
          "{}{}: {}", report.loss.empty() ? "" : ", ", one.output,
          one.kind == OutputLoss::Kind::kl && !options_.labels.empty() ? "ce and kl" : name_of(one.kind));
    for (const auto& [name, array] : chosen) report.parameters += array.count();
    report.trained = after.loss < report.loss_before;
    if (report.trained) {
      trained.values = std::move(chosen);
    } else {
      trained.remarks.push_back(fmt::format(
          "training brought nothing (loss {:.4g} before, {:.4g} after): the weights stay as they were",
          report.loss_before, report.loss_after));
    }
    return trained;
  }

  Job& job_;
  const TrainingOptions& options_;
  Setup setup_;
  std::shared_ptr<ops::Memory> memory_;
  BatchOrder order_;
  Targets targets_;
  Checkpoint state_;
  Values first_;
  std::vector<std::int64_t> label_places_;
  std::vector<std::string> remarks_;
  Clock::time_point start_, saved_;
  double counted_ = 0;
  std::uint64_t drawn_ = 0;  // batches before this one
  std::int64_t first_step_ = 0;
  bool resumed_ = false, given_up_ = false;
};

}  // namespace

Result<Trained> train(Job job) {
  Setup setup = TRY(set_up(job));
  return Trainer(job, std::move(setup)).run();
}

}  // namespace anybit::train
