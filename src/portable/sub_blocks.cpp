#include "portable/sub_blocks.hpp"

namespace anybit::portable {

SubBlocks::SubBlocks(const Term& placed, std::int64_t size)
    : each_(size), dims_(shape(placed)), size_(slice(dims_, kPlace, kPlace + 1)) {
  FunctionBody& body = placed.body();
  count_ = (size_ + body.integers({each_ - 1})) / body.integers({each_});
  missing_ = *count_ * body.integers({each_}) - size_;
}

Term SubBlocks::split(const Term& placed, const Term& padding) const {
  const Term full = pad(placed, kPlace, *missing_, padding);
  const Term parts = reshape(full, concat({others(), *count_, full.body().integers({each_})}));
  return transpose(parts, {4, 0, 1, 2, 3});
}

Term SubBlocks::join(const Term& parts) const {
  const Term full = reshape(transpose(parts, {1, 2, 3, 4, 0}), concat({others(), size_ + *missing_}));
  return slice(full, kPlace, full.body().integers({0}), size_);
}

Term SubBlocks::others() const { return slice(dims_, 0, kPlace); }

}  // namespace anybit::portable
