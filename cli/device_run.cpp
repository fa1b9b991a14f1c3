#include "device_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "numbers.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

// Maps type names of other runtimes to presets; other names are presets already.
std::string recipe_of(const std::string& type) {
  if (type == "int8_wo") return "w8";
  if (type == "int16_wo") return "w16";
  return type;
}

// Bytes of an element: the number in the type's name is its width in bits; at least one byte.
std::size_t element_bytes(const std::string& type) {
  const std::size_t at = type.find_first_of("123456789");
  return at == std::string::npos ? 1 : std::max<std::size_t>(std::stoul(type.substr(at)) / 8, 1);
}

// Rejects empty values, such as unset shell variables, which would count as an option that is not given.
CLI::Validator some(const char* what) {
  return {[what](const std::string& text) {
            return text.empty() ? fmt::format("'' is not a {}", what) : std::string();
          },
          std::string()};
}

// An unknown name on the command line becomes a usage error.
Result<void> named(Result<void> done) {
  if (done.ok()) return done;
  return wrong_call(std::move(done).error());
}

std::vector<std::string> folders_of(const DeviceOptions& options) {
  return options.plugins.empty() ? std::vector<std::string>() : std::vector{options.plugins};
}

}  // namespace

void add_device_options(CLI::App& app, DeviceOptions& options) {
  const char* const group = "On the device";
  CLI::Option* const quantize =
      app.add_option(
             "--quantize", options.quantize,
             "Quantize before the run: uint8, int8, int16, int8_wo, int16_wo (weights only), or a preset")
          ->type_name("TYPE")
          ->check(some("type"))
          ->group(group);
  app.add_option("--qpath", options.qpath, "Where to write the quantized model [MODEL with .q.onnx]")
      ->needs(quantize)
      ->check(some("path"))
      ->group(group);
  app.add_option(
         "--minmax-run,--minmax_run,--minmax_runs", options.minmax_run,
         "Calibration runs of the float model, if the type needs ranges [10, or one per sample if there are "
         "several]")
      ->transform(parse_integer(1, 1'000'000))
      ->needs(quantize)
      ->group(group);
  app.add_flag("--reproducible", options.reproducible,
               "Identical quantized file on every x86-64 CPU, with slower float kernels during calibration")
      ->needs(quantize)
      ->group(group);
  CLI::Option* const codegen =
      app.add_option("--codegen", options.codegen, "Generate code before the run, with this generator")
          ->type_name("NAME-gen")
          ->check(some("generator"))
          ->group(group);
  app.add_option("--cpath", options.cpath,
                 "Where to write the code [the model with the generator's extension]")
      ->needs(codegen)
      ->check(some("path"))
      ->group(group);
  app.add_option("--prefer", options.prefer, "Optimize code for default, performance, memory or compile-time")
      ->needs(codegen)
      ->group(group);
  app.add_option("--backend", options.backends,
                 "Backends that may run the model, separated by ';': cpu is anybit itself, NAME runs the "
                 "output of NAME-gen")
      ->envname("BACKENDS")
      ->type_name("NAMES")
      ->group(group);
  app.add_option("--plugins", options.plugins, "A folder to search first for generators; an absolute path")
      ->type_name("DIR")
      ->check(some("folder"))
      ->group(group);
}

Result<void> check_together(const DeviceOptions& options) {
  if (options.plugins.empty() || !options.codegen.empty() || !options.backends.empty()) return {};
  return Error{Code::invalid_argument,
               "--plugins has no effect without a generator",
               {},
               "--codegen NAME-gen, or --backend NAME"};
}

Result<void> DeviceRun::check(anybit_status status) const {
  if (status == ANYBIT_OK) return {};
  // The hint is on a line of its own (Error::text).
  constexpr std::string_view kHint = "\n  hint: ";
  const std::string text = anybit_last_error(session_.get());
  const std::size_t end = text.find(kHint);
  return Error{static_cast<Code>(status),
               text.substr(0, end),
               {},
               end == std::string::npos ? std::string() : text.substr(end + kHint.size())};
}

Result<void> DeviceRun::set_inputs(const Inputs& inputs) {
  anybit_session* const session = session_.get();
  std::size_t count = 0;
  auto done = check(anybit_input_count(session, &count));
  for (std::size_t i = 0; done.ok() && i < count; ++i) {
    anybit_tensor_info info;
    done = check(anybit_input_info(session, i, &info));
    const auto value = inputs.values.find(info.name);
    if (!done.ok()) break;
    if (value == inputs.values.end()) {  // clears the input of an earlier sample
      done = check(anybit_set_input(session, i, info.type, nullptr, 0));
      continue;
    }
    const Array& array = value->second.tensor;
    done = check(
        anybit_set_input_shape(session, i, static_cast<std::int32_t>(array.dims.size()), array.dims.data()));
    if (done.ok())
      done = check(anybit_set_input(session, i, info.type, array.bytes.data(), array.bytes.size()));
  }
  return done;
}

Result<void> DeviceRun::gather(const DeviceOptions& options, const Draw& draw) {
  anybit_session* const session = session_.get();
  auto done = check(anybit_prepare(session));
  if (done.ok()) done = check(anybit_set_execute_config(session, ANYBIT_GATHER_RANGES));
  for (int i = 0; done.ok() && i < options.minmax_run; ++i) {
    auto inputs = draw(i);
    if (!inputs.ok()) return std::move(inputs).error();
    done = set_inputs(*inputs);
    if (done.ok()) done = check(anybit_run(session));
    ++gathered_;
  }
  return done;
}

