#include "runtime/executor.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cpu.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "base/reproducible.hpp"

namespace anybit::runtime {
namespace {

using ops::Datum;

std::string place_of_input(const std::string& name) { return fmt::format("input '{}'", shown(name)); }

std::string taken(const graph::Type& type) {
  return fmt::format("the model takes {}", graph::to_string(type));
}

Result<void> check_tensor(const graph::Type& whole, const graph::TensorType& type, const ops::Array& array) {
  if (type.element && type.element_type() != array.type()) {
    return invalid_argument(fmt::format("{} elements are given", graph::name_of(array.type())), taken(whole));
  }
  if (!type.shape) return {};
  const auto& dims = type.shape->dims;
  bool fits = dims.size() == array.rank();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    fits = !dims[i].known() || dims[i].size() == array.dim(i);
  }
  if (fits) return {};
  return invalid_argument(fmt::format("shape {} is given", to_string(array.dims())), taken(whole));
}

// An optional with a value is checked as that value. Types that no value here can have are not checked.
Result<void> check_value(const graph::Type& type, const Datum& value) {
  const auto other = [&] {
    return invalid_argument(fmt::format("{} is given", to_string(value)), taken(type));
  };
  if (const auto* optional = std::get_if<graph::OptionalType>(&type.kind)) {
    if (value.is_nothing() || !optional->element.get()) return {};
    return check_value(*optional->element.get(), value);
  }
  if (value.is_nothing()) return other();
  if (const auto* tensor = type.tensor())
    return value.is_array() ? check_tensor(type, *tensor, value.array) : Result<void>(other());
  const auto* sequence = std::get_if<graph::SequenceType>(&type.kind);
  if (!sequence) return {};
  if (!value.is_sequence()) return other();
  for (std::size_t i = 0; sequence->element.get() && i < value.sequence->items.size(); ++i) {
    auto checked = check_value(*sequence->element.get(), value.sequence->items[i]);
    if (!checked.ok()) return std::move(checked).error().within(fmt::format("item {}", i));
  }
  return {};
}

}  // namespace

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const graph::Model> model,
                                                 const ExecutorOptions& options) {
  TRY(check_cpu_cap());
  std::unique_ptr<Executor> executor(new Executor());
  executor->model_ = std::move(model);
  executor->options_ = options;
  executor->reproducible_ = reproducible();
  executor->memory_ = ops::Memory::make(options.max_memory);
  executor->pool_ = std::make_unique<ThreadPool>(options.threads);
  std::vector<std::string> updated;
  for (const ExecutorOptions::Update& one : options.updates) updated.push_back(one.variable);
  // Variables replace initializers, and what depends on them alone is kept between runs.
  const Defaults defaults = options.defaults_vary       ? Defaults::inputs
                            : options.variables.empty() ? Defaults::constants
                                                        : Defaults::as_filed;
  executor->program_ = TRY(build(*executor->model_, executor->memory_, *executor->pool_,
                                 {.fuse = options.fuse,
                                  .watch = options.watch,
                                  .variables = options.variables,
                                  .updated = updated,
                                  .limits = options.limits,
                                  .defaults = defaults}));
  executor->memory_->trim();
  executor->find_ports();
  for (const graph::ValueInfo& info : executor->model_->graph->outputs)
    executor->outputs_.push_back({info.name.str(), &info, true});
  TRY(executor->make_variables(options));
  return executor;
}

// The inputs of the program, and of the model those with a default that the program takes as constants. In a
// file before IR version 4 these are weights, which nobody expects among the inputs.
void Executor::find_ports() {
  constexpr std::int64_t kDefaultsAreInputs = 4;
  std::unordered_map<std::string_view, std::size_t> numbers;  // in the program
  for (std::size_t i = 0; i < program_->inputs.size(); ++i)
    numbers.emplace(program_->slots[static_cast<std::size_t>(program_->inputs[i])].name, i);
  std::unordered_set<std::string_view> initialized;
  const graph::Graph& graph = *model_->graph;
  for (const graph::Tensor& one : graph.initializers) initialized.insert(one.name.str());
  for (const graph::SparseTensor& one : graph.sparse_initializers) initialized.insert(one.values->name.str());
  const bool hide = model_->ir_version.value_or(0) < kDefaultsAreInputs;
  taken_.resize(numbers.size());
  for (const bool hidden : {false, true}) {
    for (const graph::ValueInfo& one : graph.inputs) {
      const std::string& name = one.name.str();
      const bool has_default = initialized.contains(name);
      const auto number = numbers.find(name);
      const bool varies = has_default && options_.variables.empty();
      if ((hide && has_default) != hidden || (number == numbers.end() && !varies)) continue;
      if (number != numbers.end()) {
        in_order_ = in_order_ && number->second == ports_.size();
        taken_[number->second] = ports_.size();
      }
      numbers_.emplace(name, ports_.size());
      ports_.push_back({name, &one, !has_default});
    }
    if (!hidden) shown_ = ports_.size();
  }
}

