// The instruction sets, of those that kernels are built for, that this CPU runs.
#pragma once

#include <string_view>

namespace anybit::kernels {

std::string_view simd_target() noexcept;  // "AVX2", "AVX2+VNNI", "SSE4", "NEON", …; "SSE4, ANYBIT_CPU=sse4"

}  // namespace anybit::kernels
