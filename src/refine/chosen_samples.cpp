#include "refine/chosen_samples.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "base/try.hpp"

namespace anybit::quantizing {
namespace {

// Hashes names and numeric arrays; other values are ignored.
std::uint64_t hash_of(const Sample& sample) {
  std::uint64_t hash = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min(sizeof(word), bytes.size() - i));
      hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
  };
  for (const auto& [name, value] : sample) {
    add(std::as_bytes(std::span(name)));
    if (value.is_array() && value.array.type() != graph::ElementType::string)
      add({value.array.bytes(), value.array.byte_count()});
  }
  return hash;
}

}  // namespace

Result<void> make_own(Sample& sample, ops::Memory& memory) {
  for (auto& [name, value] : sample) {
    if (value.is_array() && !value.array.owned()) value.array = TRY(value.array.copy(memory));
  }
  return {};
}

Result<std::optional<std::uint64_t>> ChosenSamples::offer(const Sample& sample) {
  if (most_ == 0) return std::optional<std::uint64_t>();
  const std::uint64_t hash = hash_of(sample);
  if (by_hash_.size() == most_) {
    const auto last = std::prev(by_hash_.end());
    if (hash >= last->first) return std::optional<std::uint64_t>();
    by_hash_.erase(last);
  }
  TRY(make_own(by_hash_.emplace(hash, sample)->second, *memory_));
  return std::optional(hash);
}

std::vector<std::uint64_t> ChosenSamples::numbers() const {
  std::vector<std::uint64_t> all;
  for (const auto& [hash, sample] : by_hash_) all.push_back(hash);
  return all;
}

std::vector<Sample> ChosenSamples::take() {
  std::vector<Sample> samples;
  for (auto& [hash, sample] : by_hash_) samples.push_back(std::move(sample));
  by_hash_.clear();
  return samples;
}

}  // namespace anybit::quantizing
