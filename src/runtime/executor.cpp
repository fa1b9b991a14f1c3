#include "runtime/executor.hpp"

#include <algorithm>

#include "base/guard.hpp"
#include "base/nearest.hpp"

namespace anybit::runtime {
namespace {

using ops::Datum;

std::string place_of_input(const std::string& name) { return fmt::format("input '{}'", shown(name)); }

Result<void> check_tensor(const graph::TensorType& type, const Datum& value) {
  if (!value.is_array()) return invalid_argument(fmt::format("{} is given", to_string(value)), "a tensor");
  const ops::Array& array = value.array;
  if (type.element && type.element_type() != array.type()) {
    return invalid_argument(fmt::format("{} elements are given", graph::name_of(array.type())),
                            fmt::format("the model takes {}", graph::name_of(type.element_type())));
  }
  if (!type.shape) return {};
  const auto& dims = type.shape->dims;
  bool fits = dims.size() == array.rank();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    fits = !dims[i].known() || dims[i].size() == array.dim(i);
  }
  if (fits) return {};
  graph::Type whole;
  whole.kind = type;
  return invalid_argument(fmt::format("shape {} is given", to_string(array.dims())),
                          fmt::format("the model takes {}", graph::to_string(whole)));
}

}  // namespace

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const graph::Model> model,
                                                 const ExecutorOptions& options) {
  std::unique_ptr<Executor> executor(new Executor());
  executor->model_ = std::move(model);
  executor->memory_ = ops::Memory::make(options.max_memory);
  executor->pool_ = std::make_unique<ThreadPool>(options.threads);
  executor->program_ = TRY(build(*executor->model_, executor->memory_, *executor->pool_,
                                 {.fuse = options.fuse, .watch = options.watch}));
  executor->memory_->trim();
  const graph::Graph& graph = *executor->model_->graph;
  for (const int index : executor->program_->inputs) {
    const Slot& slot = executor->program_->slots[static_cast<std::size_t>(index)];
    const auto info =
        std::ranges::find_if(graph.inputs, [&](const auto& one) { return one.name.str() == slot.name; });
    executor->inputs_.push_back({slot.name, &*info, slot.value.is_nothing()});
  }
  for (const graph::ValueInfo& info : graph.outputs)
    executor->outputs_.push_back({info.name.str(), &info, true});
  return executor;
}

Result<void> Executor::check(std::size_t index, const Datum& value) const {
  const Port& port = inputs_[index];
  const graph::TensorType* type = port.info->type ? port.info->type->tensor() : nullptr;
  if (value.is_nothing()) {
    const bool optional =
        port.info->type && std::holds_alternative<graph::OptionalType>(port.info->type->kind);
    if (!port.required || optional) return {};
    return error_at(
        Code::invalid_argument, place_of_input(port.name), "nothing is given",
        fmt::format("the model takes {}", port.info->type ? graph::to_string(*port.info->type) : "a value"));
  }
  if (!type) return {};
  Result<void> checked = check_tensor(*type, value);
  if (!checked.ok()) return std::move(checked).error().within(place_of_input(port.name));
  return {};
}

Result<std::vector<Datum>> Executor::run(const std::map<std::string, Datum>& inputs, Profile* profile,
                                         Watcher* watcher) const {
  std::vector<Datum> list(inputs_.size());
  for (const auto& [name, value] : inputs) {
    const auto port = std::ranges::find(inputs_, name, &Port::name);
    if (port == inputs_.end()) {
      std::vector<std::string_view> names;
      for (const Port& one : inputs_) names.push_back(one.name);
      std::string hint = did_you_mean(name, names);
      if (hint.empty()) hint = fmt::format("its inputs are {}", fmt::join(names, ", "));
      return error_at(Code::not_found, {}, fmt::format("the model has no input '{}'", shown(name)), hint);
    }
    list[static_cast<std::size_t>(port - inputs_.begin())] = value;
  }
  return run(std::span<const Datum>(list), profile, watcher);
}

Result<std::vector<Datum>> Executor::run(std::span<const Datum> inputs, Profile* profile,
                                         Watcher* watcher) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    TRY(check(i, i < inputs.size() ? inputs[i] : Datum()));
  }
  std::unique_ptr<Context> context;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      context = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!context) context = std::make_unique<Context>(*program_, memory_, *pool_);
  if (profile) profile->begin = now_nanoseconds();
  auto result = guarded([&] { return context->run(inputs, nullptr, profile, watcher); });
  if (!result.ok()) return std::move(result).error();
  std::vector<Datum> outputs(result->begin(), result->end());
  for (const auto& source : model_->sources) TRY(source->intact());
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(context));
  return outputs;
}

}  // namespace anybit::runtime
