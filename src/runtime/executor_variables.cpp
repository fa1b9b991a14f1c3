// The variables of an executor: creating, reading, writing, and updating by runs.
#include <algorithm>

#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "runtime/executor.hpp"

namespace anybit::runtime {

using ops::Array;
using ops::Datum;

Result<void> Executor::make_variables(const ExecutorOptions& options) {
  std::vector<Array> values;
  std::unordered_map<std::string_view, const graph::Tensor*> initializers;
  for (const graph::Tensor& one : model_->graph->initializers) initializers.emplace(one.name.str(), &one);
  for (const std::string& name : options.variables) {
    auto array = Array::from(*initializers.at(name), *memory_);  // preparation has checked the name
    if (!array.ok()) return std::move(array).error().within(fmt::format("variable '{}'", shown(name)));
    values.push_back(std::move(array).value());
  }
  if (!options.variables.empty())
    variables_ = std::make_unique<Variables>(options.variables, std::move(values), *program_);
  for (const ExecutorOptions::Update& one : options.updates) {
    const auto output = std::ranges::find(outputs_, one.output, &Port::name);
    if (output == outputs_.end()) {
      std::vector<std::string_view> names;
      for (const Port& port : outputs_) names.push_back(port.name);
      return error_at(Code::not_found, fmt::format("update of variable '{}'", shown(one.variable)),
                      fmt::format("the model has no output '{}'", shown(one.output)),
                      fmt::format("its outputs are {}", fmt::join(names, ", ")));
    }
    const Update update{TRY(variable_number(one.variable)),
                        static_cast<std::size_t>(output - outputs_.begin())};
    const bool twice = std::ranges::any_of(updates_, [&](const Update& other) {
      return other.variable == update.variable || other.output == update.output;
    });
    if (twice) {
      return error_at(Code::invalid_argument, fmt::format("update of variable '{}'", shown(one.variable)),
                      "the variable or the output has another update", "one output for each variable");
    }
    updates_.push_back(update);
  }
  if (updates_.empty()) return {};
  std::vector<Port> others;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (std::ranges::find(updates_, i, &Update::output) != updates_.end()) continue;
    given_.push_back(i);
    others.push_back(outputs_[i]);
  }
  outputs_ = std::move(others);
  return {};
}

const std::vector<std::string>& Executor::variables() const {
  static const std::vector<std::string> kNone;
  return variables_ ? variables_->names() : kNone;
}

Result<std::size_t> Executor::variable_number(std::string_view name) const {
  if (variables_) return variables_->find(name);
  return error_at(Code::not_found, {}, fmt::format("there is no variable '{}'", shown(name)),
                  "variables are named when the executor is made; this one has none");
}

Result<Array> Executor::variable(std::string_view name) const {
  const std::size_t number = TRY(variable_number(name));
  return *(*variables_->now())[number].array;
}

std::map<std::string, Array> Executor::all_variables() const {
  std::map<std::string, Array> all;
  if (!variables_) return all;
  const auto values = variables_->now();
  for (std::size_t i = 0; i < values->size(); ++i) all.emplace(variables_->names()[i], *(*values)[i].array);
  return all;
}

Result<void> Executor::write(const std::map<std::string, Datum>& values) const {
  return guarded([&]() -> Result<void> {
    std::vector<Variables::Write> writes;
    for (const auto& [name, value] : values) {
      const std::size_t number = TRY(variable_number(name));
      TRY(variables_->check(number, value));
      const auto within = [place = fmt::format("variable '{}'", shown(name))](Error error) {
        return std::move(error).within(place);
      };
      auto mended = ops::mended(value, *memory_);
      if (!mended.ok()) return within(std::move(mended).error());
      auto copy = *mended ? Result<Array>((*mended)->array) : value.array.copy(*memory_);
      if (!copy.ok()) return within(std::move(copy).error());
      writes.push_back({number, std::move(copy).value()});
    }
    // A running update would overwrite the values at its end.
    std::unique_lock<std::mutex> turn(updating_, std::defer_lock);
    if (!updates_.empty()) turn.lock();
    if (!writes.empty()) variables_->write(writes);
    return {};
  });
}

// An output owns its memory, so nothing is copied.
Result<void> Executor::update(std::span<const Datum> results) const {
  std::vector<Variables::Write> writes;
  for (const Update& one : updates_) {
    const Datum& value = results[one.output];
    auto checked = variables_->check(one.variable, value);
    if (!checked.ok())
      return std::move(checked).error().within(
          fmt::format("output '{}'", shown(model_->graph->outputs[one.output].name.str())));
    writes.push_back({one.variable, value.array});
  }
  variables_->write(writes);
  return {};
}

}  // namespace anybit::runtime
