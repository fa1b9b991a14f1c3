#include "graph/tensor.hpp"

#include <cassert>

#include "base/checked.hpp"

namespace anybit::graph {

std::int64_t Tensor::count() const {
  const auto count = element_count(dims);
  assert(count && "only verified tensors are counted");
  return count.value_or(0);
}

}  // namespace anybit::graph
