#include "device/codegen.hpp"

#include <algorithm>
#include <cstdlib>

#include "api/constant_inputs.hpp"
#include "api/model_access.hpp"
#include "api/port.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "device/session.hpp"
#include "ops/infer.hpp"
#include "ops/number.hpp"

namespace anybit {
namespace {

using codegen::kOwnBackend;

// Splits names at ';' or ','.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(";,", at), text.size());
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

Result<std::vector<std::byte>> memory_for(const Port& port) {
  const graph::ElementTypeInfo* info = graph::find_element_type(port.element_type);
  const auto count = element_count(port.dims);
  const auto bytes = info && count
                         ? checked_mul(*count, static_cast<std::int64_t>(ops::element_bytes(info->type)))
                         : std::nullopt;
  if (!bytes || *bytes < 0 || port.element_type == "string")
    return error_at(Code::unsupported, {}, fmt::format("backends do not support outputs of {}", port.type));
  return std::vector<std::byte>(static_cast<std::size_t>(*bytes));
}

}  // namespace

// Infers the shapes of the outputs from those of the inputs.
Result<void> GeneratedModel::learn_ports(const Model& model, const CodegenOptions& options) {
  const Model constant = with_constant_defaults(model);
  const Model::Content& content = ModelAccess::content(constant);
  const graph::Model& inner = content.model;
  inputs_ = input_ports(inner);
  for (Port& port : inputs_) {
    const auto shape = options.shapes.find(port.name);
    if (shape != options.shapes.end()) port.dims = shape->second;
  }
  const ops::Inference facts = TRY(ops::infer(inner, {options.shapes, {}, content.limits}));
  for (std::size_t i = 0; i < inner.graph->outputs.size(); ++i) {
    Port port = port_of(inner.graph->outputs[i], true);
    if (facts.outputs[i].shape) {
      port.dims.clear();
      for (const ops::Dim& dim : *facts.outputs[i].shape) port.dims.push_back(dim.size.value_or(-1));
    }
    if (!facts.outputs[i].shape || std::ranges::count(port.dims, -1) != 0)
      return error_at(Code::unsupported, fmt::format("output '{}'", shown(port.name)),
                      "its shape depends on input values, and a backend needs a static shape");
    outputs_.push_back(std::move(port));
  }
  return {};
}

Result<std::shared_ptr<GeneratedModel>> GeneratedModel::load(const Model& model, const std::string& generator,
                                                             const std::string& path,
                                                             const CodegenOptions& options) {
  auto made = std::make_shared<GeneratedModel>();
  made->generator_ = generator;
  made->preference_ = options.preference;
  made->path_ = path;
  auto plugin = TRY(codegen::Plugin::find(generator, options.folders));
  if (!plugin->table().load) return made;
  TRY(made->learn_ports(model, options));
  made->backend_ = TRY(codegen::Backend::load(std::move(plugin), path));
  return made;
}

bool GeneratedModel::takes(const std::string& input, const std::vector<std::int64_t>& dims) const {
  const auto port = std::ranges::find(inputs_, input, &Port::name);
  return port == inputs_.end() || port->dims == dims;
}

Result<std::vector<Value>> GeneratedModel::run(const std::map<std::string, Value>& inputs) {
  std::vector<anybit_tensor> in, out;
  const auto tensor = [](const std::string& type, const std::vector<std::int64_t>& dims, const void* data,
                         std::size_t bytes) {
    return anybit_tensor{type.c_str(), static_cast<std::int32_t>(dims.size()), dims.data(),
                         const_cast<void*>(data), bytes};
  };
  for (const Port& port : inputs_) {
    const auto found = inputs.find(port.name);
    const std::string place = fmt::format("input '{}'", shown(port.name));
    if (found == inputs.end())
      return error_at(Code::invalid_argument, place, "nothing is given", "generated code needs every input");
    const Array& array = found->second.tensor;
    if (array.dims != port.dims)
      return error_at(Code::invalid_argument, place,
                      fmt::format("shape [{}] is given", fmt::join(array.dims, ", ")),
                      fmt::format("the code was generated for [{}]", fmt::join(port.dims, ", ")));
    in.push_back(tensor(array.type, array.dims, array.bytes.data(), array.bytes.size()));
  }
  std::vector<std::vector<std::byte>> memory;
  for (const Port& port : outputs_) {
    memory.push_back(TRY(memory_for(port)));
    out.push_back(tensor(port.element_type, port.dims, memory.back().data(), memory.back().size()));
  }
  {
    const std::lock_guard lock(mutex_);
    TRY(backend_->run(in, out));
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    // Not Array::from_bytes, which accepts only the types of .npy files.
    const auto held = std::make_shared<const std::vector<std::byte>>(std::move(memory[i]));
    values.emplace_back(Array{outputs_[i].element_type, outputs_[i].dims, *held, held, nullptr});
  }
  return values;
}

CodegenOptions DeviceSession::codegen_options(anybit_preference preference) const {
  CodegenOptions options{.preference = preference};
  if (!plugin_folder_.empty()) options.folders.push_back(plugin_folder_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Port& port = inputs_[i];
    if (!port.required) continue;  // a constant in the generated code
    if (port.has_rank && std::ranges::count(port.dims, -1) == 0) continue;
    auto dims = input_dims(i);
    if (dims.ok()) options.shapes[port.name] = std::move(dims).value();
  }
  return options;
}

Result<void> DeviceSession::set_plugin_folder(const std::string& folder) {
  if (!folder.empty() && folder.front() != '/')
    return error_at(Code::unsafe_path, {}, fmt::format("'{}' is a relative path", shown(folder)),
                    "the absolute path of a folder");
  plugin_folder_ = folder;
  return {};
}

Result<void> DeviceSession::codegen(const std::string& generator, anybit_preference preference) {
  TRY(check_no_variables("generating code"));
  if (preference < ANYBIT_PREFER_DEFAULT || preference > ANYBIT_PREFER_COMPILE_TIME)
    return invalid_argument(fmt::format("there is no preference {}", static_cast<int>(preference)),
                            "one of ANYBIT_PREFER_…");
  const Model& model = quantized_ ? quantized_->model : *model_;
  CodegenOptions options = codegen_options(preference);
  // The files of the float model, from which the quantized one was made, are never overwritten.
  if (!path_.empty()) options.keep.push_back(path_);
  for (const auto& source : ModelAccess::content(*model_).model.sources)
    options.keep.push_back(source->path());
  const std::string path = TRY(generate_code(model, generator, generated_path_, options));
  generated_ = TRY(GeneratedModel::load(model, generator, path, options));
  if (state_ == State::ran) state_ = State::prepared;
  return {};
}

void DeviceSession::take_default_backends() {
  const char* const names = std::getenv("BACKENDS");
  backends_ = split(names ? names : "");
}

Result<void> DeviceSession::set_backends(const std::string& text) {
  std::vector<std::string> names = split(text);
  std::vector<std::string> there{std::string(kOwnBackend)};
  const bool others = std::ranges::any_of(names, [](const std::string& one) { return one != kOwnBackend; });
  if (others) {
    for (const GeneratorInfo& one : list_generators(codegen_options(ANYBIT_PREFER_DEFAULT).folders)) {
      if (one.backend) there.push_back(one.backend_name);
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::count(there, name) == 0)
      return error_at(Code::not_found, {}, fmt::format("there is no backend '{}'", shown(name)),
                      fmt::format("those that are there: {}", fmt::join(there, ", ")));
  }
  backends_ = std::move(names);
  return {};
}

bool DeviceSession::may_run(std::string_view backend) const {
  return !backends_ || backends_->empty() || std::ranges::count(*backends_, backend) != 0;
}

bool DeviceSession::runs_generated() const {
  if (!generated_ || !generated_->runs()) return false;
  if (!may_run(generated_->backend_name())) return false;
  // Generated code is for fixed shapes; anybit itself runs others, if it is a permitted backend.
  for (std::size_t i = 0; may_run(kOwnBackend) && i < inputs_.size(); ++i) {
    const auto dims = input_dims(i);
    if (inputs_[i].required && dims.ok() && !generated_->takes(inputs_[i].name, *dims)) return false;
  }
  return true;
}

Result<void> DeviceSession::check_backend() const {
  if (runs_generated() || may_run(kOwnBackend)) return {};
  return error_at(Code::invalid_state, {},
                  fmt::format("none of the backends {} can run the model", fmt::join(*backends_, ", ")),
                  "code made by the backend's generator (so-gen for so), or 'cpu' among them");
}

}  // namespace anybit
