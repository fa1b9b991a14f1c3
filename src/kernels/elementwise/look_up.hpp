// 8-bit lookup table (LUT).
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// to[i] = table[from[i]], with a table of 256 entries. `to` may be `from`.
void look_up(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to, std::size_t n);

}  // namespace anybit::kernels
