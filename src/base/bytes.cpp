#include "base/bytes.hpp"

#include <new>

namespace anybit {

Bytes Bytes::aligned(std::size_t alignment) const {
  if (reinterpret_cast<std::uintptr_t>(view_.data()) % alignment == 0) return *this;
  constexpr std::align_val_t kLine{64};
  auto* memory = static_cast<std::byte*>(::operator new(view_.size(), kLine));
  std::shared_ptr<const void> owner(memory, [](void* p) { ::operator delete(p, kLine); });
  std::memcpy(memory, view_.data(), view_.size());
  return {std::move(owner), {memory, view_.size()}};
}

}  // namespace anybit
