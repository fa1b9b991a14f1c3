// int8 GEMM and convolution on CPUs with VNNI (dot4_vnni.hpp). A is used as unsigned bytes; the
// contribution of its zero point is subtracted from the sums at the end.
#pragma once

#include "kernels/conv/conv_int8.hpp"

namespace anybit::kernels {

// A convolution. `image`: the input as written by ConvRuns::lay_out; work.a_zero and .a.type are its zero
// point and type.
struct ByteWindows {
  const ConvRuns& runs;
  const std::uint8_t* image;
  const IntegerGemmWork& work;
};

// Needs Instructions::avx512_vnni. B has no zero points; the sums fit 32 bits, or the result is int32.
void dot4_conv(const ConvRuns& runs, const std::uint8_t* image, const IntegerGemmWork& work,
               ThreadPool& pool);

}  // namespace anybit::kernels
