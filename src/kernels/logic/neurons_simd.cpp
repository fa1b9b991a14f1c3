// Three ways to look neurons up. Many rows, small tables: a vector holds one bit of 256 rows, and a table is
// a tree of selections, the same for all of them. Many rows: a vector holds addresses of one neuron in
// several rows. One row: a vector holds the addresses of several neurons.
#include "kernels/logic/neurons.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/gemm/gemm_scratch.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/logic/neurons_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DB = hn::ScalableTag<std::uint8_t>;
using VB = hn::Vec<DB>;

inline constexpr std::int64_t kPlane = Neurons::kBlock / 8;  // bytes of one bit of all rows
inline constexpr std::int64_t kChunk = 64;                   // neurons whose results are unpacked together

// Bit `bit` of 8 rows, a byte for each column.
HWY_INLINE void ColumnBits(const std::uint8_t* x, std::int64_t columns, std::int64_t rows, int bit,
                           std::uint8_t* to) {
  const DB d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VB mask = hn::Set(d, static_cast<std::uint8_t>(1u << bit));
  std::int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    VB all = hn::Zero(d);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto set = hn::TestBit(hn::LoadU(d, x + r * columns + c), mask);
      all = hn::Or(all, hn::IfThenElseZero(set, hn::Set(d, static_cast<std::uint8_t>(1u << r))));
    }
    hn::StoreU(all, d, to + c);
  }
  for (; c < columns; ++c) {
    unsigned all = 0;
    for (std::int64_t r = 0; r < rows; ++r) all |= (x[r * columns + c] >> bit & 1u) << r;
    to[c] = static_cast<std::uint8_t>(all);
  }
}

// planes[1 + input][bit] holds that bit of all rows; planes[0] is the constant 0.
HWY_INLINE void MakePlanes(const std::uint8_t* x, std::int64_t inputs, std::int64_t rows, int bits,
                           std::uint8_t* planes, std::uint8_t* columns) {
  std::memset(planes, 0, static_cast<std::size_t>((inputs + 1) * bits * kPlane));
  for (std::int64_t first = 0; first < rows; first += 8) {
    for (int bit = 0; bit < bits; ++bit) {
      ColumnBits(x + first * inputs, inputs, std::min<std::int64_t>(8, rows - first), bit, columns);
      std::uint8_t* to = planes + (bits + bit) * kPlane + first / 8;
      for (std::int64_t c = 0; c < inputs; ++c) to[c * bits * kPlane] = columns[c];
    }
  }
}

// The selections of one table at one vector of rows.
struct Selection {
  const std::uint8_t* functions;  // of the two lowest address bits: 16 vectors
  const VB* address;              // the address bits

  HWY_INLINE VB Leaf(std::uint8_t nibble) const {
    const DB d;
    return hn::Load(d, functions + nibble * hn::Lanes(d));
  }
  HWY_INLINE VB Select(VB no, VB yes, int bit) const {
    return hn::Xor(no, hn::And(hn::Xor(no, yes), address[bit]));
  }
  template <int kBits>
  HWY_INLINE VB Tree(const std::uint8_t* nibbles) const {
    if constexpr (kBits == 2) {
      return Leaf(*nibbles);
    } else {
      return Select(Tree<kBits - 1>(nibbles), Tree<kBits - 1>(nibbles + (1 << (kBits - 3))), kBits - 1);
    }
  }
  VB Any(const std::uint8_t* nibbles, int bits) const {
    if (bits <= 2) return Tree<2>(nibbles);
    if (bits == 3) return Tree<3>(nibbles);
    if (bits == 4) return Tree<4>(nibbles);
    if (bits == 5) return Tree<5>(nibbles);
    if (bits == 6) return Tree<6>(nibbles);
    return Select(Any(nibbles, bits - 1), Any(nibbles + (1 << (bits - 3)), bits - 1), bits - 1);
  }
};

// All 16 functions of two bits: bit i of a function's number is its value where the bits make the number i.
HWY_INLINE void MakeFunctions(VB a, VB b, std::uint8_t* functions) {
  const DB d;
  const VB terms[4] = {hn::Not(hn::Or(a, b)), hn::AndNot(b, a), hn::AndNot(a, b), hn::And(a, b)};
  hn::Store(hn::Zero(d), d, functions);
  for (std::size_t i = 1; i < 16; ++i) {
    const std::size_t low = i & (i - 1), last = i ^ low;  // `last`: the lowest bit that is set
    const std::size_t term = last == 1 ? 0 : last == 2 ? 1 : last == 4 ? 2 : 3;
    hn::Store(hn::Or(hn::Load(d, functions + low * hn::Lanes(d)), terms[term]), d,
              functions + i * hn::Lanes(d));
  }
}

