#include "base/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/reproducible.hpp"

namespace anybit {
namespace {

using Chunks = std::multiset<std::pair<std::int64_t, std::int64_t>>;

Chunks chunks_of(ThreadPool& pool, std::int64_t count, std::int64_t chunk) {
  std::mutex mutex;
  Chunks seen;
  pool.run(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    seen.emplace(begin, end);
  });
  return seen;
}

TEST(ThreadPool, CutsTheSameChunksForAnyNumberOfThreads) {
  const Chunks expected = {{0, 7}, {7, 14}, {14, 20}};
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    EXPECT_EQ(chunks_of(pool, 20, 7), expected) << threads;
  }
}

TEST(ThreadPool, TakesEveryCountAndChunk) {
  ThreadPool pool(3);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(chunks_of(pool, 0, 5), Chunks());
  EXPECT_EQ(chunks_of(pool, -3, 5), Chunks());
  EXPECT_EQ(chunks_of(pool, 3, 0), (Chunks{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(chunks_of(pool, 3, -1), (Chunks{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(chunks_of(pool, 3, kMost), (Chunks{{0, 3}}));
  EXPECT_EQ(chunks_of(pool, kMost, kMost - 1), (Chunks{{0, kMost - 1}, {kMost - 1, kMost}}));
}

TEST(ThreadPool, HelpersInheritTheReproducibleModeOfTheCaller) {
  ThreadPool pool(4);
  for (const bool wanted : {true, false, true}) {
    const ReproducibleScope scope(wanted);
    std::atomic<int> as_wanted = 0;
    pool.run(64, 1, [&](std::int64_t, std::int64_t) {
      as_wanted += reproducible() == wanted ? 1 : 0;
      std::this_thread::yield();
    });
    EXPECT_EQ(as_wanted, 64);
    EXPECT_EQ(reproducible(), wanted);
  }
  EXPECT_FALSE(reproducible());
}

TEST(ThreadPool, ZeroMeansOneThreadPerCore) {
  EXPECT_EQ(ThreadPool(0).threads(), std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  EXPECT_EQ(ThreadPool(-5).threads(), 1);
}

TEST(ThreadPool, DoesEachChunkOnceOverManyRuns) {
  ThreadPool pool(4);
  std::vector<int> done(1000);
  for (int round = 0; round < 500; ++round) {
    pool.run(1000, 10, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
    });
  }
  EXPECT_EQ(done, std::vector<int>(1000, 500));
}

TEST(ThreadPool, WorksInSeveralThreadsAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> arrived = 0;
  // Neither chunk ends before the other has started, so a single thread would wait forever.
  pool.run(2, 1, [&](std::int64_t, std::int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, RunsNestedWorkOnTheSameThread) {
  ThreadPool pool(4), other(4);
  std::atomic<int> total = 0, elsewhere = 0;
  pool.run(16, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    for (ThreadPool* nested : {&pool, &other}) {
      nested->run(10, 3, [&](std::int64_t begin, std::int64_t end) {
        total += static_cast<int>(end - begin);
        elsewhere += std::this_thread::get_id() != outer;
      });
    }
  });
  EXPECT_EQ(total, 16 * 20);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, ServesSeveralCallersAtTheSameTime) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::vector<std::int64_t> sums(6);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&pool, &sum = sums[c]] {
      for (int round = 0; round < 100; ++round) {
        std::vector<std::int64_t> parts(50);
        pool.run(500, 10, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) parts[static_cast<std::size_t>(begin / 10)] += i;
        });
        for (std::int64_t part : parts) sum += part;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::int64_t sum : sums) EXPECT_EQ(sum, 100 * (499 * 500 / 2));
}

TEST(ThreadPool, RethrowsTheFirstExceptionAfterStartedChunksHaveEnded) {
  for (int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::atomic<int> inside = 0, begun = 0;
    const auto body = [&](std::int64_t begin, std::int64_t) {
      ++inside;
      ++begun;
      if (begin == 3) {
        --inside;
        throw std::runtime_error("three");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --inside;
    };
    try {
      pool.run(10'000, 1, body);
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "three");
    }
    EXPECT_EQ(inside, 0);
    EXPECT_LT(begun, 10'000);
    EXPECT_EQ(chunks_of(pool, 4, 2), (Chunks{{0, 2}, {2, 4}})) << "the pool still works afterwards";
  }
}

std::int64_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(ThreadPool, AllPoolsShareTheSameThreads) {
  std::thread([] {}).join();  // with the first thread, ThreadSanitizer starts one of its own
  const std::int64_t before = threads_of_process(), cores = std::thread::hardware_concurrency();
  {
    const std::vector<std::unique_ptr<ThreadPool>> shares = [] {
      std::vector<std::unique_ptr<ThreadPool>> made;
      for (int i = 0; i < 20; ++i) made.push_back(std::make_unique<ThreadPool>(4));
      return made;
    }();
    for (const auto& share : shares) EXPECT_EQ(chunks_of(*share, 100, 1).size(), 100u);
    EXPECT_EQ(threads_of_process(), before + std::max<std::int64_t>(3, cores - 1));
  }
  // The system may list a joined thread for a moment longer.
  for (int i = 0; i < 1000 && threads_of_process() != before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(threads_of_process(), before) << "the last one ends them";
}

TEST(ThreadPool, UsesNoMoreThreadsThanAPoolRequests) {
  ThreadPool all(6), share(2), alone(1);
  EXPECT_EQ(share.threads(), 2);
  for (const auto& [pool, most] : {std::pair{&share, 2}, std::pair{&alone, 1}}) {
    std::atomic<int> inside = 0, largest = 0;
    for (int round = 0; round < 200; ++round) {
      pool->run(16, 1, [&](std::int64_t, std::int64_t) {
        const int now = ++inside;
        for (int seen = largest; seen < now && !largest.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
      });
    }
    EXPECT_LE(largest, most);
  }
}

// A child process inherits the pool, but none of its threads.
int status_of_child(const std::function<bool()>& use) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(use() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(ThreadPool, CanBeDroppedInAChildProcess) {
  auto pool = std::make_unique<ThreadPool>(4);
  chunks_of(*pool, 100, 1);
  EXPECT_EQ(status_of_child([&] {
              pool.reset();
              return true;
            }),
            0);
  EXPECT_EQ(chunks_of(*pool, 20, 7).size(), 3u);
}

TEST(ThreadPool, StartsItsThreadsAgainInAChildProcess) {
  ThreadPool pool(3);
  const auto all_threads_work = [&] {
    // Each chunk waits for the others, which needs as many threads.
    std::atomic<int> waiting = 0;
    pool.run(3, 1, [&](std::int64_t, std::int64_t) {
      ++waiting;
      while (waiting < 3) std::this_thread::yield();
    });
    return pool.threads() == 3 && waiting == 3;
  };
  EXPECT_TRUE(all_threads_work());
  EXPECT_EQ(status_of_child([&] { return all_threads_work() && status_of_child(all_threads_work) == 0; }), 0);
  EXPECT_TRUE(all_threads_work());
}

TEST(ThreadPool, SurvivesForksWhileItsThreadsWork) {
  ThreadPool pool(4);
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) chunks_of(pool, 64, 1);
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(status_of_child([&] { return chunks_of(pool, 20, 7).size() == 3; }), 0) << i;
  }
  over = true;
  busy.join();
}

// ThreadSanitizer does not support a fork while threads start or end, nor AddressSanitizer while another
// thread is in its allocator: there the threads stay, and little is allocated.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kThreadsThatStay = 3;
#else
constexpr int kThreadsThatStay = 1;
#endif

TEST(ThreadPool, SurvivesForksWhileOthersComeAndGo) {
  const ThreadPool stays(kThreadsThatStay);
  const auto works = [](int threads) {
    ThreadPool pool(threads);
    std::atomic<int> done = 0;
    pool.run(8, 1, [&](std::int64_t, std::int64_t) { ++done; });
    return done == 8;
  };
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) works(3);
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_child([&] { return works(2); }), 0) << i;
  over = true;
  busy.join();
}

}  // namespace
}  // namespace anybit
