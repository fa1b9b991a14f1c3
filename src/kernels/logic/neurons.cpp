#include "kernels/logic/neurons.hpp"

#include <algorithm>

namespace anybit::kernels {
namespace {

unsigned entry(std::span<const std::uint8_t> table, std::int64_t index, int bits) {
  const std::int64_t at = index * bits;
  return static_cast<unsigned>(table[static_cast<std::size_t>(at / 8)]) >> (at % 8) & ((1u << bits) - 1);
}

// A tree of selections over all entries costs more than looking one up.
constexpr std::int64_t kMostLeaves = 1024;

}  // namespace

Neurons::Neurons(const NeuronShape& shape, std::span<const std::int32_t> connections,
                 std::span<const std::uint8_t> tables)
    : shape_(shape) {
  const std::int64_t neurons = shape.neurons();
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  taps_.resize(size(neurons * shape.fan_in));
  for (std::int64_t n = 0; n < neurons; ++n) {
    for (int i = 0; i < shape.fan_in; ++i) {
      const std::int32_t tap = connections[size(n * shape.fan_in + i)] + 1;
      inputs_ = std::max<std::int64_t>(inputs_, tap);
      taps_[size(i * neurons + n)] = tap;
    }
  }
  const std::int64_t bytes = shape.bytes();
  table_words_ = (bytes + 3) / 4;
  words_.resize(size(shape.tables * table_words_));
  for (std::int64_t t = 0; t < shape.tables; ++t) {
    for (std::int64_t i = 0; i < bytes; ++i)
      words_[size(t * table_words_ + i / 4)] |= std::uint32_t{tables[size(t * bytes + i)]} << (i % 4 * 8);
  }
  if ((std::int64_t{shape.output_bits} << shape.address_bits()) <= kMostLeaves) slice(tables);
}

void Neurons::slice(std::span<const std::uint8_t> tables) {
  const std::int64_t bytes = shape_.bytes(), entries = shape_.entries();
  const int bits = shape_.entry_bits();
  nibbles_.reserve(static_cast<std::size_t>(shape_.tables * shape_.output_bits * table_nibbles()));
  for (std::int64_t t = 0; t < shape_.tables; ++t) {
    const auto table = tables.subspan(static_cast<std::size_t>(t * bytes), static_cast<std::size_t>(bytes));
    for (int bit = 0; bit < shape_.output_bits; ++bit) {
      for (std::int64_t first = 0; first < 4 * table_nibbles(); first += 4) {
        unsigned nibble = 0;  // a single address bit repeats its two entries
        for (std::int64_t i = 0; i < 4; ++i)
          nibble |= (entry(table, (first + i) % entries, bits) >> bit & 1u) << i;
        nibbles_.push_back(static_cast<std::uint8_t>(nibble));
      }
    }
  }
}

std::int64_t Neurons::bytes() const {
  return static_cast<std::int64_t>(taps_.size() * sizeof(std::int32_t) +
                                   words_.size() * sizeof(std::uint32_t) + nibbles_.size());
}

}  // namespace anybit::kernels