// The result bits of one neuron.
HWY_INLINE void OneNeuron(const Neurons& of, std::int64_t neuron, const std::uint8_t* planes,
                          std::uint8_t* to) {
  const DB d;
  const NeuronShape& shape = of.shape();
  const std::int64_t neurons = shape.neurons();
  const int bits = shape.address_bits();
  const std::uint8_t* at[kMostAddressBits];
  for (int i = 0; i < shape.fan_in; ++i) {
    const std::uint8_t* input = planes + of.taps()[i * neurons + neuron] * shape.input_bits * kPlane;
    for (int bit = 0; bit < shape.input_bits; ++bit) at[i * shape.input_bits + bit] = input + bit * kPlane;
  }
  HWY_ALIGN std::uint8_t functions[16 * HWY_MAX_BYTES];
  VB address[kMostAddressBits];
  for (std::int64_t i = 0; i < kPlane; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    for (int bit = 0; bit < bits; ++bit) address[bit] = hn::LoadU(d, at[bit] + i);
    MakeFunctions(address[0], bits > 1 ? address[1] : hn::Zero(d), functions);
    const Selection selection{functions, address};
    for (int bit = 0; bit < shape.output_bits; ++bit) {
      const VB y = selection.Any(of.nibbles(neuron / shape.repeats, bit), bits);
      hn::StoreU(y, d, to + bit * kPlane + i);
    }
  }
}

// Results of `count` neurons (at most kChunk) for 8 rows, from their bits: bits[bit][neuron].
HWY_INLINE void StoreResults(const std::uint8_t* bits, const NeuronShape& shape, std::int64_t count,
                             std::int64_t rows, std::uint8_t* y) {
  const DB d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VB sign = hn::Set(d, static_cast<std::uint8_t>(shape.is_signed ? 1u << (shape.output_bits - 1) : 0));
  HWY_ALIGN std::uint8_t part[HWY_MAX_BYTES];
  for (std::int64_t r = 0; r < rows; ++r) {
    const VB mask = hn::Set(d, static_cast<std::uint8_t>(1u << r));
    for (std::int64_t c = 0; c < count; c += lanes) {
      VB all = hn::Zero(d);
      for (int bit = 0; bit < shape.output_bits; ++bit) {
        const auto set = hn::TestBit(hn::LoadU(d, bits + bit * kChunk + c), mask);
        all = hn::Or(all, hn::IfThenElseZero(set, hn::Set(d, static_cast<std::uint8_t>(1u << bit))));
      }
      all = hn::Sub(hn::Xor(all, sign), sign);
      std::uint8_t* to = y + r * shape.neurons() + c;
      if (c + lanes <= count) {
        hn::StoreU(all, d, to);
      } else {
        hn::Store(all, d, part);
        std::memcpy(to, part, static_cast<std::size_t>(count - c));
      }
    }
  }
}

void SlicedNeurons(const Neurons& of, const std::uint8_t* x, std::int64_t inputs, std::int64_t rows,
                   std::uint8_t* y, std::uint8_t* scratch) {
  const NeuronShape& shape = of.shape();
  std::uint8_t* planes = scratch;
  std::uint8_t* results = planes + (inputs + 1) * shape.input_bits * kPlane;
  std::uint8_t* columns = results + kChunk * shape.output_bits * kPlane;
  std::uint8_t* bits = columns + inputs;
  MakePlanes(x, inputs, rows, shape.input_bits, planes, columns);
  std::memset(bits, 0, static_cast<std::size_t>(8 * kChunk));
  for (std::int64_t first = 0; first < shape.neurons(); first += kChunk) {
    const std::int64_t count = std::min(kChunk, shape.neurons() - first);
    for (std::int64_t n = 0; n < count; ++n)
      OneNeuron(of, first + n, planes, results + n * shape.output_bits * kPlane);
    for (std::int64_t row = 0; row < rows; row += 8) {
      for (int bit = 0; bit < shape.output_bits; ++bit) {
        for (std::int64_t n = 0; n < count; ++n)
          bits[bit * kChunk + n] = results[(n * shape.output_bits + bit) * kPlane + row / 8];
      }
      StoreResults(bits, shape, count, std::min<std::int64_t>(8, rows - row),
                   y + row * shape.neurons() + first);
    }
  }
}

