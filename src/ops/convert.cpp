#include "ops/convert.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/float16.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

// Every type is read, block by block, into one of four types that hold all its values, and written from
// there.
constexpr std::int64_t kRun = 512;
enum class Wide : std::uint8_t { none, float_, double_, signed_, unsigned_ };

Wide wide_of(ElementType type) {
  switch (type) {
    case float64:
      return Wide::double_;
    case int8:
    case int16:
    case int32:
    case int64:
    case int4:
    case int2:
      return Wide::signed_;
    case uint8:
    case uint16:
    case uint32:
    case uint64:
    case uint4:
    case uint2:
    case boolean:
      return Wide::unsigned_;
    case float32:
    case float16:
    case bfloat16:
      return Wide::float_;
    default:
      return small_float_values(type) ? Wide::float_ : Wide::none;
  }
}

int small_bits(ElementType type) {
  return type == int4 || type == uint4 ? 4 : type == int2 || type == uint2 ? 2 : 0;
}

// The storage type: 2- and 4-bit integers take a byte each.
ElementType stored_as(ElementType type) {
  return type == int4 || type == int2 ? int8 : type == uint4 || type == uint2 ? uint8 : type;
}

template <class W, class T>
void widen(const T* in, W* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<W>(static_cast<Computed<T>>(in[i]));
}

// Clears the unused upper bits, in which callers may leave anything.
std::uint8_t cleaned(ElementType type, std::uint8_t code) {
  const int unused = 8 - small_bits(type);
  const auto top = static_cast<std::uint8_t>(code << unused);
  return static_cast<std::uint8_t>(stored_as(type) == int8 ? static_cast<std::int8_t>(top) >> unused
                                                           : top >> unused);
}

bool is_half(ElementType type) { return type == float16 || type == bfloat16; }

void read_float16(ElementType type, const std::byte* in, float* out, std::int64_t n) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(in);
  const auto count = static_cast<std::size_t>(n);
  type == float16 ? kernels::from_float16(bits, out, count) : kernels::from_bfloat16(bits, out, count);
}

void write_float16(ElementType type, const float* in, std::byte* out, std::int64_t n) {
  auto* bits = reinterpret_cast<std::uint16_t*>(out);
  const auto count = static_cast<std::size_t>(n);
  type == float16 ? kernels::to_float16(in, bits, count) : kernels::to_bfloat16(in, bits, count);
}

template <class W>
void read(ElementType type, const std::byte* in, W* out, std::int64_t n) {
  if constexpr (std::is_same_v<W, float>) {
    if (is_half(type)) return read_float16(type, in, out, n);
  }
  if (small_float_values(type)) {
    const std::span codes(reinterpret_cast<const std::uint8_t*>(in), static_cast<std::size_t>(n));
    // These types are always read as float: see wide_of().
    if constexpr (std::is_same_v<W, float>) decode_small_floats(type, codes, out);
  } else if (type == boolean) {
    widen(reinterpret_cast<const bool*>(in), out, n);
  } else if (small_bits(type)) {
    const auto* codes = reinterpret_cast<const std::uint8_t*>(in);
    const bool is_signed = stored_as(type) == int8;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint8_t code = cleaned(type, codes[i]);
      out[i] = is_signed ? static_cast<W>(static_cast<std::int8_t>(code)) : static_cast<W>(code);
    }
  } else {
    for_number(type, [&]<class T>(T) { widen(reinterpret_cast<const T*>(in), out, n); });
  }
}

template <class T, class W>
T narrowed(W x) {
  if constexpr (std::is_integral_v<T> && !std::is_integral_v<W>) {
    return to_integral<T>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<T, Float16> && !std::is_same_v<W, float>) {
    return Float16(static_cast<double>(x));  // rounded once
  } else {
    return static_cast<T>(static_cast<Computed<T>>(x));
  }
}

template <class W>
void write(ElementType type, const W* in, std::byte* out, std::int64_t n, const ConvertOptions& options) {
  if constexpr (std::is_same_v<W, float>) {
    if (is_half(type)) return write_float16(type, in, out, n);
  }
  if (small_float_values(type)) {
    float reals[kRun];
    std::transform(in, in + n, reals, [](W x) { return static_cast<float>(x); });
    encode_small_floats(type, std::span(reals, static_cast<std::size_t>(n)),
                        reinterpret_cast<std::uint8_t*>(out), options);
  } else if (type == boolean) {
    for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<bool*>(out)[i] = in[i] != W(0);
  } else if (small_bits(type)) {
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = static_cast<std::byte>(cleaned(type, narrowed<std::uint8_t>(in[i])));
  } else {
    for_number(type, [&]<class T>(T) {
      auto* to = reinterpret_cast<T*>(out);
      for (std::int64_t i = 0; i < n; ++i) to[i] = narrowed<T>(in[i]);
    });
  }
}

template <class W>
void through(ElementType from, const std::byte* in, ElementType to, std::byte* out, std::int64_t n,
             const ConvertOptions& options) {
  const auto in_size = static_cast<std::int64_t>(element_bytes(from));
  const auto out_size = static_cast<std::int64_t>(element_bytes(to));
  W run[kRun];
  for (std::int64_t i = 0; i < n; i += kRun) {
    const std::int64_t m = std::min(kRun, n - i);
    read(from, in + i * in_size, run, m);
    write(to, run, out + i * out_size, m, options);
  }
}

}  // namespace

bool is_convertible(ElementType type) { return wide_of(type) != Wide::none; }

bool convert(ElementType from, const std::byte* in, ElementType to, std::byte* out, std::int64_t n,
             const ConvertOptions& options) {
  if (!is_convertible(to)) return false;
  if (from == to) {
    if (in != out && n > 0) std::memcpy(out, in, static_cast<std::size_t>(n) * element_bytes(from));
    return true;
  }
  if (from == float32 && is_half(to))
    return write_float16(to, reinterpret_cast<const float*>(in), out, n), true;
  if (to == float32 && is_half(from)) return read_float16(from, in, reinterpret_cast<float*>(out), n), true;
  switch (wide_of(from)) {
    case Wide::float_:
      return through<float>(from, in, to, out, n, options), true;
    case Wide::double_:
      return through<double>(from, in, to, out, n, options), true;
    case Wide::signed_:
      return through<std::int64_t>(from, in, to, out, n, options), true;
    case Wide::unsigned_:
      return through<std::uint64_t>(from, in, to, out, n, options), true;
    case Wide::none:
      break;
  }
  return false;
}

}  // namespace anybit::ops
