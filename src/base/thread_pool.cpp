// Jobs lie on their callers' stacks; the pool holds a list of those that still have chunks to give away. The
// caller never waits for a chunk that nobody has begun, so a job ends even if no worker is free.
#include "base/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/reproducible.hpp"

namespace anybit {
namespace {

struct Job {
  std::int64_t count, chunk, chunks;
  const ChunkBody& body;
  bool reproducible;  // what its caller is
  std::atomic<std::int64_t> next = 0;
  // Changed under the pool's mutex.
  std::atomic<int> helpers = 0;
  std::exception_ptr error = nullptr;
  std::condition_variable helpers_left = {};
};

// Work often comes again within microseconds, sooner than a sleeping thread wakes up: whoever waits looks
// around for so long before it sleeps.
constexpr std::chrono::microseconds kLookAround{100};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Until it is true, but not for long.
template <class Condition>
void look_around(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kLookAround;
  for (int turn = 1; !condition(); ++turn) {
    relax();
    if (turn % 16 == 0 && std::chrono::steady_clock::now() > end) return;
  }
}

thread_local bool inside_body = false;

void do_chunk(std::int64_t index, std::int64_t count, std::int64_t chunk, const ChunkBody& body) {
  const std::int64_t begin = index * chunk;
  body(begin, begin + std::min(chunk, count - begin));
}

// Counts forks, in the process that came of them: it has none of the threads that its parent had.
std::atomic<std::uint64_t> forks = 0;

void count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
}

// The threads of a pool, and what they share.
struct Crew {
  explicit Crew(int threads);
  ~Crew();

  const std::uint64_t born = forks;
  std::mutex mutex;
  std::condition_variable work_came;
  std::vector<Job*> jobs;
  bool stopping = false;
  int sleeping = 0;                     // workers that have to be woken up
  std::atomic<std::uint64_t> came = 0;  // how many jobs there have been
  std::vector<std::thread> workers;
  Crew* lost = nullptr;  // another one whose threads are in another process

  // Takes chunks until none is left. An exception leaves the rest undone.
  void work_on(Job& job) {
    const ReproducibleScope as_caller(job.reproducible);
    inside_body = true;
    for (std::int64_t i; (i = job.next.fetch_add(1)) < job.chunks;) {
      try {
        do_chunk(i, job.count, job.chunk, job.body);
      } catch (...) {
        job.next = job.chunks;
        const std::lock_guard lock(mutex);
        if (job.error == nullptr) job.error = std::current_exception();
      }
    }
    inside_body = false;
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (jobs.empty() && !stopping) {
        const std::uint64_t seen = came;
        lock.unlock();
        look_around([&] { return came != seen; });
        lock.lock();
      }
      ++sleeping;
      work_came.wait(lock, [&] { return stopping || !jobs.empty(); });
      --sleeping;
      if (stopping) return;
      Job& job = *jobs.front();
      ++job.helpers;
      lock.unlock();
      work_on(job);
      lock.lock();
      std::erase(jobs, &job);  // its chunks are all given away
      // The caller takes the lock before it goes: the job is there until this is done.
      if (--job.helpers == 0) job.helpers_left.notify_one();
    }
  }
};

Crew::Crew(int threads) {
  try {
    workers.reserve(static_cast<std::size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) workers.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that exist do the work.
  } catch (const std::bad_alloc&) {
  }
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  work_came.notify_all();
  for (std::thread& worker : workers) worker.join();
}

// A crew of the parent process cannot be taken apart: its threads are not there to be joined, and one of them
// may have held the mutex. It stays in memory, where a leak checker finds it.
void lose(Crew* crew) {
  static std::atomic<Crew*> all_lost = nullptr;
  crew->lost = all_lost;
  while (!all_lost.compare_exchange_weak(crew->lost, crew)) {
  }
}

}  // namespace

struct ThreadPool::State {
  explicit State(int count) : threads(count), crew(new Crew(count)) {}
  ~State() {
    if (crew.load()->born == forks) {
      delete crew.load();
    } else {
      lose(crew);
    }
  }

  // The crew of this process; after a fork the first caller starts one.
  Crew& here() {
    Crew* old = crew;
    if (old->born == forks) return *old;
    auto fresh = std::make_unique<Crew>(threads);
    if (!crew.compare_exchange_strong(old, fresh.get())) return *old;
    lose(old);
    return *fresh.release();
  }

  const int threads;
  std::atomic<Crew*> crew;
};

ThreadPool::ThreadPool(int threads) {
  count_forks();
  if (threads == 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  state_ = std::make_unique<State>(std::max(threads, 1));
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return static_cast<int>(state_->here().workers.size()) + 1; }

void ThreadPool::run(std::int64_t count, std::int64_t chunk, const ChunkBody& body) {
  if (count <= 0) return;
  chunk = std::clamp<std::int64_t>(chunk, 1, count);
  const std::int64_t chunks = count / chunk + (count % chunk != 0);
  Crew& crew = state_->here();
  if (inside_body || chunks == 1 || crew.workers.empty()) {
    for (std::int64_t i = 0; i < chunks; ++i) do_chunk(i, count, chunk, body);
    return;
  }
  Job job{.count = count, .chunk = chunk, .chunks = chunks, .body = body, .reproducible = reproducible()};
  std::int64_t asleep = 0;
  {
    const std::lock_guard lock(crew.mutex);
    crew.jobs.push_back(&job);
    ++crew.came;
    asleep = crew.sleeping;
  }
  for (std::int64_t i = 0; i < std::min(chunks - 1, asleep); ++i) crew.work_came.notify_one();
  crew.work_on(job);
  std::unique_lock lock(crew.mutex);
  std::erase(crew.jobs, &job);
  if (job.helpers != 0) {
    lock.unlock();
    look_around([&] { return job.helpers == 0; });
    lock.lock();
  }
  job.helpers_left.wait(lock, [&] { return job.helpers == 0; });
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

}  // namespace anybit
