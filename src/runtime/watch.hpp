// Looking on while a model runs: an executor shows the values it was asked to watch as they are made.
#pragma once

#include <cstddef>

#include "anybit/result.hpp"
#include "ops/array.hpp"

namespace anybit::runtime {

struct Watcher {
  virtual ~Watcher() = default;
  // `watched`: the number of the value in ExecutorOptions::watch. The value holds until this returns. Its
  // elements may lie in any order (Array::layout), but there is no padding among them. An error ends the run.
  virtual Result<void> see(std::size_t watched, const ops::Datum& value) = 0;
};

}  // namespace anybit::runtime
