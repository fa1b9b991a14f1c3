// Threads of a host program: a runtime that calls anybit for single nodes has threads of its own. Others
// beside them would compete for the same cores.
#pragma once

#include <cstddef>

namespace anybit {

struct HostThreads {
  // Calls task(data, i) for i in [0, count), in any order, on any threads, and returns when all calls have
  // returned. The tasks do not throw.
  void (*run)(void* host, std::size_t count, void (*task)(void* data, std::size_t i), void* data);
  void* host;
};

// While it lives, every ThreadPool that this thread uses runs its chunks on the threads of the host.
class HostThreadsScope {
 public:
  explicit HostThreadsScope(const HostThreads& threads) noexcept;
  ~HostThreadsScope();
  HostThreadsScope(const HostThreadsScope&) = delete;
  HostThreadsScope& operator=(const HostThreadsScope&) = delete;

 private:
  const HostThreads* before_;
};

}  // namespace anybit
