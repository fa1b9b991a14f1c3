// The table of fusions: rules that replace several nodes with one kernel. One file each (fuse_*.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "anybit/result.hpp"
#include "ops/evaluate.hpp"

namespace anybit::runtime {

struct Program;

using ops::Resources;

// The purpose a program is built for.
enum class Purpose : std::uint8_t {
  run,
  // Input of a code generator: only operators that docs/codegen.md lists, weights as they are stored.
  generate,
};

// The purposes that a fusion serves.
enum class For : std::uint8_t { all, running, generating };

struct Descriptor {
  std::string_view name;
  int order;  // fusions run in this order
  std::string_view summary;
  Result<void> (*run)(Program& program, const Resources& resources);
  For whom = For::all;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::runtime
