// Jobs are on the stacks of their callers; the crew (the set of worker threads) holds a list of jobs with
// chunks left. A caller never waits for a chunk that no thread has started, so a job finishes even if no
// worker is free. There are no more threads than cores, unless one ThreadPool asks for more.
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

#include "base/host_threads.hpp"
#include "base/reproducible.hpp"

namespace anybit {
namespace {

struct Job {
  std::int64_t count, chunk, chunks;
  int most_helpers;
  const ChunkBody& body;
  bool reproducible;  // mode of the caller
  std::atomic<std::int64_t> next = 0;
  // Changed under the pool's mutex.
  std::atomic<int> helpers = 0;
  std::exception_ptr error = nullptr;
  std::condition_variable helpers_left = {};
};

// New work often comes within microseconds, sooner than a sleeping thread wakes up: waiting threads spin this
// long before they sleep.
constexpr std::chrono::microseconds kLookAround{100};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins until the condition is true, for a short time.
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

void on_this_thread(std::int64_t count, std::int64_t chunk, std::int64_t chunks, const ChunkBody& body) {
  for (std::int64_t i = 0; i < chunks; ++i) do_chunk(i, count, chunk, body);
}

// Counts forks, in the child process, which has none of its parent's threads.
std::atomic<std::uint64_t> forks = 0;

thread_local const HostThreads* host_threads = nullptr;

// A job on the threads of a host. Its tasks take the chunks in order, whatever their own index is.
struct HostJob {
  const std::int64_t count, chunk, chunks;
  const ChunkBody& body;
  const bool reproducible;  // mode of the caller
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex = {};
  std::exception_ptr error = nullptr;  // the first

