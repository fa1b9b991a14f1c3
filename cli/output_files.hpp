// The output files of `anybit run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

class OutputFiles {
 public:
  // `samples`: the number of samples, 1 for a single run; empty if unknown.
  OutputFiles(std::string folder, const std::vector<Port>& outputs, std::optional<std::int64_t> samples);

  // Writes FOLDER/OUTPUT.npy for a single sample, and FOLDER/OUTPUT/NUMBER-SOURCE.npy for each of several, so
  // that the files of an output sort in sample order. `source`: the file of the sample. Returns the paths.
  Result<std::vector<std::string>> write(const std::vector<Value>& values, const std::string& source);

 private:
  struct Output {
    std::string name, file;
  };
  std::string folder_;
  std::vector<Output> outputs_;
  bool single_;
  int digits_;
  std::int64_t number_ = 0;
};

}  // namespace anybit::cli
