// Picks the kernel for a codec: the first fast one that supports it, otherwise the plain one.
#include "kernels/table.hpp"

namespace anybit::kernels {

std::unique_ptr<const GroupKernel> kernel_for(std::shared_ptr<const formats::Codec> codec,
                                              formats::Rounding rounding) {
  const bool half_even = rounding == formats::Rounding::half_even;
  for (const Descriptor* one : table()) {
    const auto* family = std::get_if<GroupCodec>(&one->kernel);
    if (!family || !(half_even || family->make_rounding)) continue;
    if (auto kernel = half_even ? family->make(codec) : family->make_rounding(codec, rounding)) return kernel;
  }
  return plain_kernel(std::move(codec), rounding);
}

}  // namespace anybit::kernels
