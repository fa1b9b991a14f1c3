// The fusions: ways to put nodes together that one kernel can do at once. One file each (fuse_*.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "anybit/result.hpp"
#include "base/thread_pool.hpp"
#include "graph/budget.hpp"
#include "ops/memory.hpp"

namespace anybit::runtime {

struct Program;

// What a fusion may need to compute constants.
struct Resources {
  const std::shared_ptr<ops::Memory>& memory;
  ThreadPool& pool;
  graph::Budget* budget = nullptr;  // for what is computed before the model runs; null: none

  // Counts constants that a fusion is about to make. Each may be made from one that many steps share: if
  // more would pass the limits, this answers false, and the steps stay as they are.
  bool afford(std::int64_t bytes, std::int64_t elements) const {
    return !budget || (budget->take_elements(elements) && budget->take_bytes(bytes));
  }
};

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
