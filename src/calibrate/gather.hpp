// Runs a model on samples and gathers statistics of its values. Samples run in parallel, one per thread; the
// result is bit-identical for any number of threads. Memory does not grow with the number of samples.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/statistics.hpp"
#include "graph/model.hpp"
#include "runtime/executor.hpp"

namespace anybit::calibrate {

struct Watched {
  std::string name;                  // of a value in the main graph or a subgraph
  std::vector<Wanted> collect = {};  // in addition to the extent, which is always collected
  bool mask = false;                 // it may contain -Inf, which is counted and not an error
};

// Returns the next sample's inputs by name, or std::nullopt at the end. Called by one thread at a time.
using NextSample = std::function<Result<std::optional<std::map<std::string, ops::Datum>>>()>;

// Values that somebody else watches in some of the samples, beside calibration.
struct Beside {
  std::vector<std::string> values;  // of the main graph
  // The watcher of a sample (indices as in `values`), null for none; called by the thread that runs it.
  std::function<std::shared_ptr<runtime::Watcher>(std::int64_t number)> watcher;
  std::int64_t run_bytes = 0;  // result: the memory that a run takes at most, without weights
};

struct GatherOptions {
  runtime::ExecutorOptions executor = {};  // threads, memory and limits; watched values are set here
  double momentum = 0.01;                  // of moving averages
  // Budget in bytes for collectors whose size depends on the model; 0: the executor's limit, or 2 GB without
  // one.
  std::int64_t max_collected = 0;
  bool allow_nan = false;  // count NaN and infinity; otherwise they are an error
  // Returns the origin of a sample, for messages; called with indices (from 0) of samples handed out
  // recently.
  std::function<std::string(std::int64_t number)> sample_name = {};
  bool name_samples = true;  // prefix errors with the sample
  // Called with the number of finished samples; by one thread at a time.
  std::function<void(std::int64_t done)> progress = {};
  // Called with the model outputs of each sample, by the thread that ran it.
  std::function<Result<void>(std::int64_t number, std::vector<ops::Datum> outputs)> outputs = {};
  Beside* beside = nullptr;
  runtime::Profile* profile = nullptr;  // of the nodes; for a single sample on one thread
};

// Returns statistics in the order of `watched`. Values that are not floating-point have none (count 0), nor
// do values that no sample reached (samples 0). Float16, bfloat16 and float64 are converted to float32. An
// error names the first sample that failed.
Result<std::vector<Statistics>> gather(std::shared_ptr<const graph::Model> model,
                                       const std::vector<Watched>& watched, const NextSample& next,
                                       const GatherOptions& options = {});
// Like gather(), on the calling thread, with an executor that watches these values, and nothing beside.
Result<std::vector<Statistics>> gather(const runtime::Executor& executor, const std::vector<Watched>& watched,
                                       const NextSample& next, const GatherOptions& options = {});

}  // namespace anybit::calibrate