// Neurons [first, last) that share a table, from `values`: 0, then the inputs.
HWY_INLINE std::int64_t ManyOfRow(const Neurons& of, const std::int32_t* values, std::int64_t first,
                                  std::int64_t last, std::uint8_t* y) {
#if HWY_TARGET == HWY_SCALAR
  (void)of, (void)values, (void)last, (void)y;
  return first;
#else
  const hn::ScalableTag<std::int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<std::uint8_t, decltype(d)> db;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const NeuronShape& shape = of.shape();
  const std::int64_t neurons = shape.neurons();
  const auto table_words = hn::Set(d, static_cast<std::int32_t>(of.table_words()));
  const auto* words = reinterpret_cast<const std::int32_t*>(of.words());
  const auto sign = hn::Set(d, shape.is_signed ? 1 << (shape.output_bits - 1) : 0);
  const auto value = hn::Set(d, (1 << shape.output_bits) - 1);
  const auto position = hn::Set(d, 31);
  const int shift = shape.entry_bits() == 1   ? 0
                    : shape.entry_bits() == 2 ? 1
                    : shape.entry_bits() == 4 ? 2
                                              : 3;
  std::int64_t n = first;
  for (; n + lanes <= last; n += lanes) {
    auto address = hn::Zero(d);
    for (int i = shape.fan_in - 1; i >= 0; --i) {
      const auto taps = hn::LoadU(d, of.taps() + i * neurons + n);
      address = hn::Or(hn::ShiftLeftSame(address, shape.input_bits), hn::GatherIndex(d, values, taps));
    }
    const auto bit = hn::ShiftLeftSame(address, shift);
    // The tables of lanes are n, n + 1, … if none repeats; otherwise the caller passes neurons of one table.
    const auto tables = shape.repeats == 1 ? hn::Iota(d, static_cast<std::int32_t>(n))
                                           : hn::Set(d, static_cast<std::int32_t>(n / shape.repeats));
    const auto word = hn::Add(hn::Mul(tables, table_words), hn::ShiftRight<5>(bit));
    const auto found = hn::BitCast(du, hn::GatherIndex(d, words, word));
    auto y32 = hn::And(hn::BitCast(d, hn::Shr(found, hn::BitCast(du, hn::And(bit, position)))), value);
    y32 = hn::Sub(hn::Xor(y32, sign), sign);
    const auto low = hn::And(y32, hn::Set(d, 255));
    hn::StoreU(hn::DemoteTo(db, low), db, y + n);
  }
  return n;
#endif
}

HWY_INLINE void SomeOfRow(const Neurons& of, const std::int32_t* values, std::int64_t first,
                          std::int64_t last, std::uint8_t* y) {
  const NeuronShape& shape = of.shape();
  const int bits = shape.entry_bits();
  const std::int32_t sign = shape.is_signed ? 1 << (shape.output_bits - 1) : 0;
  for (std::int64_t n = ManyOfRow(of, values, first, last, y); n < last; ++n) {
    std::int64_t address = 0;
    for (int i = shape.fan_in - 1; i >= 0; --i)
      address = address << shape.input_bits | values[of.taps()[i * shape.neurons() + n]];
    const std::int64_t bit = address * bits;
    const std::uint32_t word = of.words()[n / shape.repeats * of.table_words() + bit / 32];
    const auto entry = static_cast<std::int32_t>(word >> (bit % 32) & ((1u << shape.output_bits) - 1));
    y[n] = static_cast<std::uint8_t>((entry ^ sign) - sign);
  }
}

// 0, then the inputs without the bits that do not count.
HWY_INLINE void ExpandRow(const std::uint8_t* x, std::int64_t inputs, int bits, std::int32_t* values) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> db;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int32_t mask = (1 << bits) - 1;
  values[0] = 0;
  std::int64_t i = 0;
  for (; i + lanes <= inputs; i += lanes)
    hn::StoreU(hn::And(hn::PromoteTo(d, hn::LoadU(db, x + i)), hn::Set(d, mask)), d, values + 1 + i);
  for (; i < inputs; ++i) values[1 + i] = x[i] & mask;
}

