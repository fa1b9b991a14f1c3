// What passes learn of a model before they change it. As long as none does, the next need not learn it again.
#pragma once

#include <optional>

#include "passes/edit.hpp"
#include "passes/facts.hpp"

namespace anybit::passes {

struct Learned {
  std::optional<Facts> facts;
  std::optional<Constants> constants;
};

}  // namespace anybit::passes
