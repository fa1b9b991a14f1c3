// A session's variables: initializers whose values the caller reads and writes between runs.
#include <algorithm>
#include <cstring>

#include "api/model_access.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "device/session.hpp"
#include "ops/number.hpp"

namespace anybit {
namespace {

using graph::ElementType;

std::string place_of(const std::string& name) { return fmt::format("variable '{}'", shown(name)); }

ElementType type_of(const Port& port) { return graph::find_element_type(port.element_type)->type; }

std::size_t bytes_of(const Port& port) {
  std::size_t bytes = ops::element_bytes(type_of(port));
  for (const std::int64_t one : port.dims) bytes *= static_cast<std::size_t>(one);
  return bytes;
}

}  // namespace

Result<void> DeviceSession::check_no_variables(const char* wanted) const {
  if (variables_.empty()) return {};
  return error_at(Code::invalid_state, {},
                  fmt::format("the session has variables, whose current values {} would ignore", wanted),
                  "a session without anybit_add_variable");
}

Result<void> DeviceSession::add_variable(const std::string& name) {
  const auto& initializers = ModelAccess::content(*model_).model.graph->initializers;
  const auto found =
      std::ranges::find_if(initializers, [&](const graph::Tensor& one) { return one.name.str() == name; });
  if (found == initializers.end()) {
    std::vector<std::string_view> names;
    for (const graph::Tensor& one : initializers) names.push_back(one.name.str());
    const std::string hint = did_you_mean(name, names);
    return error_at(Code::not_found, {}, fmt::format("the model has no initializer '{}'", shown(name)),
                    hint.empty() ? "a dense initializer of the main graph" : hint);
  }
  if (std::ranges::find(inputs_, name, &Port::name) != inputs_.end())
    return error_at(Code::invalid_argument, place_of(name), "it is an input of the model",
                    "anybit_set_input before a run");
  if (found->type() == ElementType::string)
    return error_at(Code::unsupported, place_of(name), "buffers hold numbers, not strings");
  if (quantized_ || (config_ & ANYBIT_GATHER_RANGES) != 0)
    return error_at(Code::invalid_state, place_of(name), "the session gathers ranges, or is quantized",
                    "a session of its own");
  if (std::ranges::find(variables_, name) == variables_.end()) variables_.push_back(name);
  return {};
}

Result<const Port*> DeviceSession::variable(const std::string& name) const {
  if (!executor_) {
    return error_at(Code::invalid_state, {}, "the model in use is quantized, and has no variables",
                    "anybit_add_variable in a session that is not quantized");
  }
  TRY(executor_->variable(name));  // the error lists the variables
  return &*std::ranges::find(executor_->variables(), name, &Port::name);
}

Result<anybit_tensor_info> DeviceSession::variable_info(const std::string& name) const {
  const Port& port = *TRY(variable(name));
  anybit_tensor_info info{};
  info.name = port.name.c_str();
  info.type = static_cast<anybit_type>(type_of(port));
  info.rank = static_cast<std::int32_t>(port.dims.size());
  std::ranges::copy(port.dims, info.dims);
  return info;
}

Result<const Port*> DeviceSession::variable(const std::string& name, anybit_type type,
                                            std::size_t length) const {
  const Port* const port = TRY(variable(name));
  if (static_cast<ElementType>(type) == type_of(*port) && length == bytes_of(*port)) return port;
  return error_at(
      Code::invalid_argument, place_of(name),
      fmt::format("a buffer of {} bytes of {}", length, graph::name_of(static_cast<ElementType>(type))),
      fmt::format("{} bytes of {}", bytes_of(*port), port->type));
}

Result<void> DeviceSession::get_variable(const std::string& name, anybit_type type, void* buffer,
                                         std::size_t length) const {
  TRY(variable(name, type, length));
  const Value value = TRY(executor_->variable(name));
  std::memcpy(buffer, value.tensor.bytes.data(), length);
  return {};
}

Result<void> DeviceSession::set_variable(const std::string& name, anybit_type type, const void* buffer,
                                         std::size_t length) {
  const Port& port = *TRY(variable(name, type, length));
  Array array;
  array.type = port.element_type;
  array.dims = port.dims;
  array.bytes = {static_cast<const std::byte*>(buffer), length};
  return executor_->set_variables({{name, Value(std::move(array))}});
}

}  // namespace anybit
