#include "calibrate/bins.hpp"

#include <algorithm>

namespace anybit::calibrate {
Bins::Bins(const Bins& other) {
  if (other.pages_.empty()) return;
  pages_.resize(kPages);
  for (std::size_t i = 0; i < kPages; ++i) {
    if (other.pages_[i]) pages_[i] = std::make_unique<Page>(*other.pages_[i]);
  }
}

Bins& Bins::operator=(Bins other) noexcept {
  pages_.swap(other.pages_);
  return *this;
}

Bins::Page& Bins::make_page(std::size_t index) {
  if (pages_.empty()) pages_.resize(kPages);
  if (!pages_[index]) pages_[index] = std::make_unique<Page>();
  return *pages_[index];
}

void Bins::add(std::uint16_t key, std::uint64_t count) {
  if (count > 0) make_page(key / kPerPage)[key % kPerPage] += count;
}

void Bins::merge(const Bins& other) {
  for (std::size_t i = 0; i < other.pages_.size(); ++i) {
    if (!other.pages_[i]) continue;
    Page& mine = make_page(i);
    for (std::size_t k = 0; k < kPerPage; ++k) mine[k] += (*other.pages_[i])[k];
  }
}

std::uint64_t Bins::count(std::uint16_t key) const {
  const Page* found = page(key / kPerPage);
  return found ? (*found)[key % kPerPage] : 0;
}

std::uint64_t Bins::count_between(std::size_t first, std::size_t end) const {
  std::uint64_t sum = 0;
  for (std::size_t at = first; at < end;) {
    const std::size_t until = std::min(end, (at / kPerPage + 1) * kPerPage);
    const Page* found = page(at / kPerPage);
    for (std::size_t key = at; found && key < until; ++key) sum += (*found)[key % kPerPage];
    at = until;
  }
  return sum;
}

std::size_t Bins::bytes() const {
  std::size_t sum = pages_.size() * sizeof(pages_[0]);
  for (const auto& one : pages_) sum += one ? sizeof(Page) : 0;
  return sum;
}

std::vector<Bins::Bin> Bins::sorted() const {
  std::size_t most = 0;
  for (const auto& one : pages_) most += one ? kPerPage : 0;
  std::vector<Bin> list;
  list.reserve(most);
  each([&](const Bin& bin) { list.push_back(bin); });
  return list;
}

bool operator==(const Bins& a, const Bins& b) {
  static constexpr Bins::Page kNone{};
  for (std::size_t i = 0; i < Bins::kPages; ++i) {
    const Bins::Page* left = a.page(i);
    const Bins::Page* right = b.page(i);
    if (left != right && (left ? *left : kNone) != (right ? *right : kNone)) return false;
  }
  return true;
}

}  // namespace anybit::calibrate
