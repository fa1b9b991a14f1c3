// What the caller of a command allows, for every executor that is made on its behalf: the limits go with the
// model that they were given for.
#pragma once

#include "runtime/executor.hpp"
#include "session/model_access.hpp"

namespace anybit {

inline runtime::ExecutorOptions executor_options(const Model& model, int threads, std::int64_t max_memory) {
  return {.threads = threads, .max_memory = max_memory, .limits = ModelAccess::content(model).limits};
}

}  // namespace anybit
