#include "model_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "options.hpp"
#include "spelling.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

const Port* find_port(const std::vector<Port>& ports, const std::string& name) {
  const auto found = std::ranges::find_if(ports, [&](const Port& one) { return one.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

Error no_such_input(const std::vector<Port>& ports, const std::string& name) {
  std::vector<std::string> names;
  for (const Port& one : ports) names.push_back(one.name);
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = fmt::format("its inputs are {}", fmt::join(names, ", "));
  return Error{Code::invalid_argument, fmt::format("the model has no input '{}'", printable(name)), {}, hint};
}

Result<void> take_archive(const std::string& path, const std::vector<Port>& ports, Inputs& inputs) {
  auto arrays = read_npz(path);
  if (!arrays.ok()) return std::move(arrays).error();
  for (auto& [name, array] : *arrays) {
    if (!find_port(ports, name)) return no_such_input(ports, name).within(path);
    inputs.values[name] = Value(std::move(array));
  }
  return {};
}

// "NAME=FILE": names of inputs may hold '=', so every split that names an input is tried.
Result<void> take(const std::string& text, const std::vector<Port>& ports, Inputs& inputs) {
  if (text.ends_with(".npz") && text.find('=') == std::string::npos) return take_archive(text, ports, inputs);
  std::string name, path;
  for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    name = text.substr(0, at);
    path = text.substr(at + 1);
    if (find_port(ports, name)) break;
  }
  if (path.empty()) {
    if (ports.size() != 1) {
      return Error{Code::invalid_argument,
                   fmt::format("'{}' does not say which input it is for", printable(text)),
                   {},
                   "NAME=FILE"};
    }
    name = ports[0].name;
    path = text;
  }
  const Port* port = find_port(ports, name);
  if (!port) return no_such_input(ports, name);
  auto value = read_value(path, *port);
  if (!value.ok()) return std::move(value).error();
  inputs.values[name] = std::move(value).value();
  return {};
}

}  // namespace

void add_input_options(CLI::App& app, InputOptions& options) {
  app.add_option("--input", options.inputs,
                 "A value: x=x.npy, .pb or raw .bin; or an .npz with the inputs' names (may be repeated)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--dim", options.dims, "The size of a named dimension, for values that are made up: batch=8")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "Of values that are made up")->capture_default_str();
}

Result<Inputs> gather_inputs(const std::vector<Port>& ports, const InputOptions& options) {
  auto dims = parse_dims(options.dims);
  if (!dims.ok()) return std::move(dims).error();
  Inputs inputs;
  for (const std::string& text : options.inputs) {
    auto taken = take(text, ports, inputs);
    if (!taken.ok()) return std::move(taken).error();
  }
  std::uint64_t seed = options.seed;
  for (const Port& port : ports) {
    ++seed;
    if (inputs.values.count(port.name) != 0 || !port.required) continue;
    auto value = random_value(port, *dims, seed);
    if (!value.ok()) return std::move(value).error();
    inputs.values[port.name] = std::move(value).value();
    inputs.made_up.push_back(port.name);
  }
  return inputs;
}

std::string type_text(const Value& value) {
  if (value.kind == Value::Kind::nothing) return "nothing";
  if (value.kind == Value::Kind::sequence) return fmt::format("a sequence of {}", value.items.size());
  return fmt::format("{}[{}]", value.tensor.type, fmt::join(value.tensor.dims, ", "));
}

}  // namespace anybit::cli
