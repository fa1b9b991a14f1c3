// The SIMD target of the CPU, where HWY_DYNAMIC_DISPATCH takes that of all CPUs because results have to be
// reproducible (base/reproducible.hpp): for kernels whose bits do not depend on the target.
#pragma once

#include <hwy/targets.h>

namespace anybit::kernels {

const hwy::ChosenTarget& cpu_target() noexcept;

}  // namespace anybit::kernels

#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define ANYBIT_EXACT_DISPATCH(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#else
#define ANYBIT_EXACT_DISPATCH(FUNCTION) \
  (*(HWY_DISPATCH_TABLE(FUNCTION)[anybit::kernels::cpu_target().GetIndex()]))
#endif
