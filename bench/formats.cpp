// Throughput of formats: quantize, pack and unpack 64 MB of float32, compared with memcpy.
// bench/bench_formats.py compares with ml_dtypes and prints the table.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "formats/table.hpp"
#include "kernels/codec/tensor_codec.hpp"

namespace {

using namespace anybit;

constexpr std::int64_t kRows = 4096, kColumns = 4096;  // 64 MB of float32
constexpr std::size_t kCount = kRows * kColumns;

// Values between -1 and 1, distributed like weights.
std::vector<float>& values() {
  static std::vector<float> all = [] {
    constexpr std::size_t kDrawn = 1 << 20;
    std::vector<float> x(kCount);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.2f);
    for (std::size_t i = 0; i < kDrawn; ++i) x[i] = std::clamp(normal(random), -1.0f, 1.0f);
    for (std::size_t i = kDrawn; i < x.size(); ++i) x[i] = x[i - kDrawn];
    return x;
  }();
  return all;
}

// A format without a scale gets values that fill its range: otherwise it would mostly produce zeros.
void spread_values(const kernels::TensorCodec& codec) {
  static float spread = 1;
  const float wanted = codec.stride() == 0 ? static_cast<float>(codec.codec().range({}).high) : 1;
  if (wanted == spread) return;
  for (float& x : values()) x = x / spread * wanted;
  spread = wanted;
}

std::vector<float>& output() {
  static std::vector<float> out(kCount);
  return out;
}

void rate(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kCount * 4));
}

void copy(benchmark::State& state) {
  values(), output();
  for (auto _ : state) {
    std::memcpy(output().data(), values().data(), kCount * 4);
    benchmark::ClobberMemory();
  }
  rate(state);
}

enum class Job { quantize, pack, unpack };

// A format with its parameters, prepared once: choosing parameters for a whole tensor may take longer than
// all runs.
struct Prepared {
  kernels::TensorCodec codec;
  kernels::TensorCodec::Parameters parameters;
  std::vector<std::uint8_t> packed;
};

Result<Prepared*> prepared(const std::string& name) {
  static std::map<std::string, Prepared> all;
  if (const auto found = all.find(name); found != all.end()) return &found->second;
  all.clear();
  auto codec = kernels::TensorCodec::make(name, {kRows, kColumns});
  if (!codec.ok()) return codec.error();
  spread_values(*codec);
  ThreadPool pool;
  Prepared one{*codec, codec->choose(values(), pool), {}};
  one.packed.resize(static_cast<std::size_t>(codec->packed_bytes()));
  codec->encode_packed(values(), one.parameters, one.packed.data(), pool);
  return &all.emplace(name, std::move(one)).first->second;
}

// Formats with parameters per block choose them inside the loop; others (one scale per tensor) are timed with
// known parameters, as in a runtime.
void run(benchmark::State& state, const std::string& name, Job job) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const auto made = prepared(name);
  if (!made.ok()) return state.SkipWithError(made.error().text().c_str());
  auto& [codec, parameters, packed] = **made;
  const bool local = codec.codec().local() && codec.grouping().granularity == formats::Granularity::block;
  for (auto _ : state) {
    switch (job) {
      case Job::quantize:
        if (local) {
          codec.choose_and_quantize(values(), output().data(), pool);
        } else {
          codec.quantize(values(), parameters, output().data(), pool);
        }
        break;
      case Job::pack:
        if (local) {
          codec.choose_and_pack(values(), packed.data(), pool);
        } else {
          codec.encode_packed(values(), parameters, packed.data(), pool);
        }
        break;
      case Job::unpack:
        codec.decode_packed(packed.data(), parameters, output().data(), pool);
        break;
    }
    benchmark::ClobberMemory();
  }
  rate(state);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", copy)->UseRealTime();
  for (const formats::Descriptor* one : formats::table()) {
    for (auto [word, job] :
         {std::pair{"quantize", Job::quantize}, {"pack", Job::pack}, {"unpack", Job::unpack}}) {
      const std::string name(one->name);
      benchmark::RegisterBenchmark((name + "/" + word).c_str(),
                                   [name, job = job](benchmark::State& state) { run(state, name, job); })
          ->Arg(1)
          ->Arg(2)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
