// The results of `anybit run` as text and as JSON.
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

// A sample and its results, without the tensors themselves: there may be many samples.
struct SampleOutcome {
  std::string name;  // its source file
  std::map<std::string, std::string> inputs;
  std::set<std::string> made_up;     // random inputs
  std::vector<std::string> outputs;  // types and shapes, like inputs
  std::vector<double> milliseconds;
  std::vector<std::string> written;
};

struct RunOutcome {
  bool single = true;  // one sample only
  bool keeps_all = false;
  std::int64_t count = 0, files = 0;   // number of samples, and of files written for them
  std::vector<SampleOutcome> samples;  // all, or only the first
  std::set<std::string> varying;       // inputs and outputs whose types differ from the first sample
  std::vector<double> milliseconds;
  std::vector<RunProfile> profiles;
  std::string trace;         // its path
  std::optional<Hits> hits;  // with labels
  // The steps before the runs.
  bool on_device = false;
  std::string quantized, generated;
  int gathered = 0;
  bool by_backend = false;

  void add(SampleOutcome sample, const std::vector<Port>& ports);
};

std::string run_text(const Executor& executor, const RunOutcome& outcome, bool profile);
std::string run_json(const Executor& executor, const RunOutcome& outcome, bool profile);

}  // namespace anybit::cli
