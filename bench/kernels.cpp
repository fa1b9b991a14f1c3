// Times every kernel of the list that this CPU supports, on one thread: GOPS (two operations per
// multiply-add, one per element), and the speedup over a naive loop.
//
//   bench_kernels [SECONDS per case] [words that the operation contains]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "unit/kernels/kernel_cases.hpp"

namespace {

using namespace anybit;
using namespace anybit::kernels;

// The thread's CPU clock, which excludes other programs.
double now() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Body>
double shortest(double budget, const Body& body) {
  double best = 1e30;
  const double start = now();
  do {
    const double one = now();
    body();
    best = std::min(best, now() - one);
  } while (now() - start < budget);
  return best;
}

void time_kernel(const Descriptor& one, double budget, ThreadPool& pool) {
  const bool codec = std::holds_alternative<GroupCodec>(one.kernel);
  const Trial trial(one);
  if (codec) use_at_most(kAllInstructions);  // compiled for every target
  bool timed = false;
  for (const bool everywhere : {false, true}) {
    if (timed) return;
    const ReproducibleScope scope(everywhere);
    std::mt19937 random(1);
    for (const KernelCase& test : cases_of(one, true, random)) {
      trial.chosen = 0;
      test.run(pool);
      if (trial.chosen == 0 && !codec) continue;
      timed = true;
      const double fast = shortest(budget, [&] { test.run(pool); });
      const double plain = shortest(0, [&] { test.reference(); });
      std::printf("%-26s %-22s %-14s %-42s %9.2f %8.1f\n", std::string(operation_of(one)).c_str(),
                  std::string(one.name).c_str(), codec ? "best" : std::string(name_of(one.needs)).c_str(),
                  test.sizes.c_str(), test.operations / fast * 1e-9, plain / fast);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double budget = count > 1 ? std::atof(arguments[1]) : 0.05;
  const std::string words = count > 2 ? arguments[2] : "";
  ThreadPool pool(1);
  std::printf("%-26s %-22s %-14s %-42s %9s %8s\n", "operation", "kernel", "instructions", "sizes", "GOPS",
              "x plain");
  for (const Descriptor* one : table()) {
    if (usable(one->needs) && operation_of(*one).find(words) != std::string_view::npos)
      time_kernel(*one, budget, pool);
  }
}
