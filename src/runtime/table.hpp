// The fusions: ways to put nodes together that one kernel can do at once. One file each (fuse_*.cpp).
#pragma once

#include <span>
#include <string_view>

#include "anybit/result.hpp"

namespace anybit::runtime {

struct Program;

struct Descriptor {
  std::string_view name;
  int order;  // fusions are tried in this order
  std::string_view summary;
  Result<void> (*run)(Program& program);
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::runtime
