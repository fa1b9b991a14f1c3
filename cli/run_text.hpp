// What `run` tells of its runs, as text or JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "anybit/executor.hpp"
#include "anybit/profile.hpp"
#include "model_inputs.hpp"

namespace anybit::cli {

// A sample and what came of it, but for the values: there may be any number of them.
struct SampleOutcome {
  std::string name;  // the file it came from
  std::map<std::string, std::string> inputs;
  std::set<std::string> made_up;     // inputs that no file was given for
  std::vector<std::string> outputs;  // types, as those of inputs
  std::vector<double> milliseconds;
  std::vector<std::string> written;
};

struct RunOutcome {
  bool single = true;  // one sample, and no more were asked for
  bool keeps_all = false;
  std::int64_t count = 0, files = 0;   // of samples, and of what was written for them
  std::vector<SampleOutcome> samples;  // all, or the first alone
  std::set<std::string> varying;       // inputs and outputs whose types are not those of the first sample
  std::vector<double> milliseconds;
  std::vector<RunProfile> profiles;
  std::string trace;         // where it was written
  std::optional<Hits> hits;  // with labels
  // What was done before the runs.
  bool on_device = false;
  std::string quantized, generated;
  int gathered = 0;
  bool by_backend = false;

  void add(SampleOutcome sample, const std::vector<Port>& ports);
};

std::string run_text(const Executor& executor, const RunOutcome& outcome, bool profile);
std::string run_json(const Executor& executor, const RunOutcome& outcome, bool profile);

}  // namespace anybit::cli
