// The fusions: ways to put nodes together that one kernel can do at once. One file each (fuse_*.cpp).
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

// What a program is built for.
enum class Purpose : std::uint8_t {
  run,
  // To be told to a code generator: no operator in it that docs/codegen.md does not tell, weights as they are
  // stored.
  generate,
};

// For whom a fusion is.
enum class For : std::uint8_t { all, running, generating };

struct Descriptor {
  std::string_view name;
  int order;  // fusions are tried in this order
  std::string_view summary;
  Result<void> (*run)(Program& program, const Resources& resources);
  For whom = For::all;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::runtime
