#include "kernels/instructions.hpp"

#include <hwy/targets.h>

#include <iterator>

#include "base/cpu.hpp"

namespace anybit::kernels {
namespace {

constexpr bool kHasAvx2 = (HWY_TARGETS & HWY_AVX2) != 0;  // AVX-512 kernels call AVX2 ones

bool on_cpu(Instructions set) noexcept {
  const CpuFeatures& cpu = cpu_features();
  switch (set) {
    case Instructions::baseline:
      return true;
    case Instructions::avx2:
      return kHasAvx2 && cpu.avx2;
    case Instructions::avx512:
      return kHasAvx2 && cpu.avx2 && cpu.avx512f;
    case Instructions::avx512_vnni:
      return kHasAvx2 && cpu.avx2 && cpu.avx512f && cpu.avx512bw && cpu.avx512vnni;
    case Instructions::avx512_bitalg:
      return kHasAvx2 && cpu.avx2 && cpu.avx512f && cpu.avx512bw && cpu.avx512bitalg;
  }
  return false;
}

struct Known {
  bool sets[std::size(kInstructions)];
  Known() noexcept {
    for (const Instructions set : kInstructions) sets[static_cast<int>(set)] = on_cpu(set);
  }
};

}  // namespace

std::atomic<Instructions> most_instructions = kAllInstructions;

std::string_view name_of(Instructions set) noexcept {
  constexpr std::string_view names[] = {"baseline", "avx2", "avx512", "avx512_vnni", "avx512_bitalg"};
  return names[static_cast<int>(set)];
}

bool has(Instructions set) noexcept {
  static const Known known;
  return known.sets[static_cast<int>(set)];
}

void use_at_most(Instructions set) noexcept {
  hwy::SetSupportedTargetsForTest(set == Instructions::baseline ? HWY_STATIC_TARGET : 0);
  most_instructions = set;
}

}  // namespace anybit::kernels
