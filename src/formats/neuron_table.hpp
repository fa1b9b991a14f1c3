// The truth table of a neuron with few inputs of few bits (docs/logic.md): how its entries are packed.
#pragma once

#include <cstdint>

namespace anybit::formats {

inline constexpr int kMostAddressBits = 15;

struct NeuronTable {
  int fan_in = 1, input_bits = 1, output_bits = 1;
  bool is_signed = false;  // results are two's complement

  int address_bits() const { return fan_in * input_bits; }
  std::int64_t entries() const { return std::int64_t{1} << address_bits(); }
  // Bits of a stored entry: a power of two, so that none crosses a byte.
  int entry_bits() const { return output_bits <= 2 ? output_bits : output_bits <= 4 ? 4 : 8; }
  std::int64_t bytes() const { return (entries() * entry_bits() + 7) / 8; }
  friend bool operator==(const NeuronTable&, const NeuronTable&) = default;
};

}  // namespace anybit::formats
