// The process has one pool of threads; a ThreadPool is a share of it. Work is divided into chunks that depend
// on its size only, never on the number of threads: results combined by chunk are the same for any number of
// threads.
#pragma once

#include <cstdint>
#include <memory>

#include "base/function_ref.hpp"

namespace anybit {

// body(begin, end)
using ChunkBody = FunctionRef<std::int64_t, std::int64_t>;

class ThreadPool {  // limits the threads of one run()
 public:
  // `threads` includes the caller: 1 means no extra thread. 0 means one per core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;  // fewer than requested if the system has no more

  // Calls body(begin, end) for the chunks [0, chunk), [chunk, 2·chunk), … of [0, count), each exactly once;
  // returns when all are done. The caller works, too. A nested call runs its chunks on the calling thread.
  // The first exception of a body is rethrown here, after all started chunks have ended.
  void run(std::int64_t count, std::int64_t chunk, const ChunkBody& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anybit
