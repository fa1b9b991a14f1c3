// The inputs of a run: from files, or random.
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
  std::vector<std::string> inputs;  // NAME=PATH, or PATH for a single input; .npz: one entry per input
  SampleOptions samples;
  std::vector<std::string> dims;                            // NAME=SIZE, for random inputs
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of random inputs, by input
  std::map<std::string, Value> values;                      // of inputs that neither files nor chance give
  std::uint64_t seed = 0;
  bool for_several = false;  // several models: one may lack a dimension that another has
};

void add_input_options(CLI::App& app, InputOptions& options);

struct Inputs {
  std::map<std::string, Value> values;
  std::set<std::string> made_up;  // names of the random inputs
  std::string sizes;              // that were guessed for them: "sequence=16, height=224"; empty: none
};

// The error of a run. If sizes of inputs were guessed, they may be the reason.
Error of_run(Error error, const Inputs& inputs);

// Rejects a --dim that matches no random input, as it would have no effect; the hint lists the dimensions.
// `ports`: the random inputs.
Result<void> check_dims(const std::vector<Port>& ports, const InputOptions& options);

// The inputs of successive runs, read lazily from files; inputs without files are random. Without any file
// there is one run.
class InputStream {
 public:
  static Result<InputStream> open(const std::vector<Port>& ports, const InputOptions& options);

  // Empty at the end.
  Result<std::optional<Inputs>> next();
  Result<void> rewind();
  // Seeds the random values of later runs.
  void set_seed(std::uint64_t seed) { options_.seed = seed; }
  // The number of runs; empty if a file cannot be read, which next() then reports.
  std::optional<std::int64_t> count() const;
  // The source of the last inputs: "digits.npy[3]"; empty without files.
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
