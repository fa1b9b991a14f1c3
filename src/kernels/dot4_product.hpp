// Products of matrices and convolutions of bytes on CPUs that multiply them four at a time (dot4_avx512.hpp):
// A as it is, but unsigned; what its zero point adds to the sums is taken off at the end.
#pragma once

#include "kernels/conv_whole.hpp"

namespace anybit::kernels {

// A convolution. `image`: the input as ConvRuns::lay_out writes it, product.a_zero and .a.type its zero point
// and type.
struct ByteWindows {
  const ConvRuns& runs;
  const std::uint8_t* image;
  const WholeProduct& product;
};

// Where the CPU has Instructions::avx512_vnni. B has no zero points; the sums fit 32 bits, or are int32.
void dot4_conv(const ConvRuns& runs, const std::uint8_t* image, const WholeProduct& product,
               ThreadPool& pool);

}  // namespace anybit::kernels
