#include "anybit/executor.hpp"

#include <array>
#include <memory_resource>
#include <unordered_map>

#include "api/executor_options.hpp"
#include "api/model_access.hpp"
#include "api/port.hpp"
#include "api/times.hpp"
#include "api/value.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "runtime/executor.hpp"

namespace anybit {

struct Executor::Content {
  Model model;  // keeps the program's nodes and data alive
  std::unique_ptr<runtime::Executor> executor;
  std::vector<Port> inputs, outputs, variables;
};

void take_times(const runtime::Profile& from, RunProfile& to) {
  for (const runtime::Profile::Entry& one : from.entries) {
    const graph::Node& node = *one.step->node;
    const std::string name = node.name.empty() ? one.step->place : node.name.str();
    to.entries.push_back({name, node.op_type.str(), one.start, one.nanoseconds, one.macs, one.depth});
  }
}

Result<Executor> Executor::make(const Model& model, const ExecutorOptions& options) noexcept {
  return guarded([&]() -> Result<Executor> {
    if (options.threads < 0 || options.threads > 1024)
      return invalid_argument(fmt::format("{} threads", options.threads), "1 to 1024, or 0 for one per core");
    auto content = std::make_shared<Content>(Content{model, nullptr, {}, {}, {}});
    // Not owned: the content holds the model, and outlives the executor.
    const std::shared_ptr<const graph::Model> graph(std::shared_ptr<const graph::Model>(),
                                                    &ModelAccess::content(content->model).model);
    runtime::ExecutorOptions inner = executor_options(model, options.threads, options.max_memory);
    inner.fuse = options.fuse;
    inner.variables = options.variables;
    for (const ExecutorOptions::Update& one : options.updates)
      inner.updates.push_back({one.variable, one.output});
    content->executor = TRY(runtime::Executor::make(graph, inner));
    for (const auto& one : content->executor->inputs())
      content->inputs.push_back(port_of(*one.info, one.required));
    for (const auto& one : content->executor->outputs())
      content->outputs.push_back(port_of(*one.info, one.required));
    std::unordered_map<std::string_view, const graph::Tensor*> initializers;
    for (const graph::Tensor& one : graph->graph->initializers) initializers.emplace(one.name.str(), &one);
    for (const std::string& name : content->executor->variables())
      content->variables.push_back(port_of(*initializers.at(name)));
    return Executor(std::move(content));
  });
}

const std::vector<Port>& Executor::inputs() const noexcept { return content_->inputs; }
const std::vector<Port>& Executor::outputs() const noexcept { return content_->outputs; }

Result<std::vector<Value>> Executor::run(const std::map<std::string, Value>& inputs,
                                         RunProfile* profile) const noexcept {
  return guarded([&]() -> Result<std::vector<Value>> {
    // Room on the stack for the usual number of inputs and outputs: only the results use the heap.
    std::array<std::byte, 8 * sizeof(ops::Datum)> room;
    std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
    std::pmr::vector<ops::Datum> data(content_->executor->input_count(), &memory);
    std::pmr::vector<ops::Datum> results(content_->outputs.size(), &memory);
    for (const auto& [name, value] : inputs) {
      auto datum = to_datum(value);
      if (!datum.ok()) return std::move(datum).error().within(fmt::format("input '{}'", shown(name)));
      data[TRY(content_->executor->input(name))] = std::move(datum).value();
    }
    runtime::Profile inner;
    TRY(content_->executor->run_into(data, results, profile ? &inner : nullptr));
    for (const auto& [name, value] : inputs) TRY(value.tensor.intact());
    if (profile) take_times(inner, *profile);
    std::vector<Value> values;
    values.reserve(results.size());
    for (const ops::Datum& one : results) values.push_back(to_value(one));
    return values;
  });
}

const std::vector<Port>& Executor::variables() const noexcept { return content_->variables; }

Result<Value> Executor::variable(const std::string& name) const noexcept {
  return guarded([&]() -> Result<Value> { return to_value(TRY(content_->executor->variable(name))); });
}

Result<void> Executor::set_variables(const std::map<std::string, Value>& values) noexcept {
  return guarded([&]() -> Result<void> {
    std::map<std::string, ops::Datum> data;
    for (const auto& [name, value] : values) {
      auto datum = to_datum(value);
      if (!datum.ok()) return std::move(datum).error().within(fmt::format("variable '{}'", shown(name)));
      TRY(value.tensor.intact());
      data.emplace(name, std::move(datum).value());
    }
    return content_->executor->write(data);
  });
}

Result<Model> Executor::model() const noexcept {
  return guarded([&]() -> Result<Model> {
    const Model::Content& before = ModelAccess::content(content_->model);
    if (content_->variables.empty()) return content_->model;
    graph::Model model = before.model;
    const auto values = content_->executor->all_variables();
    for (graph::Tensor& one : model.graph->initializers) {
      const auto found = values.find(one.name.str());
      if (found == values.end()) continue;
      graph::Tensor now = found->second.to_constant();
      one.data = std::move(now.data);
      one.strings = std::move(now.strings);
    }
    return ModelAccess::made(std::move(model), before.limits);
  });
}

std::int64_t Executor::peak_memory() const noexcept { return content_->executor->memory().peak(); }
std::int64_t Executor::used_memory() const noexcept { return content_->executor->memory().used(); }

namespace {

void add_decoded(const runtime::Program& program, Executor::Decoded& sum) {
  sum.weights += program.decoded.weights;
  sum.bytes += program.decoded.bytes;
  for (const runtime::Step& step : program.steps) {
    for (const auto& inner : step.graphs) add_decoded(*inner.program, sum);
  }
}

}  // namespace

Executor::Decoded Executor::decoded() const noexcept {
  Decoded sum;
  add_decoded(content_->executor->program(), sum);
  return sum;
}

Result<std::map<std::string, std::int64_t>> Executor::steps() const noexcept {
  return guarded([&]() -> Result<std::map<std::string, std::int64_t>> {
    std::map<std::string, std::int64_t> counts;
    for (const runtime::Step& step : content_->executor->program().steps) {
      ++counts[std::string(step.descriptor->name)];
    }
    return counts;
  });
}

}  // namespace anybit