void NeuronsOfRow(const Neurons& of, const std::uint8_t* x, std::int64_t inputs, std::int64_t first,
                  std::int64_t last, std::uint8_t* y, std::int32_t* values) {
  const NeuronShape& shape = of.shape();
  ExpandRow(x, inputs, shape.input_bits, values);
  if (shape.repeats == 1) {
    SomeOfRow(of, values, first, last, y);
    return;
  }
  while (first < last) {
    const std::int64_t end = std::min(last, (first / shape.repeats + 1) * shape.repeats);
    SomeOfRow(of, values, first, end, y);
    first = end;
  }
}

// The addresses of one neuron in all rows of a group, from columns[1 + input][row].
HWY_INLINE void AddressesOf(const Neurons& of, std::int64_t neuron, const std::uint8_t* columns,
                            std::uint16_t* addresses) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> db;
  const NeuronShape& shape = of.shape();
  const std::int32_t* taps = of.taps() + neuron;
  for (std::int64_t r = 0; r < Neurons::kGroup; r += static_cast<std::int64_t>(hn::Lanes(d))) {
    auto all = hn::Zero(d);
    for (int i = shape.fan_in - 1; i >= 0; --i) {
      const auto one = hn::LoadU(db, columns + taps[i * shape.neurons()] * Neurons::kGroup + r);
      all = hn::Or(hn::ShiftLeftSame(all, shape.input_bits), hn::PromoteTo(d, one));
    }
    hn::StoreU(all, d, addresses + r);
  }
}

void GroupedNeurons(const Neurons& of, const std::uint8_t* x, std::int64_t inputs, std::int64_t rows,
                    std::uint8_t* y, std::uint8_t* columns) {
  const NeuronShape& shape = of.shape();
  const std::int64_t neurons = shape.neurons();
  const auto mask = static_cast<std::uint8_t>((1 << shape.input_bits) - 1);
  std::memset(columns, 0, static_cast<std::size_t>((inputs + 1) * Neurons::kGroup));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < inputs; ++c)
      columns[(c + 1) * Neurons::kGroup + r] = x[r * inputs + c] & mask;
  }
  const std::uint32_t bits = static_cast<std::uint32_t>(shape.entry_bits());
  const std::uint32_t most = (1u << shape.output_bits) - 1;
  const std::uint32_t sign = shape.is_signed ? 1u << (shape.output_bits - 1) : 0;
  std::uint16_t addresses[Neurons::kGroup];
  for (std::int64_t n = 0; n < neurons; ++n) {
    AddressesOf(of, n, columns, addresses);
    const std::uint32_t* table = of.words() + n / shape.repeats * of.table_words();
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint32_t bit = addresses[r] * bits;
      y[r * neurons + n] = static_cast<std::uint8_t>(((table[bit / 32] >> (bit % 32) & most) ^ sign) - sign);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(SlicedNeurons);
HWY_EXPORT(NeuronsOfRow);
HWY_EXPORT(GroupedNeurons);

void Neurons::run_sliced(const std::uint8_t* x, std::int64_t inputs, std::int64_t rows,
                         std::uint8_t* y) const {
  constexpr std::int64_t kPlaneBytes = kBlock / 8, kMostChunk = 64, kRoom = 2 * HWY_MAX_BYTES;
  const std::int64_t bytes = (inputs + 1) * shape_.input_bits * kPlaneBytes +
                             kMostChunk * shape_.output_bits * kPlaneBytes + inputs + 8 * kMostChunk + kRoom;
  HWY_DYNAMIC_DISPATCH(SlicedNeurons)
  (*this, x, inputs, rows, y, reinterpret_cast<std::uint8_t*>(gemm_scratch(bytes)));
}

void Neurons::run_group(const std::uint8_t* x, std::int64_t inputs, std::int64_t rows,
                        std::uint8_t* y) const {
  auto* columns = reinterpret_cast<std::uint8_t*>(gemm_scratch((inputs + 1) * kGroup));
  HWY_DYNAMIC_DISPATCH(GroupedNeurons)(*this, x, inputs, rows, y, columns);
}

void Neurons::run_row(const std::uint8_t* x, std::int64_t inputs, std::int64_t first, std::int64_t last,
                      std::uint8_t* y) const {
  auto* values = reinterpret_cast<std::int32_t*>(gemm_scratch((inputs + 1) * 4));
  HWY_DYNAMIC_DISPATCH(NeuronsOfRow)(*this, x, inputs, first, last, y, values);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
