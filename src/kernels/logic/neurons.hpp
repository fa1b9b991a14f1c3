// Neurons as truth tables: each has few inputs of few bits, and looks its result up. docs/logic.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/neuron_table.hpp"

namespace anybit::kernels {

struct NeuronShape : formats::NeuronTable {
  std::int64_t tables = 0, repeats = 0;  // neuron t · repeats + r has table t
  std::int64_t neurons() const { return tables * repeats; }
};

using formats::kMostAddressBits;
inline constexpr std::int32_t kNoInput = -1;  // a connection to the constant 0

// The tables and connections of a layer, as the loops read them.
class Neurons {
 public:
  // `connections`: [neurons, fan_in], numbers of inputs or kNoInput. `tables`: [tables, shape.bytes()].
  Neurons(const NeuronShape& shape, std::span<const std::int32_t> connections,
          std::span<const std::uint8_t> tables);

  const NeuronShape& shape() const { return shape_; }
  std::int64_t bytes() const;
  // Inputs that a row must have: 1 + the largest number of a connection.
  std::int64_t inputs() const { return inputs_; }

  // Rows that are computed together: a bit of each in a vector, or an address of each. 1: row by row.
  std::int64_t together(std::int64_t rows) const {
    return rows < kFewestRows ? 1 : nibbles_.empty() ? kGroup : kBlock;
  }
  static constexpr std::int64_t kBlock = 256, kGroup = 32, kFewestRows = 8;

  // x: [rows, inputs] bytes, of which the lowest input_bits count; y: [rows, neurons]. At most kBlock rows,
  // if together() is that.
  void run_sliced(const std::uint8_t* x, std::int64_t inputs, std::int64_t rows, std::uint8_t* y) const;
  // At most kGroup rows.
  void run_group(const std::uint8_t* x, std::int64_t inputs, std::int64_t rows, std::uint8_t* y) const;
  // Neurons [first, last) of one row.
  void run_row(const std::uint8_t* x, std::int64_t inputs, std::int64_t first, std::int64_t last,
               std::uint8_t* y) const;

  // For the loops.
  const std::int32_t* taps() const { return taps_.data(); }
  const std::uint32_t* words() const { return words_.data(); }
  std::int64_t table_words() const { return table_words_; }
  const std::uint8_t* nibbles(std::int64_t table, int bit) const {
    return nibbles_.data() + (table * shape_.output_bits + bit) * table_nibbles();
  }

 private:
  std::int64_t table_nibbles() const {
    return shape_.address_bits() <= 2 ? 1 : std::int64_t{1} << (shape_.address_bits() - 2);
  }
  void slice(std::span<const std::uint8_t> tables);

  NeuronShape shape_;
  std::int64_t inputs_ = 0, table_words_ = 0;
  std::vector<std::int32_t> taps_;     // [fan_in][neurons]: 1 + the number of the input; 0: the constant 0
  std::vector<std::uint32_t> words_;   // [tables][table_words]: the entries
  std::vector<std::uint8_t> nibbles_;  // [tables][output_bits][entries / 4]: a bit of 4 entries each
};

}  // namespace anybit::kernels
