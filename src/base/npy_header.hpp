// The header of a .npy file: a Python dictionary with descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

struct NpyHeader {
  char order = '<';       // < little-endian, > big-endian, | not applicable
  char kind = 'f';        // f, i, u, b, U
  std::int64_t size = 4;  // bytes per value; for U: characters
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace anybit
