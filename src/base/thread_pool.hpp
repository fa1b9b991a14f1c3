// The one pool of threads in the process; a ThreadPool is a share of it. Work is cut into chunks that depend
// on its size alone, never on the number of threads: results combined chunk by chunk are the same for any.
#pragma once

#include <cstdint>
#include <memory>

#include "base/function_ref.hpp"

namespace anybit {

// body(begin, end)
using ChunkBody = FunctionRef<std::int64_t, std::int64_t>;

class ThreadPool {  // so many of the process's threads work on one run(), at most
 public:
  // `threads` counts the caller: 1 means no extra thread. 0 means one for each core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;  // fewer than asked for if the system gives no more

  // Calls body(begin, end) for the chunks [0, chunk), [chunk, 2·chunk), … of [0, count), each exactly once;
  // returns when all are done. The caller works too. Called from inside a body, it runs the chunks on that
  // thread. The first exception thrown by a body is rethrown here, after all chunks that had started have
  // ended.
  void run(std::int64_t count, std::int64_t chunk, const ChunkBody& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anybit
