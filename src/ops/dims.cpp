#include "ops/dims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace anybit::ops {

std::string to_string(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", "));
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  std::uint64_t stride = 1;  // wraps as Dims::product does
  for (std::size_t i = dims.size(); i-- > 1;) {
    stride *= static_cast<std::uint64_t>(dims[i]);
    strides[i - 1] = static_cast<std::int64_t>(stride);
  }
  return strides;
}

}  // namespace anybit::ops
