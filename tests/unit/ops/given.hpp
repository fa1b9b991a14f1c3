// Random tensors: any type, any shape, several kinds of elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ops/frame.hpp"
#include "plain_frame.hpp"

namespace anybit::ops::testing {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t next() { return bits_(); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits_() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class List>
  const auto& of(const List& list) {
    return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

 private:
  std::mt19937_64 bits_;
};

// The kinds of elements.
enum class Contents : std::uint8_t { quarters, indices, small, extremes, bytes, ones, zeros, same };

struct Given {
  Datum::Kind kind = Datum::Kind::array;
  bool absent = false;  // no name at all
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> dims;
  bool constant = false;
  Layout layout = Layout::plain;
  Contents contents = Contents::quarters;
  std::uint64_t seed = 0;
  double value = 0;  // of every element, if they are the same
};

inline double element(Contents contents, Chance& chance) {
  static constexpr double kExtremes[] = {0,     -0.0,     1,         -1,  127,    255,     1e30, -1e30,
                                         1e300, INFINITY, -INFINITY, NAN, 0x1p31, -0x1p63, 1e-40};
  switch (contents) {
    case Contents::quarters:
      return (static_cast<double>(chance.below(17)) - 8) / 4;
    case Contents::indices:
      return static_cast<double>(chance.below(4));
    case Contents::small:
      return static_cast<double>(chance.below(7)) - 3;
    case Contents::extremes:
      return chance.of(kExtremes);
    case Contents::ones:
      return 1;
    default:
      return 0;
  }
}

template <class T>
T saturated(double value) {
  if (std::isnan(value)) return T(0);
  const auto least = static_cast<double>(std::numeric_limits<T>::min());
  const auto most = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= least) return std::numeric_limits<T>::min();
  return value >= most ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

inline void fill_strings(Array& array, Chance& chance) {
  static const std::string kWords[] = {"",    "a", "b",    "ab",   "1",      "-2.5", "nan",
                                       "1e9", "é", "\xff", "INF ", "a b  c", "0x10", "word"};
  for (std::string& one : array.elements<std::string>()) one = chance.of(kWords);
}

// Random bit patterns; a 2- or 4-bit value takes a byte.
inline void fill_bytes(Array& array, Chance& chance) {
  const graph::ElementTypeInfo* info = graph::find(array.type());
  const int bits = info && info->bits < 8 ? info->bits : 8;
  const bool is_signed = array.type() == ElementType::int4 || array.type() == ElementType::int2;
  const std::span bytes(array.mutable_bytes(), array.byte_count());
  for (std::byte& one : bytes) {
    const auto code = static_cast<int>(chance.below(std::size_t{1} << bits));
    one = static_cast<std::byte>(array.type() == ElementType::boolean ? code & 1
                                 : is_signed                          ? code - (1 << (bits - 1))
                                                                      : code);
  }
}

inline void fill(Array& array, const Given& given) {
  const Contents contents = given.contents;
  Chance chance(given.seed);
  if (array.type() == ElementType::string) return fill_strings(array, chance);
  const bool real = for_real(array.type(), [&]<class T>(T) {
    if (contents == Contents::bytes) return fill_bytes(array, chance);
    for (T& one : array.elements<T>()) {
      const double value = contents == Contents::same ? given.value : element(contents, chance);
      if constexpr (std::is_same_v<T, BFloat16>)
        one = T(static_cast<float>(value));
      else
        one = T(value);
    }
  });
  if (real) return;
  const bool integer = for_integer(array.type(), [&]<class T>(T) {
    if (contents == Contents::bytes) return fill_bytes(array, chance);
    for (T& one : array.elements<T>())
      one = saturated<T>(contents == Contents::same ? given.value : element(contents, chance));
  });
  if (!integer) fill_bytes(array, chance);
}

inline Array array_of(const Given& given) {
  const Dims dims{std::span<const std::int64_t>(given.dims)};
  Array plain = exact_array(given.type, dims).value();
  fill(plain, given);
  if (given.layout == Layout::plain) return plain;
  Array other = exact_array(given.type, dims, given.layout).value();
  convert_layout(plain, other);
  return other;
}

inline Datum datum_of(const Given& given) {
  if (given.absent || given.kind == Datum::Kind::nothing) return {};
  if (given.kind == Datum::Kind::array) return array_of(given);
  auto sequence = std::make_shared<Sequence>();
  sequence->element = given.type;
  for (std::uint64_t i = 0; i < given.seed % 4; ++i) {
    Given item = given;
    item.seed += i;
    if (i == 2 && !item.dims.empty()) item.dims.back() = 1;
    sequence->items.emplace_back(array_of(item));
  }
  return std::shared_ptr<const Sequence>(std::move(sequence));
}

}  // namespace anybit::ops::testing
