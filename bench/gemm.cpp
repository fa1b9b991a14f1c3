// Times single GEMMs on request, so that another runtime can be timed alternately: reads lines "KIND M K N
// THREADS SECONDS" (KIND: float32 or int8) and answers each with the shortest time, in seconds. Driven by
// bench/bench_gemm.py.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.hpp"

namespace {

using namespace anybit;

// A single thread is timed by its CPU clock, which excludes other programs.
double now(int threads) {
  timespec time = {};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Body>
double shortest(int threads, double budget, const Body& body) {
  double best = 1e30;
  const double start = now(threads);
  do {
    const double one = now(threads);
    body();
    best = std::min(best, now(threads) - one);
  } while (now(threads) - start < budget);
  return best;
}

struct Sizes {
  std::int64_t m = 0, k = 0, n = 0;
  auto operator<=>(const Sizes&) const = default;
};

template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::mt19937 random(1);
  std::vector<T> all(static_cast<std::size_t>(count));
  for (T& x : all) x = static_cast<T>(static_cast<int>(random() % 201) - 100);
  return all;
}

struct FloatCase {
  explicit FloatCase(Sizes s)
      : sizes(s),
        a(numbers<float>(s.m * s.k)),
        c(static_cast<std::size_t>(s.m * s.n)),
        b({numbers<float>(s.k * s.n).data(), s.n, 1}, s.k, s.n) {}
  void run(ThreadPool& pool) {
    kernels::gemm({.m = sizes.m,
                   .n = sizes.n,
                   .k = sizes.k,
                   .a = {a.data(), sizes.k, 1},
                   .b = &b,
                   .c = c.data(),
                   .c_stride = sizes.n},
                  pool);
  }
  Sizes sizes;
  std::vector<float> a, c;
  kernels::PackedFloats b;
};

// uint8 by int8, requantized to uint8.
struct ByteCase {
  explicit ByteCase(Sizes s)
      : sizes(s),
        a(numbers<std::uint8_t>(s.m * s.k)),
        c(static_cast<std::size_t>(s.m * s.n)),
        b({kernels::IntegerType::int8, numbers<std::int8_t>(s.k * s.n).data(), s.n, 1}, s.k, s.n, {}) {}
  void run(ThreadPool& pool) {
    const std::int32_t zero = 7;
    const float scale = 1e-4f;
    kernels::IntegerGemmWork work{.m = sizes.m, .n = sizes.n, .k = sizes.k};
    work.a = {kernels::IntegerType::uint8, a.data(), sizes.k, 1};
    work.a_zero = {&zero, 0, 0};
    work.b = &b;
    work.c = c.data();
    work.c_stride = sizes.n;
    work.epilogue = {.type = kernels::IntegerResult::uint8,
                     .scale = {&scale, 0, 0},
                     .zero_point = 128,
                     .low = 0,
                     .high = 255};
    kernels::gemm(work, pool);
  }
  Sizes sizes;
  std::vector<std::uint8_t> a, c;
  kernels::PackedIntegers b;
};

template <class Case>
double time_of(Sizes sizes, ThreadPool& pool, double budget) {
  static std::map<Sizes, std::unique_ptr<Case>> cases;
  auto& one = cases[sizes];
  if (!one) one = std::make_unique<Case>(sizes);
  return shortest(pool.threads(), budget, [&] { one->run(pool); });
}

}  // namespace

int main() {
  std::map<int, std::unique_ptr<ThreadPool>> pools;
  std::string kind;
  Sizes sizes;
  int threads = 1;
  double budget = 0;
  while (std::cin >> kind >> sizes.m >> sizes.k >> sizes.n >> threads >> budget) {
    auto& pool = pools[threads];
    if (!pool) pool = std::make_unique<ThreadPool>(threads);
    const double time =
        kind == "int8" ? time_of<ByteCase>(sizes, *pool, budget) : time_of<FloatCase>(sizes, *pool, budget);
    std::printf("%.9f\n", time);
    std::fflush(stdout);
  }
}
