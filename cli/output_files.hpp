// The files that `run` writes outputs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

class OutputFiles {
 public:
  // `samples`: how many there will be, 1 for a single run; nothing if nobody knows.
  OutputFiles(std::string folder, const std::vector<Port>& outputs, std::optional<std::int64_t> samples);

  // FOLDER/OUTPUT.npy of a single run; FOLDER/OUTPUT/NUMBER-SOURCE.npy of one of many, so that the folder of
  // an output holds its samples in their order. `source`: the file that the sample came from. Gives the
  // files' paths.
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