// A recipe that needs no ranges succeeds at the first try.
Result<void> DeviceRun::quantize(const DeviceOptions& options, const Draw& draw) {
  anybit_session* const session = session_.get();
  const char* const path = options.qpath.empty() ? nullptr : options.qpath.c_str();
  auto done = check(anybit_set_quantized_model_path(session, path));
  if (done.ok())
    done = named(check(anybit_set_quantization_recipe(session, recipe_of(options.quantize).c_str())));
  if (done.ok()) done = check(anybit_quantize(session));
  if (done.ok() || done.error().code != Code::invalid_state) return done;
  done = gather(options, draw);
  if (done.ok()) done = check(anybit_quantize(session));
  if (done.ok()) done = check(anybit_reset_execute_config(session));
  return done;
}

Result<void> DeviceRun::set_limits(const Limits& limits, std::int64_t max_memory) const {
  const std::pair<anybit_limit, std::int64_t> all[] = {{ANYBIT_LIMIT_RANK, limits.rank},
                                                       {ANYBIT_LIMIT_ELEMENTS, limits.elements},
                                                       {ANYBIT_LIMIT_NODES, limits.nodes},
                                                       {ANYBIT_LIMIT_DEPTH, limits.depth},
                                                       {ANYBIT_LIMIT_RECORDS, limits.records},
                                                       {ANYBIT_LIMIT_WORK_BYTES, limits.work_bytes},
                                                       {ANYBIT_LIMIT_WORK_ELEMENTS, limits.work_elements},
                                                       {ANYBIT_LIMIT_WORK_NODES, limits.work_nodes},
                                                       {ANYBIT_LIMIT_MEMORY, max_memory}};
  Result<void> done;
  for (const auto& [limit, value] : all) {
    if (done.ok()) done = check(anybit_set_limit(session_.get(), limit, value));
  }
  return done;
}

Result<DeviceRun> DeviceRun::start(const std::string& model, const Limits& limits,
                                   const ExecutorOptions& executor, const DeviceOptions& options,
                                   const Inputs& given, const Draw& draw) {
  const auto preference = parse_preference(options.prefer);
  if (!preference.ok()) return preference.error();
  DeviceRun device;
  anybit_session* session = nullptr;
  if (anybit_create_session(&session) != ANYBIT_OK)
    return Error{Code::out_of_memory, "out of memory", {}, {}};
  device.session_.reset(session);
  // No workspace: ranges of this call do not persist.
  auto done = device.check(anybit_set_workspace(session, ""));
  if (done.ok()) done = device.check(anybit_set_threads(session, executor.threads));
  if (done.ok()) done = device.check(anybit_set_reproducible(session, options.reproducible ? 1 : 0));
  if (done.ok()) done = device.set_limits(limits, executor.max_memory);
  if (done.ok() && !options.plugins.empty())
    done = device.check(anybit_set_plugin_directory(session, options.plugins.c_str()));
  if (done.ok()) done = named(device.check(anybit_set_available_backends(session, options.backends.c_str())));
  if (done.ok()) done = device.check(anybit_load_model_from_file(session, model.c_str()));
  if (done.ok()) done = device.set_inputs(given);
  if (done.ok() && !options.quantize.empty()) done = device.quantize(options, draw);
  if (done.ok() && !options.codegen.empty()) {
    if (!options.cpath.empty())
      done = device.check(anybit_set_codegen_model_path(session, options.cpath.c_str()));
    if (done.ok()) done = device.check(anybit_codegen(session, options.codegen.c_str(), *preference));
    if (!done.ok()) return of_generator(std::move(done).error(), options.codegen, folders_of(options));
  }
  if (done.ok()) done = device.check(anybit_prepare(session));
  if (done.ok()) done = device.set_inputs(given);
  if (!done.ok()) return std::move(done).error();
  return device;
}

std::string DeviceRun::quantized() const {
  const char* path = nullptr;
  anybit_quantized_model_path(session_.get(), &path);
  return path ? path : "";
}

std::string DeviceRun::generated() const {
  const char* path = nullptr;
  anybit_codegen_model_path(session_.get(), &path);
  return path ? path : "";
}

bool DeviceRun::by_backend() const {
  anybit_model_kind kind = ANYBIT_MODEL_FLOAT;
  return anybit_model_in_use(session_.get(), &kind) == ANYBIT_OK && kind == ANYBIT_MODEL_GENERATED;
}

// A first run without output buffers finds the shapes of the outputs.
Result<void> DeviceRun::set_outputs(const std::vector<Port>& ports) {
  anybit_session* const session = session_.get();
  Result<void> done;
  for (std::size_t i = 0; done.ok() && i < outputs_.size(); ++i)
    done = check(anybit_set_output(session, i, ANYBIT_TYPE_FLOAT32, nullptr, 0));
  outputs_.clear();
  if (done.ok()) done = check(anybit_run(session));
  for (std::size_t i = 0; done.ok() && i < ports.size(); ++i) {
    anybit_tensor_info info;
    done = check(anybit_output_info(session, i, &info));
    if (!done.ok()) break;
    std::size_t bytes = element_bytes(ports[i].element_type);
    for (std::int32_t k = 0; k < info.rank; ++k) bytes *= static_cast<std::size_t>(info.dims[k]);
    outputs_.push_back(
        {ports[i].element_type, {info.dims, info.dims + info.rank}, std::vector<std::byte>(bytes)});
    done = check(anybit_set_output(session, i, info.type, outputs_.back().bytes.data(), bytes));
  }
  return done;
}

Result<void> DeviceRun::run() { return check(anybit_run(session_.get())); }

Result<std::vector<Value>> DeviceRun::values() const {
  std::vector<Value> values;
  for (const Output& one : outputs_) {
    auto array = Array::from_bytes(one.type, one.bytes, one.dims);
    if (!array.ok()) return std::move(array).error();
    values.emplace_back(std::move(array).value());
  }
  return values;
}

}  // namespace anybit::cli
