// Observes or changes values while a model runs: an executor hands out the watched values as they are
// computed.
#pragma once

#include <cstddef>

#include "anybit/result.hpp"
#include "ops/array.hpp"

namespace anybit::runtime {

struct Watcher {
  virtual ~Watcher() = default;
  // `watched`: the value's index in ExecutorOptions::watch. The value is valid until this returns. Its
  // elements may be in any layout (Array::layout), without padding. An error ends the run.
  virtual Result<void> see(std::size_t watched, const ops::Datum& value) = 0;
};

struct Intervention {
  virtual ~Intervention() = default;
  // Called with the same value after the watcher: the nodes after it use the changed elements. Not called for
  // inputs and constants, whose memory is not the run's.
  virtual Result<void> change(std::size_t watched, ops::Datum& value) = 0;
};

}  // namespace anybit::runtime
