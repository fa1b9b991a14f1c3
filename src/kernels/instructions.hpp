// Instruction sets that kernels are written for beyond the baseline of the build.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace anybit::kernels {

// In order: a CPU that has one has those before it, as far as kernels use them.
enum class Instructions : std::uint8_t { baseline, avx2, avx512, avx512_vnni, avx512_bitalg };
inline constexpr Instructions kInstructions[] = {Instructions::baseline, Instructions::avx2,
                                                 Instructions::avx512, Instructions::avx512_vnni,
                                                 Instructions::avx512_bitalg};

std::string_view name_of(Instructions set) noexcept;  // "baseline", "avx2", …

// Whether the CPU has it and ANYBIT_CPU allows it.
bool has(Instructions set) noexcept;

// For tests: the most that kernels may use, Highway's included.
inline constexpr Instructions kAllInstructions = Instructions::avx512_bitalg;
extern std::atomic<Instructions> most_instructions;
void use_at_most(Instructions set) noexcept;

inline bool usable(Instructions set) noexcept {
  return set <= most_instructions.load(std::memory_order_relaxed) && has(set);
}

}  // namespace anybit::kernels
