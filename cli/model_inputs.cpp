#include "model_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "likely_size.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "spelling.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

// Adds the sizes that files give to symbolic dimensions, unless `dims` has them: random inputs must use the
// same sizes.
void add_sizes(const std::vector<Port>& ports, const Inputs& inputs,
               std::map<std::string, std::int64_t>& dims) {
  std::map<std::string_view, const Port*> by_name;
  for (const Port& one : ports) by_name.emplace(one.name, &one);
  for (const auto& [name, value] : inputs.values) {
    const Port& port = *by_name.at(name);
    if (value.tensor.dims.size() != port.symbols.size()) continue;  // the run reports the mismatch
    for (std::size_t i = 0; i < port.symbols.size(); ++i) {
      if (!port.symbols[i].empty()) dims.emplace(port.symbols[i], value.tensor.dims[i]);
    }
  }
}

// Gives every dynamic dimension of a random input a size: from `dims`, or a likely one, which other inputs
// with this dimension then get, too. Likely sizes other than 1 are added to `guessed`.
Port with_sizes(Port port, std::map<std::string, std::int64_t>& dims, std::vector<std::string>& guessed) {
  const Port declared = port;
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (port.dims[i] >= 0) continue;
    const std::string& symbol = declared.symbols[i];
    const auto known = symbol.empty() ? dims.end() : dims.find(symbol);
    port.dims[i] = known != dims.end() ? known->second : likely_size(declared, i);
    if (known != dims.end()) continue;
    if (!symbol.empty()) dims.emplace(symbol, port.dims[i]);
    if (i > 0)
      guessed.push_back(symbol.empty() ? fmt::format("axis {} of {}: {}", i, port.name, port.dims[i])
                                       : fmt::format("{}={}", symbol, port.dims[i]));
  }
  return port;
}

void fix_shape(Port& port, const std::vector<std::int64_t>& dims) {
  port.dims = dims;
  port.symbols.assign(dims.size(), "");
  port.has_rank = true;
}

}  // namespace

Error of_run(Error error, const Inputs& inputs) {
  if (!inputs.sizes.empty()) {
    error.hint += fmt::format(
        "{}sizes of random inputs are guesses ({}): --dim NAME=SIZE sets others, --input "
        "takes real data",
        error.hint.empty() ? "" : "; ", printable(inputs.sizes));
  }
  return error;
}

void add_input_options(CLI::App& app, InputOptions& options) {
  CLI::Option* const input = app.add_option("--input", options.inputs,
                                            "Values of an input: x=x.npy, .pb, raw .bin, an image, or a "
                                            "folder of them, one run each; or an .npz "
                                            "with the inputs' names (may be repeated)")
                                 ->type_name("NAME=PATH")
                                 ->allow_extra_args(false);
  for (CLI::Option* one : add_sample_settings(app, options.samples)) one->needs(input);
  app.add_option("--dim", options.dims, "The size of a symbolic dimension, for random inputs: batch=8")
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "Seed of random inputs")
      ->transform(parse_integer(0, UINT64_MAX))
      ->capture_default_str();
}

Result<void> check_dims(const std::vector<Port>& ports, const InputOptions& options) {
  const auto dims = parse_dims(options.dims);
  if (!dims.ok()) return dims.error();
  std::set<std::string> names;
  for (const Port& port : ports) names.insert(port.symbols.begin(), port.symbols.end());
  names.erase("");
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, size] : *dims) {
    if (names.contains(name)) continue;
    std::string hint = did_you_mean(name, known);
    if (hint.empty() && !known.empty()) hint = fmt::format("--dim can give {}", fmt::join(known, ", "));
    if (ports.empty()) hint = "inputs from files have the shapes of the files";
    return Error{Code::invalid_argument,
                 fmt::format("--dim: no random input has a dimension named '{}'", printable(name)),
                 {},
                 hint};
  }
  return {};
}

Result<InputStream> InputStream::open(const std::vector<Port>& ports, const InputOptions& options) {
  auto dims = parse_dims(options.dims);
  if (!dims.ok()) return std::move(dims).error();
  std::vector<Port> shaped = ports;
  for (Port& port : shaped) {
    const auto shape = options.shapes.find(port.name);
    if (shape != options.shapes.end()) fix_shape(port, shape->second);
  }
  InputStream stream(std::move(shaped), options, std::move(dims).value());
  if (options.inputs.empty()) return stream;
  stream.options_.samples.for_run = true;
  auto files = open_samples(ports, options.inputs, stream.options_.samples);
  if (!files.ok()) return std::move(files).error().within("--input");
  stream.files_ = std::move(files).value();
  print_remarks(*stream.files_);
  return stream;
}

Result<std::optional<Inputs>> InputStream::next() {
  std::optional<Sample> sample;
  if (files_) {
    auto read = files_->next();
    if (!read.ok()) return std::move(read).error().within("--input");
    sample = std::move(read).value();
  } else if (!ended_) {
    sample.emplace();
    ended_ = true;
  }
  if (!sample) return std::optional<Inputs>();
  auto inputs = completed(std::move(*sample));
  if (!inputs.ok()) return std::move(inputs).error();
  return std::optional(std::move(inputs).value());
}

Result<void> InputStream::rewind() {
  ended_ = false;
  return files_ ? files_->rewind() : Result<void>();
}

std::optional<std::int64_t> InputStream::count() const { return files_ ? files_->count() : 1; }

std::string InputStream::name() const { return files_ ? files_->name() : std::string(); }

// Adds random values for missing inputs.
Result<Inputs> InputStream::completed(Sample sample) const {
  Inputs inputs{std::move(sample), {}, {}};
  inputs.values.insert(options_.values.begin(), options_.values.end());
  std::vector<Port> made_up;
  for (const Port& port : ports_) {
    const bool needed = port.required && !port.type.starts_with("optional(");
    if (!needed || inputs.values.contains(port.name)) continue;
    inputs.made_up.insert(port.name);
    made_up.push_back(port);
  }
  auto checked = options_.for_several ? Result<void>() : check_dims(made_up, options_);
  if (!checked.ok()) return std::move(checked).error();
  std::map<std::string, std::int64_t> dims = dims_;
  add_sizes(ports_, inputs, dims);
  std::uint64_t seed = options_.seed;
  std::vector<std::string> guessed;
  for (const Port& port : ports_) {
    ++seed;
    if (!inputs.made_up.contains(port.name)) continue;
    auto value = random_value(with_sizes(port, dims, guessed), {}, seed);
    if (!value.ok()) return std::move(value).error();
    inputs.values[port.name] = std::move(value).value();
  }
  inputs.sizes = fmt::format("{}", fmt::join(guessed, ", "));
  return inputs;
}

Result<Inputs> only_inputs(const std::vector<Port>& ports, const InputOptions& options) {
  auto stream = InputStream::open(ports, options);
  if (!stream.ok()) return std::move(stream).error();
  auto inputs = stream->next();
  if (!inputs.ok()) return std::move(inputs).error();
  if (stream->count() != 1) {
    return Error{Code::invalid_argument,
                 "--input: more than one sample, but this command repeats a single one",
                 {},
                 "--samples 1 takes the first"};
  }
  return std::move(**inputs);
}

std::string type_text(const Value& value) {
  if (value.kind == Value::Kind::nothing) return "nothing";
  if (value.kind == Value::Kind::sequence) return fmt::format("a sequence of {}", value.items.size());
  return fmt::format("{}[{}]", value.tensor.type, fmt::join(value.tensor.dims, ", "));
}

}  // namespace anybit::cli
