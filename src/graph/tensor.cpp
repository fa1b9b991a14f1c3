#include "graph/tensor.hpp"

#include <cassert>

#include "base/checked.hpp"

namespace anybit::graph {

ANYBIT_DEFINE_VALUE(Tensor);
ANYBIT_DEFINE_VALUE(SparseTensor);

TensorBox::TensorBox() = default;
TensorBox::TensorBox(Tensor tensor) : tensor_(std::make_unique<Tensor>(std::move(tensor))) {}
TensorBox::TensorBox(const TensorBox& other)
    : tensor_(other.tensor_ ? std::make_unique<Tensor>(*other.tensor_) : nullptr) {}
TensorBox::TensorBox(TensorBox&&) noexcept = default;
TensorBox& TensorBox::operator=(TensorBox other) noexcept {
  tensor_ = std::move(other.tensor_);
  return *this;
}
TensorBox::~TensorBox() = default;
Tensor& TensorBox::emplace() { return *(tensor_ = std::make_unique<Tensor>()); }
void TensorBox::reset() { tensor_.reset(); }

std::int64_t Tensor::count() const {
  const auto count = element_count(dims);
  assert(count && "only verified tensors are counted");
  return count.value_or(0);
}

}  // namespace anybit::graph
