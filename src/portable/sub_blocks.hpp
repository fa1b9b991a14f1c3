// Blocks divided into sub-blocks: reshapes [a, groups, b, size] to [n, a, groups, b, sub-blocks], padded if n
// does not divide the size, and back. The values of a sub-block are the first axis because runtimes are slow
// with short last axes.
#pragma once

#include <optional>

#include "portable/formula.hpp"

namespace anybit::portable {

class SubBlocks {
 public:
  static constexpr std::int64_t kPlace = 3;  // axis of [a, groups, b, size]

  SubBlocks(const Term& placed, std::int64_t size);
  const Term& count() const { return *count_; }  // per group
  Term split(const Term& placed, const Term& padding) const;
  Term join(const Term& parts) const;
  Term others() const;  // the dimensions a, groups, b

 private:
  std::int64_t each_;
  Term dims_, size_;
  std::optional<Term> missing_, count_;
};

}  // namespace anybit::portable
