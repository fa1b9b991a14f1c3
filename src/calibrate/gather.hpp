// Runs a model on samples and gathers statistics of its values. Samples run side by side, each on one thread;
// what comes out is the same, bit for bit, for any number of threads. Memory does not grow with the number of
// samples.
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
  std::string name;                  // of a value, in the main graph or in one inside a node
  std::vector<Wanted> collect = {};  // beside its extent, which every value has
  bool mask = false;                 // -Inf is one of its values: counted, not an error
};

// The next sample's inputs by name; nothing when there are no more. Called by one thread at a time.
using NextSample = std::function<Result<std::optional<std::map<std::string, ops::Datum>>>()>;

struct GatherOptions {
  runtime::ExecutorOptions executor = {};  // threads, memory and limits; what is watched is set here
  double momentum = 0.01;                  // of moving averages
  // Bytes for collectors whose size follows from the model; 0: the executor's limit, or 2 GB without one.
  std::int64_t max_collected = 0;
  bool allow_nan = false;  // NaN and infinity are counted; otherwise they are an error
  // Where a sample comes from, for messages; asked for numbers (from 0) that were handed out last.
  std::function<std::string(std::int64_t number)> sample_name = {};
  bool name_samples = true;  // errors say in which sample they were
  // Told how many samples are done, each time one is; by one thread at a time.
  std::function<void(std::int64_t done)> progress = {};
  // Given what the model made of each sample; by the thread that ran it.
  std::function<void(std::vector<ops::Datum> outputs)> outputs = {};
  runtime::Profile* profile = nullptr;  // of the nodes; for one sample on one thread
};

// In the order of `watched`. Values that are no real numbers have no statistics (count 0), nor do those that
// no sample reached (samples 0). Float16, bfloat16 and float64 are looked at as float32. An error names the
// first sample that failed.
Result<std::vector<Statistics>> gather(std::shared_ptr<const graph::Model> model,
                                       const std::vector<Watched>& watched, const NextSample& next,
                                       const GatherOptions& options = {});
// The same on the calling thread, with an executor that watches these values.
Result<std::vector<Statistics>> gather(const runtime::Executor& executor, const std::vector<Watched>& watched,
                                       const NextSample& next, const GatherOptions& options = {});

}  // namespace anybit::calibrate
