// Fast fake quantization with AMD Quark's bits: MX and block floating point with profile quark.
#pragma once

#include <memory>

#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

inline bool is_to_nearest(formats::Rounding rounding) {
  using enum formats::Rounding;
  return rounding == half_even || rounding == half_away || rounding == half_up;
}

// Null for other codecs, and for roundings that are not to the nearest.
std::unique_ptr<const GroupKernel> quark_kernel(const std::shared_ptr<const formats::Codec>& codec,
                                                formats::Rounding rounding);

}  // namespace anybit::kernels
