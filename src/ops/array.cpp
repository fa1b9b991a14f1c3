#include "ops/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::ops {
namespace {

// Number of elements in memory for a shape in a layout; nothing on overflow.
std::optional<std::int64_t> stored_count(const Dims& dims, Layout layout) {
  if (layout != Layout::blocked8 || dims.size() < 2) return element_count(dims);
  Dims padded = dims;
  if (padded[1] > INT64_MAX - 7) return std::nullopt;
  padded[1] = (padded[1] + 7) / 8 * 8;
  return element_count(padded);
}

// Unpacks elements of `bits` bits, low bits first, to one byte each.
void unpack(const Bytes& packed, int bits, bool is_signed, std::span<std::uint8_t> integers) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  const unsigned mask = (1u << bits) - 1u, sign = 1u << (bits - 1);
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(packed.data()[i / per_byte]);
    const unsigned code = byte >> (static_cast<unsigned>(bits) * static_cast<unsigned>(i % per_byte)) & mask;
    integers[i] = static_cast<std::uint8_t>(is_signed ? (code ^ sign) - sign : code);
  }
}

std::string pack(std::span<const std::uint8_t> integers, int bits) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  std::string packed((integers.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const unsigned code = integers[i] & ((1u << bits) - 1u);
    packed[i / per_byte] = static_cast<char>(static_cast<unsigned char>(packed[i / per_byte]) |
                                             code << static_cast<unsigned>(bits) * (i % per_byte));
  }
  return packed;
}

int small_bits(ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  return info && info->bits < 8 && type != ElementType::string ? info->bits : 0;
}

bool is_signed_small(ElementType type) { return type == ElementType::int4 || type == ElementType::int2; }

// Normalizes a byte with less than 8 significant bits: 1 for any boolean other than 0; other types keep their
// low bits, sign-extended if signed (libraries leave arbitrary upper bits).
std::uint8_t plain_byte(std::uint8_t byte, int bits, bool is_signed) {
  if (bits == 0) return byte != 0;
  const unsigned code = byte & ((1u << bits) - 1u), sign = 1u << (bits - 1);
  return static_cast<std::uint8_t>(is_signed ? (code ^ sign) - sign : code);
}

// A normalized copy of the array; nothing if it is already normalized.
Result<std::optional<Array>> plain_bytes(const Array& array, Memory& memory) {
  const int bits = small_bits(array.type());
  if (bits == 0 && array.type() != ElementType::boolean) return std::optional<Array>();
  const bool is_signed = is_signed_small(array.type());
  const auto made = [&](std::uint8_t byte) { return plain_byte(byte, bits, is_signed); };
  const auto given = array.elements<std::uint8_t>();
  if (std::ranges::equal(given, given, {}, made)) return std::optional<Array>();
  Array plain = TRY(Array::make(memory, array.type(), array.dims()));
  std::ranges::transform(given, plain.mutable_data<std::uint8_t>(), made);
  return std::optional(std::move(plain));
}

Array strings_over(std::vector<std::string> strings, const Dims& dims) {
  auto held = std::make_shared<std::vector<std::string>>(std::move(strings));
  auto* data = reinterpret_cast<std::byte*>(held->data());
  return Array::over(ElementType::string, dims, data, std::move(held));
}

}  // namespace

Array::Array(ElementType type, const Dims& dims, Layout layout)
    : type_(type), layout_(layout), dims_(dims), count_(dims.count()) {}

std::int64_t Array::stored() const {
  return layout_ == Layout::blocked8 ? stored_count(dims_, layout_).value_or(0) : count_;
}

Result<std::int64_t> array_bytes(ElementType type, const Dims& dims, Layout layout) {
  const auto count = stored_count(dims, layout);
  const auto bytes =
      count ? checked_mul(*count, static_cast<std::int64_t>(element_bytes(type))) : std::nullopt;
  if (!bytes) {
    return error_at(Code::limit_exceeded, {},
                    fmt::format("a tensor of shape {} is larger than can be addressed", to_string(dims)));
  }
  return *bytes;
}

