// Picks the kernel for a codec: the first fast one that supports it, otherwise the plain one.
#include "kernels/table.hpp"

namespace anybit::kernels {

std::unique_ptr<const GroupKernel> kernel_for(std::shared_ptr<const formats::Codec> codec,
                                              formats::Rounding rounding) {
  if (rounding == formats::Rounding::half_even) {
    for (const Descriptor* one : table()) {
      const auto* family = std::get_if<GroupCodec>(&one->kernel);
      if (!family) continue;
      if (auto kernel = family->make(codec)) return kernel;
    }
  }
  return plain_kernel(std::move(codec), rounding);
}

}  // namespace anybit::kernels
