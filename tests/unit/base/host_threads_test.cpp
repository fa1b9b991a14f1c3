#include "base/host_threads.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/reproducible.hpp"
#include "base/thread_pool.hpp"

namespace anybit {
namespace {

// A host that runs each task on a thread of its own, and remembers them.
struct Host {
  std::set<std::thread::id> threads;
  std::size_t tasks = 0;
  std::size_t left_out = 0;  // tasks that it does not run

  HostThreads face() { return {run, this}; }
  static void run(void* host, std::size_t count, void (*task)(void*, std::size_t), void* data) {
    auto& self = *static_cast<Host*>(host);
    std::vector<std::thread> all;
    for (std::size_t i = self.left_out; i < count; ++i) all.emplace_back([=] { task(data, i); });
    for (std::thread& one : all) {
      self.threads.insert(one.get_id());
      one.join();
    }
    self.tasks += count;
  }
};

std::multiset<std::int64_t> begins_of(ThreadPool& pool, std::int64_t count, std::int64_t chunk) {
  std::mutex mutex;
  std::multiset<std::int64_t> seen;
  pool.run(count, chunk, [&](std::int64_t begin, std::int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(begin);
  });
  return seen;
}

TEST(HostThreads, RunEachChunkOnceWhileTheScopeLives) {
  const std::multiset<std::int64_t> expected = {0, 10, 20, 30};
  Host host;
  const HostThreads threads = host.face();
  for (const int share : {1, 3}) {
    ThreadPool pool(share);
    {
      const HostThreadsScope scope(threads);
      EXPECT_EQ(begins_of(pool, 35, 10), expected);
    }
    EXPECT_EQ(begins_of(pool, 35, 10), expected);
  }
  EXPECT_EQ(host.tasks, 8U);
  EXPECT_FALSE(host.threads.contains(std::this_thread::get_id()));
}

TEST(HostThreads, TheCallerRunsWhatTheHostLeavesOut) {
  for (const std::size_t left_out : {1U, 3U, 4U}) {
    Host host{.threads = {}, .left_out = left_out};
    const HostThreads threads = host.face();
    const HostThreadsScope scope(threads);
    ThreadPool pool(1);
    EXPECT_EQ(begins_of(pool, 4, 1), (std::multiset<std::int64_t>{0, 1, 2, 3}));
  }
}

TEST(HostThreads, ANestedCallStaysOnItsThread) {
  Host host;
  const HostThreads threads = host.face();
  const HostThreadsScope scope(threads);
  ThreadPool pool(1);
  std::mutex mutex;
  std::size_t inner = 0;
  pool.run(3, 1, [&](std::int64_t, std::int64_t) {
    const auto here = std::this_thread::get_id();
    pool.run(5, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      inner += std::this_thread::get_id() == here ? 1 : 0;
    });
  });
  EXPECT_EQ(inner, 15U);
  EXPECT_EQ(host.tasks, 3U);
}

TEST(HostThreads, TheFirstExceptionReachesTheCaller) {
  Host host;
  const HostThreads threads = host.face();
  const HostThreadsScope scope(threads);
  ThreadPool pool(1);
  const auto body = [](std::int64_t, std::int64_t) { throw std::runtime_error("stop"); };
  EXPECT_THROW(pool.run(8, 1, body), std::runtime_error);
  EXPECT_EQ(begins_of(pool, 2, 1).size(), 2U);  // the pool is usable
}

TEST(HostThreads, InheritTheReproducibleModeOfTheCaller) {
  Host host;
  const HostThreads threads = host.face();
  const HostThreadsScope scope(threads);
  for (const bool wanted : {true, false}) {
    const ReproducibleScope mode(wanted);
    ThreadPool pool(1);
    std::mutex mutex;
    std::set<bool> seen;
    pool.run(4, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      seen.insert(reproducible());
    });
    EXPECT_EQ(seen, std::set<bool>{wanted});
  }
}

}  // namespace
}  // namespace anybit