Result<Array> Array::make(Memory& memory, ElementType type, const Dims& dims, Layout layout) {
  const std::int64_t bytes = TRY(array_bytes(type, dims, layout));
  if (type == ElementType::string) {
    return strings_over(std::vector<std::string>(static_cast<std::size_t>(dims.count())), dims);
  }
  Array array(type, dims, layout);
  array.block_ = TRY(memory.take(bytes));
  array.data_ = array.block_.data();
  return array;
}

Array Array::over(ElementType type, const Dims& dims, std::byte* data, std::shared_ptr<const void> owner,
                  Layout layout) {
  Array array(type, dims, layout);
  array.data_ = data;
  array.owner_ = std::move(owner);
  return array;
}

Result<Array> Array::from(const graph::Tensor& constant, Memory& memory) {
  if (constant.dims.size() > Dims::kCapacity) {
    return error_at(Code::unsupported, fmt::format("tensor '{}'", constant.name.str()),
                    fmt::format("rank {} cannot be run", constant.dims.size()),
                    fmt::format("at most {}", Dims::kCapacity));
  }
  const Dims dims{std::span(constant.dims)};
  if (constant.type() == ElementType::string) return strings_over(constant.strings, dims);
  if (const int bits = small_bits(constant.type())) {
    Array array = TRY(make(memory, constant.type(), dims));
    unpack(constant.data, bits, is_signed_small(constant.type()), array.elements<std::uint8_t>());
    return array;
  }
  auto held = std::make_shared<const Bytes>(
      constant.data.aligned(std::min<std::size_t>(16, element_bytes(constant.type()))));
  auto* data = const_cast<std::byte*>(held->data());  // constants are never written
  Array array = over(constant.type(), dims, data, std::move(held));
  auto plain = TRY(plain_bytes(array, memory));
  return plain ? *std::move(plain) : array;
}

Result<std::optional<Datum>> mended(const Datum& given, Memory& memory) {
  if (given.is_array()) {
    auto plain = TRY(plain_bytes(given.array, memory));
    return plain ? std::optional<Datum>(*std::move(plain)) : std::nullopt;
  }
  std::shared_ptr<Sequence> copy;
  for (std::size_t i = 0; given.is_sequence() && i < given.sequence->items.size(); ++i) {
    auto item = TRY(mended(given.sequence->items[i], memory));
    if (!item) continue;
    if (!copy) copy = std::make_shared<Sequence>(*given.sequence);
    copy->items[i] = *std::move(item);
  }
  return copy ? std::optional<Datum>(std::shared_ptr<const Sequence>(std::move(copy))) : std::nullopt;
}

graph::Tensor Array::to_constant() const {
  graph::Tensor tensor;
  tensor.element = static_cast<std::int32_t>(type_);
  tensor.dims.assign(dims_.begin(), dims_.end());
  if (type_ == ElementType::string) {
    tensor.strings.assign(data<std::string>(), data<std::string>() + count_);
    tensor.storage = graph::Storage::typed;
  } else if (const int bits = small_bits(type_)) {
    tensor.data = Bytes::own(pack(elements<std::uint8_t>(), bits));
  } else if (owned()) {
    tensor.data = Bytes(std::make_shared<const Array>(*this), {data_, byte_count()});
  } else {
    tensor.data = Bytes::own(std::string(reinterpret_cast<const char*>(data_), byte_count()));
  }
  return tensor;
}

Array Array::reshaped(const Dims& dims) const {
  Array array = *this;
  array.dims_ = dims;
  array.count_ = dims.count();
  return array;
}

Result<Array> Array::copy(Memory& memory) const {
  if (type_ == ElementType::string) {
    return strings_over(std::vector<std::string>(data<std::string>(), data<std::string>() + count_), dims_);
  }
  Array array = TRY(make(memory, type_, dims_, layout_));
  if (byte_count() > 0) std::memcpy(array.mutable_bytes(), data_, byte_count());
  return array;
}

std::string to_string(const Array& array) { return graph::name_of(array.type()) + to_string(array.dims()); }

std::string to_string(const Datum& datum) {
  if (datum.is_array()) return to_string(datum.array);
  if (datum.is_sequence()) return fmt::format("a sequence of {}", datum.sequence->items.size());
  return "nothing";
}

}  // namespace anybit::ops
