#include "train/setup.hpp"

#include <cmath>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/try.hpp"
#include "ops/infer.hpp"
#include "passes/raise_opset.hpp"
#include "train/agreement.hpp"
#include "train/free_batch.hpp"
#include "train/random.hpp"

namespace anybit::train {
namespace {

using graph::Model;
using ops::Array;

constexpr std::int64_t kBatch = 64;
constexpr std::int64_t kMeasured = 512;
// With as many samples, a tenth is held out: the loss before and after is measured on what was not learned.
constexpr std::int64_t kEnough = 100;
constexpr std::int64_t kOpset = 18;  // gradient rules know its operators

Result<std::shared_ptr<const runtime::Executor>> executor_of(Model model, runtime::ExecutorOptions options,
                                                             const runtime::ExecutorOptions& common) {
  options.threads = common.threads;
  options.max_memory = common.max_memory;
  options.limits = common.limits;
  auto made = TRY(runtime::Executor::make(std::make_shared<const Model>(std::move(model)), options));
  return std::shared_ptr<const runtime::Executor>(std::move(made));
}

Result<void> check_options(const TrainingOptions& options) {
  const auto one_of = [](std::string_view name, const std::string& given,
                         std::initializer_list<std::string_view> known) -> Result<void> {
    if (std::ranges::find(known, given) != known.end()) return {};
    return invalid_argument(fmt::format("no {} '{}'", name, shown(given)),
                            fmt::format("one of {}", fmt::join(known, ", ")));
  };
  TRY(one_of("optimizer", options.optimizer, {"adam", "sgd"}));
  TRY(one_of("schedule", options.schedule, {"cosine", "step", "constant"}));
  const auto within = [](std::string_view name, double given, double low, double high) -> Result<void> {
    if (given >= low && given <= high) return {};
    return invalid_argument(fmt::format("{} {}", name, given), fmt::format("{} to {}", low, high));
  };
  TRY(within("rate", options.rate, 1e-9, 10));
  TRY(within("step_rate", options.step_rate, 0, 100));
  TRY(within("weight_decay", options.weight_decay, 0, 10));
  TRY(within("temperature", options.temperature, 0.01, 1000));
  TRY(within("clip", options.clip, 0, 1e9));
  TRY(within("average", options.average, 0, 0.999999));
  TRY(within("batch", static_cast<double>(options.batch), 0, 1 << 20));
  TRY(within("accumulate", static_cast<double>(options.accumulate), 1, 1 << 20));
  TRY(within("steps", static_cast<double>(options.steps), 0, 1e9));
  TRY(within("minutes", options.minutes, 0, 1e6));
  if (options.loss == "ce" && options.labels.empty())
    return invalid_argument("the loss 'ce' needs labels", "--labels FILE, or another loss");
  return {};
}

// Whether the model computes for two samples at once what it computes for each. Nothing if it does not run
// so.
Result<bool> takes_batches(const runtime::Executor& executor, const SampleStore& samples) {
  std::vector<std::int64_t> two{0, 0};
  for (std::int64_t i = 1; i < samples.size() && two[1] == 0; ++i) {
    if (samples.form(i) == samples.form(0)) two[1] = i;
  }
  const auto memory = ops::Memory::make();
  const auto both = executor.run(TRY(stacked(samples, two, {}, *memory)));
  if (!both.ok()) return false;
  for (std::size_t which = 0; which < 2; ++which) {
    const Sample one = TRY(samples.get(two[which]));
    const std::vector<ops::Datum> alone = TRY(executor.run(one));
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (!alone[i].is_array() || alone[i].array.type() != graph::ElementType::float32) continue;
      const Array &part = alone[i].array, &all = (*both)[i].array;
      if (part.rank() == 0 || all.rank() != part.rank() || all.dim(0) != 2 * part.dim(0)) return false;
      const float* from = all.data<float>() + static_cast<std::int64_t>(which) * part.count();
      double error = 0, power = 0;
      for (std::int64_t k = 0; k < part.count(); ++k) {
        const double x = static_cast<double>(part.data<float>()[k]), d = x - static_cast<double>(from[k]);
        error += d * d;
        power += x * x;
      }
      if (!(error <= 1e-6 * power + 1e-12)) return false;
    }
  }
  return true;
}

Result<void> raise_for_training(Model& model, const Limits& limits) {
  if (model.opset().value_or(1) >= kOpset) return {};
  model = TRY(passes::raise_opset(model, kOpset, limits)).model;
  return {};
}

// Steps by the size of the model: the product is about ten minutes of one core at most. Images that are
// changed are not learned by heart, so more of them pay.
std::int64_t steps_by_size(const Model& model, const Sample& sample, std::int64_t batch, bool changed,
                           const Limits& limits) {
  constexpr double kFewest = 600;
  const double most = changed ? 4000 : 2000;
  constexpr double kWork = 4e12;  // multiply-accumulates of forward passes
  ops::InferOptions options{.input_shapes = {}, .dims = {}, .limits = limits};
  for (const auto& [name, value] : sample)
    options.input_shapes[name] = {value.array.dims().begin(), value.array.dims().end()};
  const auto inference = ops::infer(model, options);
  double macs = 0;
  if (inference.ok()) {
    for (const ops::NodeFacts& node : inference->nodes) {
      if (node.macs.known()) macs += static_cast<double>(*node.macs.size);
    }
  }
  if (macs <= 0) return static_cast<std::int64_t>(most / 2);
  const double steps = kWork / (macs * static_cast<double>(batch));
  return static_cast<std::int64_t>(std::clamp(steps, kFewest, most));
}

std::string key_of(const Job& job, const Setup& setup) {
  Sha256 hash;
  const auto add = [&](const auto& value) { hash.update(fmt::format("{}\n", value)); };
  const TrainingOptions& options = job.options;
  for (const std::string& text : {options.loss, options.optimizer, options.schedule, name_of(setup.change)})
    add(text);
  for (const double number : {options.minutes, options.rate, options.step_rate, options.weight_decay,
                              options.temperature, options.clip, options.average})
    add(number);
  for (const std::int64_t number : {options.steps, options.accumulate, setup.batch, job.samples->size()})
    add(number);
  add(options.seed);
  for (const std::int64_t label : options.labels) add(label);
  std::set<std::string> names;
  for (const Parameter& one : setup.parameters) {
    add(one.name);
    names.insert(one.name);
  }
  for (const graph::Tensor& one : job.student.graph->initializers) {
    if (names.contains(one.name.str())) hash.update({one.data.data(), one.data.size()});
  }
  for (const std::int64_t i : setup.measured) {
    const auto sample = job.samples->get(i);
    if (!sample.ok()) continue;
    for (const auto& [name, value] : *sample) hash.update({value.array.bytes(), value.array.byte_count()});
  }
  return hash.hex();
}

class Preparation {
 public:
  explicit Preparation(Job& job) : job_(job), teacher_(*job.teacher) {}

