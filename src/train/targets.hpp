// What the float model says of samples: computed once per sample if it fits into memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/executor.hpp"
#include "train/batches.hpp"

namespace anybit::train {

class Targets {
 public:
  // `outputs`: indices of the outputs that are kept.
  Targets(std::shared_ptr<const runtime::Executor> teacher, std::vector<std::size_t> outputs,
          std::int64_t most = std::int64_t{512} << 20)
      : teacher_(std::move(teacher)),
        outputs_(std::move(outputs)),
        most_(most),
        memory_(ops::Memory::make()) {}

  // By output. `rows`: of each sample. `changed`: the inputs are not the samples as they are.
  Result<std::vector<ops::Array>> of(const std::vector<std::int64_t>& which, const Sample& inputs,
                                     const std::vector<std::int64_t>& rows, bool changed);

 private:
  std::shared_ptr<const runtime::Executor> teacher_;
  std::vector<std::size_t> outputs_;
  bool keep_ = true;
  std::int64_t most_, used_ = 0;
  std::shared_ptr<ops::Memory> memory_;
  std::map<std::int64_t, std::vector<ops::Array>> kept_;  // by sample, then by output
};

}  // namespace anybit::train
