// Fast fake quantization with AMD Quark's bits: MX and block floating point with profile quark.
#pragma once

#include <memory>

#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

// Null for other codecs, and for roundings that are not to the nearest.
std::unique_ptr<const GroupKernel> quark_kernel(const std::shared_ptr<const formats::Codec>& codec,
                                                formats::Rounding rounding);

}  // namespace anybit::kernels
