// Looking on while a model runs, or changing what it computes: an executor hands out the values it was asked
// to watch as they are made.
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

struct Intervention {
  virtual ~Intervention() = default;
  // The same value, after the watcher has seen it: what is written to its elements is what the nodes behind
  // it take. Inputs and constants are not handed out: they belong to others.
  virtual Result<void> change(std::size_t watched, ops::Datum& value) = 0;
};

}  // namespace anybit::runtime
