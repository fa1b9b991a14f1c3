// The table of fast kernels: every .cpp of this folder that exports descriptors is in it.
#pragma once

#include <span>
#include <string_view>

#include "kernels/group_kernel.hpp"

namespace anybit::kernels {

struct Descriptor {
  std::string_view name;  // the family it serves
  // The fast twin of the codec, or null if this file has none for it. Rounding is half_even.
  std::unique_ptr<const GroupKernel> (*make)(const std::shared_ptr<const formats::Codec>& codec);
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::kernels