  Result<Setup> run() {
    TRY(check_options(job_.options));
    if (job_.samples->size() == 0) return invalid_argument("training needs samples", "--calib PATH");
    TRY(raise_for_training(job_.student, job_.executor.limits));
    TRY(find_batch());
    TRY(find_losses());
    TRY(check_labels());
    find_parameters();
    if (setup_.parameters.empty())
      return error_at(
          Code::unsupported, {}, "nothing of this model can be trained",
          setup_.remarks.empty() ? "a recipe that quantizes layers with weights" : setup_.remarks[0]);
    setup_.steps = TRY(planned_steps());
    TRY(find_changes());
    setup_.steps = TRY(planned_steps());
    setup_.graph = TRY(make_step_graph(job_.student, setup_.parameters, setup_.losses, job_.options));
    setup_.step = TRY(executor_of(setup_.graph.model, setup_.graph.options, job_.executor));
    StepGraph loss = TRY(make_loss_graph(job_.student, setup_.parameters, setup_.losses, job_.options));
    setup_.loss_output = loss.loss;
    setup_.measure = TRY(executor_of(std::move(loss.model), loss.options, job_.executor));
    setup_.key = key_of(job_, setup_);
    return std::move(setup_);
  }

 private:
  Result<std::int64_t> planned_steps() const {
    if (job_.options.steps > 0) return job_.options.steps;
    return steps_by_size(*job_.teacher, TRY(job_.samples->get(0)), setup_.batch, setup_.change.any(),
                         job_.executor.limits);
  }

  Result<void> find_batch() {
    const std::int64_t count = job_.samples->size();
    setup_.apart = count >= kEnough;
    const std::int64_t measured = std::min(setup_.apart ? count / 10 : count, kMeasured);
    for (std::int64_t i = 0; i < measured; ++i) setup_.measured.push_back(i * count / measured);
    setup_.batch = std::min(job_.options.batch > 0 ? job_.options.batch : kBatch,
                            setup_.apart ? count - measured : count);
    setup_.teacher = TRY(executor_of(teacher_, {}, job_.executor));
    for (const auto& port : setup_.teacher->outputs()) setup_.outputs.push_back(port.name);
    if (setup_.batch > 1 && !TRY(takes_batches(*setup_.teacher, *job_.samples))) {
      free_batch(teacher_);
      auto freed = executor_of(teacher_, {}, job_.executor);
      if (freed.ok() && TRY(takes_batches(**freed, *job_.samples))) {
        setup_.teacher = *std::move(freed);
        free_batch(job_.student);
      } else {
        setup_.batch = 1;
        setup_.remarks.emplace_back("training: the model takes one sample at a time, so each step has one");
      }
    }
    return {};
  }