Result<void> Executor::check(std::size_t index, const Datum& value) const {
  const Port& port = ports_[index];
  if (value.is_nothing() && !port.required) return {};
  static const graph::Type kUnknown;
  Result<void> checked = check_value(port.info->type ? *port.info->type : kUnknown, value);
  if (!checked.ok()) return std::move(checked).error().within(place_of_input(port.name));
  return {};
}

Result<std::size_t> Executor::input(std::string_view name) const {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const Port& one : inputs()) names.push_back(one.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("its inputs are {}", fmt::join(names, ", "));
  return error_at(Code::not_found, {}, fmt::format("the model has no input '{}'", shown(name)), hint);
}

Result<std::vector<Datum>> Executor::run(const std::map<std::string, Datum>& inputs, Profile* profile,
                                         Watcher* watcher, Intervention* intervention) const {
  std::vector<Datum> list(ports_.size());
  for (const auto& [name, value] : inputs) list[TRY(input(name))] = value;
  return run(std::span<const Datum>(list), profile, watcher, intervention);
}

Result<std::vector<Datum>> Executor::run(std::span<const Datum> inputs, Profile* profile, Watcher* watcher,
                                         Intervention* intervention) const {
  std::vector<Datum> outputs(outputs_.size());
  TRY(run_into(inputs, outputs, profile, watcher, intervention));
  return outputs;
}

Result<const Executor*> Executor::general() const {
  const std::lock_guard lock(mutex_);
  if (!general_) {
    const ReproducibleScope as_made(reproducible_);
    ExecutorOptions options = options_;
    options.defaults_vary = true;
    general_ = TRY(make(model_, options));
  }
  return general_.get();
}

// Whether the run gives a value for an input that the program takes as a constant.
bool Executor::gives_default(std::span<const Datum> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_nothing() && std::ranges::find(taken_, i) == taken_.end()) return true;
  }
  return false;
}

Result<void> Executor::run_general(std::span<const Datum> inputs, std::span<Datum> outputs, Profile* profile,
                                   Watcher* watcher, Intervention* intervention) const {
  const Executor& other = *TRY(general());
  std::vector<Datum> list(other.input_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) list[TRY(other.input(ports_[i].name))] = inputs[i];
  return other.run_into(list, outputs, profile, watcher, intervention);
}

Result<void> Executor::run_into(std::span<const Datum> inputs, std::span<Datum> outputs, Profile* profile,
                                Watcher* watcher, Intervention* intervention) const {
  static const Datum kNothing;
  std::vector<Datum> plain;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Datum& value = i < inputs.size() ? inputs[i] : kNothing;
    TRY(check(i, value));
    auto mended = ops::mended(value, *memory_);
    if (!mended.ok()) return std::move(mended).error().within(place_of_input(ports_[i].name));
    if (!*mended) continue;
    if (plain.empty()) plain.assign(inputs.begin(), inputs.end());
    plain[i] = **std::move(mended);
  }
  if (!plain.empty()) inputs = plain;
  if (taken_.size() < ports_.size()) {
    if (gives_default(inputs)) return run_general(inputs, outputs, profile, watcher, intervention);
    inputs = inputs.first(std::min(inputs.size(), in_order_ ? taken_.size() : ports_.size()));
  }
  if (!in_order_) {
    std::vector<Datum> sorted(taken_.size());
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] < inputs.size()) sorted[i] = inputs[taken_[i]];
    }
    plain = std::move(sorted);
    inputs = plain;
  }
  const ReproducibleScope as_made(reproducible_);
  std::unique_ptr<Context> context;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      context = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!context) context = std::make_unique<Context>(*program_, memory_, *pool_, variables_.get());
  std::unique_lock<std::mutex> turn(updating_, std::defer_lock);
  if (!updates_.empty()) turn.lock();
  if (profile) profile->begin = now_nanoseconds();
  auto result = guarded([&] { return context->run(inputs, nullptr, profile, watcher, intervention); });
  if (!result.ok()) return std::move(result).error();
  if (updates_.empty()) {
    std::ranges::copy(*result, outputs.begin());
  } else {
    TRY(update(*result));
    for (std::size_t i = 0; i < given_.size(); ++i) outputs[i] = (*result)[given_[i]];
  }
  for (const auto& source : model_->sources) TRY(source->intact());
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
  return {};
}

}  // namespace anybit::runtime
