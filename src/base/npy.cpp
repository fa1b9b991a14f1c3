#include "base/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/mapped_file.hpp"
#include "base/npy_header.hpp"
#include "base/try.hpp"
#include "base/utf.hpp"

namespace anybit {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::int64_t kLongestText = 1 << 24;

struct Type {
  std::string_view name;
  char kind;
  std::size_t size;
};
constexpr std::array<Type, 12> kTypes = {{{"float16", 'f', 2},
                                          {"float32", 'f', 4},
                                          {"float64", 'f', 8},
                                          {"int8", 'i', 1},
                                          {"int16", 'i', 2},
                                          {"int32", 'i', 4},
                                          {"int64", 'i', 8},
                                          {"uint8", 'u', 1},
                                          {"uint16", 'u', 2},
                                          {"uint32", 'u', 4},
                                          {"uint64", 'u', 8},
                                          {"bool", 'b', 1}}};

const Type* type_named(std::string_view name) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

Error malformed(std::string message) { return error_at(Code::malformed, {}, std::move(message)); }

struct Parts {
  NpyHeader header;
  Bytes data;
};

Result<Parts> split(const Bytes& bytes) {
  const std::string_view text = bytes.text();
  if (!text.starts_with(kMagic) || text.size() < 10) {
    return error_at(Code::malformed, {}, "not a .npy file", "numpy.save writes such files");
  }
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) {
    return error_at(Code::unsupported, {}, fmt::format(".npy version {} is not known", version), "1 to 3");
  }
  const std::size_t before = version == 1 ? 10 : 12;
  if (text.size() < before) return malformed("the .npy file ends within its header");
  const std::size_t length =
      version == 1 ? bytes.part(8, 2).at<std::uint16_t>(0) : bytes.part(8, 4).at<std::uint32_t>(0);
  if (length > kLongestHeader) {
    return error_at(Code::limit_exceeded, {}, fmt::format("a .npy header of {} bytes is too long", length));
  }
  if (text.size() - before < length) return malformed("the .npy file ends within its header");
  return Parts{TRY(parse_npy_header(text.substr(before, length))),
               bytes.part(before + length, text.size() - before - length)};
}

void swap_bytes(std::span<std::byte> data, std::size_t size) {
  for (std::size_t at = 0; at + size <= data.size(); at += size) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
}

// Converts column-major to row-major.
std::vector<std::byte> reordered(std::span<const std::byte> data, const std::vector<std::int64_t>& dims,
                                 std::size_t size) {
  std::vector<std::byte> out(data.size());
  std::vector<std::int64_t> at(dims.size(), 0), stride(dims.size());
  std::int64_t step = 1, from = 0;
  for (std::size_t d = 0; d < dims.size(); step *= dims[d++]) stride[d] = step;
  for (std::size_t to = 0; to < out.size(); to += size) {
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(from) * size), size,
                out.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t d = dims.size(); d-- > 0;) {
      from += stride[d];
      if (++at[d] < dims[d]) break;
      from -= dims[d] * stride[d];
      at[d] = 0;
    }
  }
  return out;
}

Result<Array> parse_text(const NpyHeader& header, const Bytes& data) {
  if (!header.shape.empty() || header.size > kLongestText) {
    return error_at(Code::unsupported, {}, "an array of strings is not supported, only a single string",
                    "a .pb file of ONNX (onnx.numpy_helper.from_array) can hold one");
  }
  const auto length = static_cast<std::size_t>(header.size);
  if (data.size() != 4 * length) return malformed("the size of the .npy file does not match its string");
  std::u32string text;
  for (std::size_t i = 0; i < length; ++i) {
    const auto c = data.at<std::uint32_t>(i);
    text.push_back(static_cast<char32_t>(header.order == '>' ? __builtin_bswap32(c) : c));
  }
  text.erase(text.find_last_not_of(U'\0') + 1);  // NumPy pads with zeros
  const auto utf8 = to_utf8(text);
  if (!utf8) return malformed("the text is not Unicode");
  return Array::from_text(*utf8);
}

// Exact conversion from half precision.
float float_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31)
    return std::bit_cast<float>((half & 0x8000u) << 16 | 0x7F800000u | static_cast<unsigned>(mantissa) << 13);
  return sign * std::ldexp(static_cast<float>(exponent == 0 ? mantissa : mantissa + 1024),
                           std::max(exponent, 1) - 25);
}

template <class From>
std::vector<float> converted(const Bytes& data) {
  std::vector<float> out(data.size() / sizeof(From));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(data.at<From>(i));
  return out;
}

std::vector<float> floats_of(std::string_view type, const Bytes& data) {
  if (type == "float32") return converted<float>(data);
  if (type == "float64") return converted<double>(data);
  if (type == "int8") return converted<std::int8_t>(data);
  if (type == "int16") return converted<std::int16_t>(data);
  if (type == "int32") return converted<std::int32_t>(data);
  if (type == "int64") return converted<std::int64_t>(data);
  if (type == "uint8" || type == "bool") return converted<std::uint8_t>(data);
  if (type == "uint16") return converted<std::uint16_t>(data);
  if (type == "uint32") return converted<std::uint32_t>(data);
  if (type == "uint64") return converted<std::uint64_t>(data);
  std::vector<float> out(data.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = float_of_half(data.at<std::uint16_t>(i));
  return out;
}

}  // namespace

