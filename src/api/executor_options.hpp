// The options of every executor that a command creates: the caller's threads and memory limit, and the limits
// that the model was loaded with.
#pragma once

#include "api/model_access.hpp"
#include "runtime/executor.hpp"

namespace anybit {

inline runtime::ExecutorOptions executor_options(const Model& model, int threads, std::int64_t max_memory) {
  return {.threads = threads, .max_memory = max_memory, .limits = ModelAccess::content(model).limits};
}

}  // namespace anybit
