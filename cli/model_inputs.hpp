// The values a model is run with: from files, or made up.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/samples.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=PATH, or PATH for a single input; .npz: one entry for each input
  SampleOptions samples;
  std::vector<std::string> dims;  // NAME=SIZE, for values that are made up
  std::uint64_t seed = 0;
  bool for_several = false;  // models: one may lack a dimension that another has
};

void add_input_options(CLI::App& app, InputOptions& options);

struct Inputs {
  std::map<std::string, Value> values;
  std::set<std::string> made_up;  // names of those that no file was given for
};

// A size for a dimension that no value to be made up has would be left out in silence: an error, with the
// names there are. `ports`: those of all that are made up.
Result<void> check_dims(const std::vector<Port>& ports, const InputOptions& options);

// The values of one run after the other, read when they are asked for: those of files, with made-up ones for
// inputs that no file is for. Without any file there is one.
class InputStream {
 public:
  static Result<InputStream> open(const std::vector<Port>& ports, const InputOptions& options);

  // Nothing when there are no more.
  Result<std::optional<Inputs>> next();
  Result<void> rewind();
  // What later values are made up from.
  void set_seed(std::uint64_t seed) { options_.seed = seed; }
  // How many there are; nothing if a file cannot be read, which next() then tells.
  std::optional<std::int64_t> count() const;
  // The file that the last one came from: "digits.npy[3]"; empty without any.
  std::string name() const;

 private:
  InputStream(std::vector<Port> ports, InputOptions options, std::map<std::string, std::int64_t> dims)
      : ports_(std::move(ports)), options_(std::move(options)), dims_(std::move(dims)) {}
  Result<Inputs> completed(Sample sample) const;

  std::vector<Port> ports_;
  InputOptions options_;
  std::map<std::string, std::int64_t> dims_;
  std::optional<Samples> files_;
  bool ended_ = false;
};

// For a command that runs on one sample.
Result<Inputs> only_inputs(const std::vector<Port>& ports, const InputOptions& options);

// "float32[1, 3]" of a value.
std::string type_text(const Value& value);

}  // namespace anybit::cli