  Result<void> find_losses() {
    constexpr std::size_t kLooked = 32;
    std::vector<std::vector<Array>> seen;
    for (std::size_t i = 0; i < std::min(kLooked, setup_.measured.size()); ++i) {
      std::vector<Array>& outputs = seen.emplace_back();
      for (const ops::Datum& one : TRY(setup_.teacher->run(TRY(job_.samples->get(setup_.measured[i])))))
        outputs.push_back(one.array);
    }
    const std::string asked =
        job_.options.loss == "auto" && !job_.options.labels.empty() ? "ce" : job_.options.loss;
    setup_.losses = TRY(choose_losses(setup_.outputs, seen, asked));
    for (const OutputLoss& one : setup_.losses)
      setup_.with_loss.push_back(
          static_cast<std::size_t>(std::ranges::find(setup_.outputs, one.output) - setup_.outputs.begin()));
    return {};
  }

  // Changes of images that the float model knows: it finds the classes that it found before. They pay where
  // each image is seen many times.
  Result<void> find_changes() {
    constexpr std::int64_t kOften = 4;
    const TrainingOptions& options = job_.options;
    setup_.change = TRY(augmentation_named(options.augment, options.seed));
    if (options.augment != "auto" || setup_.steps * setup_.batch < kOften * job_.samples->size()) return {};
    const bool classes = std::ranges::all_of(setup_.losses, [](const OutputLoss& one) {
      return one.kind == OutputLoss::Kind::kl && one.rank == 2;
    });
    for (const std::int64_t i : setup_.measured) {
      if (!classes || setup_.batch < 2 || !is_image(TRY(job_.samples->get(i)))) return {};
    }
    Augmentation fitting{.mix = options.labels.empty(), .seed = options.seed};
    fitting.shift = TRY(are_known({.shift = true, .seed = options.seed}));
    fitting.flip = TRY(are_known({.flip = true, .seed = options.seed}));
    setup_.change = fitting;
    return {};
  }

  // Whether the float model chooses the same class for most changed images.
  Result<bool> are_known(const Augmentation& change) {
    constexpr double kMost = 0.9;  // half of the images are mirrored
    const auto memory = ops::Memory::make();
    Agreement agreement;
    for (const std::int64_t i : setup_.measured) {
      const auto expected = TRY(setup_.teacher->run(TRY(job_.samples->get(i))));
      const auto found = TRY(setup_.teacher->run(TRY(stacked(*job_.samples, {i}, change, *memory))));
      for (std::size_t k = 0; k < setup_.losses.size(); ++k) {
        const std::size_t output = setup_.with_loss[k];
        agreement.add(setup_.losses[k], expected[output].array, found[output].array);
      }
    }
    return agreement.share() >= kMost;
  }

  Result<void> check_labels() const {
    const std::vector<std::int64_t>& labels = job_.options.labels;
    if (labels.empty()) return {};
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < job_.samples->size(); ++i) rows += rows_of(TRY(job_.samples->get(i)));
    if (std::ssize(labels) != rows)
      return invalid_argument(fmt::format("{} labels for {} samples", labels.size(), rows),
                              "one label for each sample that training uses (--samples)");
    const auto scored = std::ranges::find(setup_.losses, OutputLoss::Kind::kl, &OutputLoss::kind);
    if (scored == setup_.losses.end() || scored->rank != 2)
      return invalid_argument("labels for a model without an output [samples, classes]",
                              "training without labels");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0 || labels[i] >= scored->classes)
        return invalid_argument(fmt::format("label {} of sample {}", labels[i], i),
                                fmt::format("0 to {}: output '{}' has {} classes", scored->classes - 1,
                                            scored->output, scored->classes));
    }
    return {};
  }

  void find_parameters() {
    std::vector<std::string> names;
    for (const Parameter& one : job_.parameters) names.push_back(one.name);
    const Reach reach = reachable(job_.student, names);
    std::map<std::string, std::int64_t> frozen;  // by the node in the way
    for (const Parameter& one : job_.parameters) {
      if (std::ranges::find(reach.reached, one.name) != reach.reached.end()) {
        setup_.parameters.push_back(one);
      } else if (const std::string& node = reach.blocked.at(one.name); !node.empty()) {
        ++frozen[node];
      }
    }
    for (const auto& [node, count] : frozen)
      setup_.remarks.push_back(fmt::format(
          "training: {} has no gradient: {} weights, biases and scales before it stay as they are", node,
          count));
  }

  Job& job_;
  Model teacher_;
  Setup setup_;
};

}  // namespace

Result<Setup> set_up(Job& job) { return Preparation(job).run(); }

}  // namespace anybit::train
