#include "calibrate/bins.hpp"

#include <algorithm>
#include <charconv>

#include "calibrate/collector_table.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/fields.hpp"

namespace anybit::calibrate {
namespace {

// Serializes every nonempty page as one string of counts, under the key of its first nonzero bin.
std::string bins_text(const Bins& bins) {
  std::string text = "{";
  for (std::size_t i = 0; i < Bins::kPages; ++i) {
    const Bins::Page* page = bins.page(i);
    std::string counts;
    std::size_t first = 0, zeros = 0;
    for (std::size_t k = 0; page && k < Bins::kPerPage; ++k) {
      const std::uint64_t count = (*page)[k];
      if (count == 0) {
        ++zeros;
        continue;
      }
      if (counts.empty()) first = k;
      for (; !counts.empty() && zeros > 0; --zeros) counts += " 0";
      zeros = 0;
      counts += fmt::format("{}{}", counts.empty() ? "" : " ", count);
    }
    if (counts.empty()) continue;
    text +=
        fmt::format("{}\n    \"{:04x}\": \"{}\"", text == "{" ? "" : ",", i * Bins::kPerPage + first, counts);
  }
  return text + "}";
}

// Reads the counts of one page, starting at `key`. `left`: the remaining number of values.
Result<void> read_page(std::string_view text, std::uint32_t key, std::uint64_t& left, Bins& bins) {
  const std::uint32_t page = static_cast<std::uint32_t>(key / Bins::kPerPage);
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::uint64_t count = 0;
    const auto [end, problem] = std::from_chars(at, text.data() + text.size(), count);
    if (problem != std::errc() || count > left || key / Bins::kPerPage != page)
      return damaged(fmt::format("bins: cannot read the counts from {:04x} on", page * Bins::kPerPage));
    left -= count;
    bins.add(static_cast<std::uint16_t>(key++), count);
    const bool more = end != text.data() + text.size();
    if (more && *end != ' ') return damaged("bins: counts are not separated by blanks");
    at = more ? end + 1 : end;
  }
  return {};
}

}  // namespace

Bins::Bins(const Bins& other) : CollectorOf(other) {
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

Result<void> Bins::merge(const Bins& other) {
  for (std::size_t i = 0; i < other.pages_.size(); ++i) {
    if (!other.pages_[i]) continue;
    Page& mine = make_page(i);
    for (std::size_t k = 0; k < kPerPage; ++k) mine[k] += (*other.pages_[i])[k];
  }
  return {};
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

Result<void> Bins::see(const Look& look, Workbench& bench, std::mutex& guard) {
  bench.counter.count(look.x, look.n, look.extremes, *this, guard);
  return {};
}

void Bins::make_room(const Collector& other) {
  for (std::size_t i = 0; i < kPages; ++i) {
    if (static_cast<const Bins&>(other).page(i)) make_page(i);
  }
}

void Bins::write(JsonMembers& to) const { to.emplace_back("bins", bins_text(*this)); }

Result<void> Bins::read(const JsonTree& from, const Extent& extent) {
  const JsonTree* found = from.find("bins");
  const JsonTree::Members* pages = found ? found->members() : nullptr;
  if (!pages) return damaged("'bins' is not an object");
  auto left = static_cast<std::uint64_t>(extent.finite() - extent.zeros);
  for (const auto& [name, counts] : *pages) {
    std::uint32_t key = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), key, 16);
    const bool fits = name.size() == 4 && end == name.data() + 4 && problem == std::errc() &&
                      (key & 0x7FFF) != 0 && (key & 0x7FFF) < 0x7F80;
    if (!fits || !counts.text()) return damaged(fmt::format("bins: '{}' is not a key", shown(name)));
    TRY(read_page(*counts.text(), key, left, *this));
  }
  if (left != 0) return damaged("the bins hold fewer values than there were");
  for (const float end : {extent.min, extent.max}) {
    const auto key = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(end) >> 16);
    if ((key & 0x7FFF) != 0 && count(key) == 0) return damaged("the bins do not reach the bounds");
  }
  return {};
}

std::span<const CollectorDescriptor> bins_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "bins", .summary = "histogram, for observers that clip"}};
  return all;
}

}  // namespace anybit::calibrate
