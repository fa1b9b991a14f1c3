// Throughput of the calibration collectors on one thread, in elements per second.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "calibrate/table.hpp"

namespace {

using namespace anybit;

std::vector<float> values(int kind, std::size_t n) {
  std::mt19937 random(1);
  std::normal_distribution<float> draw;
  std::vector<float> list(n);
  for (float& one : list) {
    const float x = draw(random);
    one = kind == 0 ? x : kind == 1 ? std::fmax(x, 0.0f) : kind == 2 ? 1.5f : std::exp(10 * x);
  }
  return list;
}
const char* const kKinds[] = {"normal", "relu", "constant", "wide"};

void extremes(benchmark::State& state) {
  const auto list = values(static_cast<int>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(kernels::extremes(list.data(), list.size()));
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.SetLabel(kKinds[state.range(0)]);
}

void bins(benchmark::State& state) {
  const auto list = values(static_cast<int>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  calibrate::Counter counter;
  calibrate::Bins all;
  std::mutex guard;
  for (auto _ : state) {
    const kernels::Extremes seen = kernels::extremes(list.data(), list.size());
    counter.count(list.data(), list.size(), seen, all, guard);
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.SetLabel(kKinds[state.range(0)]);
}

void choose(benchmark::State& state) {
  const calibrate::Descriptor& observer = *calibrate::table()[static_cast<std::size_t>(state.range(0))];
  const auto list = values(0, 1'000'000);
  calibrate::Statistics statistics;
  const kernels::Extremes seen = kernels::extremes(list.data(), list.size());
  statistics.extent.add(seen);
  calibrate::Counter counter;
  std::mutex guard;
  counter.count(list.data(), list.size(), seen, statistics.bins, guard);
  for (auto _ : state) benchmark::DoNotOptimize(observer.choose(statistics, {256, false}, {}));
  state.SetLabel(std::string(observer.name));
}

BENCHMARK(extremes)->ArgsProduct({{0, 1, 2}, {4096, 100'000, 2'000'000}});
BENCHMARK(bins)->ArgsProduct({{0, 1, 2, 3}, {1024, 4096, 100'000, 2'000'000}});
BENCHMARK(choose)->DenseRange(0, 4);

}  // namespace

BENCHMARK_MAIN();