  bool do_next() noexcept {
    const std::int64_t i = next.fetch_add(1);
    if (i >= chunks) return false;
    const ReproducibleScope as_caller(reproducible);
    inside_body = true;
    try {
      do_chunk(i, count, chunk, body);
    } catch (...) {
      next = chunks;
      const std::lock_guard lock(mutex);
      if (error == nullptr) error = std::current_exception();
    }
    inside_body = false;
    return true;
  }
};

void on_host_threads(HostJob& job) {
  const auto task = [](void* data, std::size_t) { static_cast<HostJob*>(data)->do_next(); };
  host_threads->run(host_threads->host, static_cast<std::size_t>(job.chunks), task, &job);
  while (job.do_next()) {  // those that the host left out
  }
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

// The worker threads and their shared state.
struct Crew {
  Crew() = default;
  ~Crew();

  const std::uint64_t born = forks;
  std::mutex mutex;
  std::condition_variable work_came;
  std::vector<Job*> jobs;
  bool stopping = false;
  int sleeping = 0;                     // workers that have to be woken up
  std::atomic<std::uint64_t> came = 0;  // number of jobs so far
  std::vector<std::thread> workers;     // changed under `gate`
  std::atomic<int> size = 0;            // number of workers
  Crew* lost = nullptr;                 // a crew whose threads are in the parent process

  void grow(int count);

  // A job that accepts another helper. Helpers leave when all chunks are taken: a job without chunks left
  // never accepts one again.
  Job* open_job() const {
    for (Job* job : jobs) {
      if (job->helpers < job->most_helpers) return job;
    }
    return nullptr;
  }

  // Processes chunks until none is left. An exception leaves the rest undone.
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
      if (open_job() == nullptr && !stopping) {
        const std::uint64_t seen = came;
        lock.unlock();
        look_around([&] { return came != seen; });
        lock.lock();
      }
      ++sleeping;
      Job* found = nullptr;
      work_came.wait(lock, [&] { return stopping || (found = open_job()) != nullptr; });
      --sleeping;
      if (stopping) return;
      Job& job = *found;
      ++job.helpers;
      lock.unlock();
      work_on(job);
      lock.lock();
      std::erase(jobs, &job);  // all chunks are taken
      // The caller takes the lock before it returns: the job exists until this is done.
      if (--job.helpers == 0) job.helpers_left.notify_one();
    }
  }
};

void Crew::grow(int count) {
  try {
    workers.reserve(static_cast<std::size_t>(count));
    while (size < count) {
      workers.emplace_back([this] { serve(); });
      ++size;
    }
  } catch (const std::system_error&) {
    // The system has no more threads: the existing ones do the work.
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

// A crew inherited by fork cannot be destroyed: its threads cannot be joined, and one of them may have held
// the mutex. It stays in memory, reachable for leak checkers.
void lose(Crew* crew) {
  static std::atomic<Crew*> all_lost = nullptr;
  crew->lost = all_lost;
  while (!all_lost.compare_exchange_weak(crew->lost, crew)) {
  }
}

// The global state of all ThreadPools. `gate` is held while the process forks, so that it is free in the
// child.
std::mutex gate;
std::atomic<Crew*> crew = nullptr;  // exists while there are ThreadPools
int shares = 0;                     // ThreadPools that want helpers
std::int64_t wanted = 0;            // helpers, in total
int most_wanted = 0;                // maximum of one ThreadPool

void notice_forks() {
  static const int registered = pthread_atfork([] { gate.lock(); }, [] { gate.unlock(); },
                                               [] {
                                                 ++forks;
                                                 gate.unlock();
                                               });
  static_cast<void>(registered);
}

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

// The crew of this process, not of its parent. Requires `gate`.
Crew& own_crew() {
  Crew* old = crew;
  if (old != nullptr && old->born == forks) return *old;
  crew = new Crew();
  if (old != nullptr) lose(old);
  return *crew;
}

// Starts as many threads as are useful. Requires `gate`.
void fill(Crew& own) {
  own.grow(static_cast<int>(std::min<std::int64_t>(wanted, std::max(cores() - 1, most_wanted))));
}

// For owners of a ThreadPool. After a fork, the first caller restarts the threads.
Crew& crew_here() {
  Crew* now = crew;
  if (now->born == forks) return *now;
  const std::lock_guard lock(gate);
  Crew& own = own_crew();
  fill(own);
  return own;
}

}  // namespace

HostThreadsScope::HostThreadsScope(const HostThreads& threads) noexcept : before_(host_threads) {
  host_threads = &threads;
}

HostThreadsScope::~HostThreadsScope() { host_threads = before_; }

// One ThreadPool's share of the crew.
struct ThreadPool::State {
  explicit State(int count) : threads(count) {
    if (threads == 1) return;
    notice_forks();
    const std::lock_guard lock(gate);
    Crew& own = own_crew();
    ++shares;
    wanted += threads - 1;
    most_wanted = std::max(most_wanted, threads - 1);
    fill(own);
  }

  // The last one ends the threads.
  ~State() {
    if (threads == 1) return;
    Crew* last = nullptr;
    {
      const std::lock_guard lock(gate);
      wanted -= threads - 1;
      if (--shares != 0) return;
      most_wanted = 0;
      last = crew.exchange(nullptr);
    }
    if (last->born == forks) {
      delete last;
    } else {
      lose(last);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const int threads;
};

ThreadPool::ThreadPool(int threads)
    : state_(std::make_unique<State>(threads == 0 ? cores() : std::max(threads, 1))) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return state_->threads == 1 ? 1 : std::min(state_->threads, crew_here().size + 1);
}

void ThreadPool::run(std::int64_t count, std::int64_t chunk, const ChunkBody& body) {
  if (count <= 0) return;
  chunk = std::clamp<std::int64_t>(chunk, 1, count);
  const std::int64_t chunks = count / chunk + (count % chunk != 0);
  if (inside_body || chunks == 1) return on_this_thread(count, chunk, chunks, body);
  if (host_threads != nullptr) {
    HostJob job{count, chunk, chunks, body, reproducible()};
    return on_host_threads(job);
  }
  if (state_->threads == 1) return on_this_thread(count, chunk, chunks, body);
  Crew& here = crew_here();
  if (here.size == 0) return on_this_thread(count, chunk, chunks, body);
  Job job{.count = count,
          .chunk = chunk,
          .chunks = chunks,
          .most_helpers = state_->threads - 1,
          .body = body,
          .reproducible = reproducible()};
  std::int64_t to_wake = 0;
  {
    const std::lock_guard lock(here.mutex);
    here.jobs.push_back(&job);
    ++here.came;
    to_wake = std::min<std::int64_t>({chunks - 1, here.sleeping, job.most_helpers});
  }
  for (std::int64_t i = 0; i < to_wake; ++i) here.work_came.notify_one();
  here.work_on(job);
  std::unique_lock lock(here.mutex);
  std::erase(here.jobs, &job);
  if (job.helpers != 0) {
    lock.unlock();
    look_around([&] { return job.helpers == 0; });
    lock.lock();
  }
  job.helpers_left.wait(lock, [&] { return job.helpers == 0; });
  if (job.error != nullptr) std::rethrow_exception(job.error);
}

}  // namespace anybit
