// Runs a float model and gathers the ranges of its values, for ANYBIT_GATHER_RANGES.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/model.hpp"
#include "calibrate/gather.hpp"

namespace anybit {

class Gatherer {
 public:
  static Result<Gatherer> make(const Model& model, const runtime::ExecutorOptions& options);

  struct Seen {
    std::vector<ops::Datum> outputs;
    std::map<std::string, calibrate::Statistics> tensors;  // of this run only
    RunProfile times;                                      // empty unless requested
  };
  Result<Seen> run(const std::map<std::string, ops::Datum>& inputs, bool keep_times) const;

 private:
  struct Part {
    std::shared_ptr<const graph::Model> model;
    std::vector<calibrate::Watched> watched;
    std::unique_ptr<runtime::Executor> executor;
  };
  static Result<Part> part_of(std::shared_ptr<const graph::Model> model,
                              std::vector<calibrate::Watched> watched, runtime::ExecutorOptions options);

  std::vector<Part> parts_;  // the first produces the outputs
};

}  // namespace anybit
