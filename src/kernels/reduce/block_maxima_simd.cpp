#include "kernels/reduce/block_maxima.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/block_maxima_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/group_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

void Maxima(const Groups& shape, const float* x, std::uint32_t* maxima) {
  for (std::size_t g = 0; g < shape.groups; ++g) {
    maxima[g * shape.stride] = LargestBits(x + g * shape.size, shape.size);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(Maxima);

void block_maxima(const Groups& shape, const float* x, std::uint32_t* maxima) {
  HWY_DYNAMIC_DISPATCH(Maxima)(shape, x, maxima);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