Result<Array> parse_npy(const Bytes& bytes, std::shared_ptr<const MappedFile> file) {
  const auto [header, data] = TRY(split(bytes));
  if (header.kind == 'U') return parse_text(header, data);
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&h = header](const Type& t) {
    return t.kind == h.kind && static_cast<std::int64_t>(t.size) == h.size;
  });
  if (type == kTypes.end()) {
    return error_at(
        Code::unsupported, {},
        fmt::format("values of type '{}{}' are not read", shown(std::string(1, header.kind)), header.size),
        "float16, float32, float64, integers or bool");
  }
  const auto count = element_count(header.shape);
  const auto size = count ? checked_mul<std::int64_t>(*count, header.size) : std::nullopt;
  if (!size) return malformed(fmt::format("dimensions [{}] are not possible", fmt::join(header.shape, ", ")));
  if (static_cast<std::uint64_t>(*size) != data.size()) {
    return malformed(fmt::format("dimensions [{}] need {} bytes, and {} are there",
                                 fmt::join(header.shape, ", "), *size, data.size()));
  }
  const bool big = header.order == '>' && type->size > 1;
  const bool columns = header.fortran_order && header.shape.size() > 1 && !data.empty();
  Array array{.type = std::string(type->name),
              .dims = header.shape,
              .bytes = {},
              .owner = {},
              .file = std::move(file)};
  auto whole = std::make_shared<Bytes>(data);
  if (big || columns) {
    std::vector<std::byte> own = columns ? reordered(data.span(), header.shape, type->size)
                                         : std::vector<std::byte>(data.span().begin(), data.span().end());
    if (big) swap_bytes(own, type->size);
    *whole = Bytes::own(std::move(own));
  }
  array.bytes = whole->span();
  array.owner = std::move(whole);
  return array;
}

Result<Bytes> npy_data(const Array& array) {
  if (array.type != "text") return Bytes(array.owner, array.bytes);
  const auto text = from_utf8(array.text());
  if (!text) return invalid_argument("a text is not UTF-8");
  return Bytes::own(std::vector<char32_t>(text->begin(), text->end()));
}

Result<std::string> npy_header(const Array& array) {
  std::string descr;
  if (array.type == "text") {
    const auto text = from_utf8(array.text());
    if (!text) return invalid_argument("a text is not UTF-8");
    descr = fmt::format("<U{}", text->size());
  } else {
    const Type* type = type_named(array.type);
    if (type == nullptr)
      return invalid_argument(fmt::format("no .npy file has the type '{}'", shown(array.type)));
    const auto count = element_count(array.dims);
    const auto size = count ? checked_mul(*count, static_cast<std::int64_t>(type->size)) : std::nullopt;
    if (!size || static_cast<std::uint64_t>(*size) != array.bytes.size()) {
      return invalid_argument(fmt::format("{} bytes are given for {} of dimensions [{}]", array.bytes.size(),
                                          type->name, fmt::join(array.dims, ", ")));
    }
    descr = fmt::format("{}{}{}", type->size == 1 ? '|' : '<', type->kind, type->size);
  }
  std::string shape = fmt::format("{}", fmt::join(array.dims, ", "));
  if (array.dims.size() == 1) shape += ",";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Result<Array> Array::from_bytes(std::string type, std::vector<std::byte> bytes,
                                std::vector<std::int64_t> dims) noexcept {
  return guarded([&]() -> Result<Array> {
    auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    Array array{std::move(type), std::move(dims), *held, held, nullptr};
    TRY(npy_header(array));  // checks type and size
    return array;
  });
}

Result<Array> Array::from_floats(std::vector<float> values, std::vector<std::int64_t> dims) noexcept {
  return guarded([&]() -> Result<Array> {
    auto held = std::make_shared<const std::vector<float>>(std::move(values));
    Array array{"float32", std::move(dims), std::as_bytes(std::span(*held)), held, nullptr};
    TRY(npy_header(array));
    return array;
  });
}

Result<Array> Array::from_text(std::string text) noexcept {
  return guarded([&]() -> Result<Array> {
    auto held = std::make_shared<const std::string>(std::move(text));
    return Array{"text", {}, std::as_bytes(std::span(*held)), held, nullptr};
  });
}

Result<std::vector<float>> Array::to_floats() const noexcept {
  return guarded([&]() -> Result<std::vector<float>> {
    TRY(npy_header(*this));
    if (type == "text") return error_at(Code::unsupported, {}, "a text has no numbers");
    std::vector<float> floats = floats_of(type, Bytes(owner, bytes));
    TRY(intact());
    return floats;
  });
}

Result<void> Array::intact() const noexcept {
  return guarded([&]() -> Result<void> { return file ? file->intact() : Result<void>(); });
}

}  // namespace anybit
