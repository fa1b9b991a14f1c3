// BMP of Windows and OS/2: 1, 4, 8, 16, 24 and 32 bits, palettes and bit fields; no run-length coding.
#include <array>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".bmp"};
constexpr std::size_t kFileHeader = 14;
enum Compression : std::uint32_t { kPlain = 0, kBitFields = 3, kBitFieldsAlpha = 6 };

// The bits of one colour channel in a pixel.
struct Field {
  int shift = 0, bits = 0;
};

struct Bmp {
  Header header;
  bool from_top = false;
  std::uint32_t bits = 0;
  std::size_t data = 0, stride = 0;
  std::array<Field, 3> fields;  // red, green, blue; for 16 and 32 bits
  std::vector<std::array<std::uint8_t, 3>> palette;
};

Result<Field> field_of(std::uint32_t mask, std::uint32_t bits) {
  const Field field{mask == 0 ? 0 : std::countr_zero(mask), std::popcount(mask)};
  const std::uint64_t run = ((std::uint64_t{1} << field.bits) - 1) << field.shift;
  if (mask == 0 || run != mask || static_cast<std::uint32_t>(field.shift + field.bits) > bits)
    return damaged("its bit fields are damaged");
  return field;
}

Result<void> read_palette(File file, std::size_t at, std::size_t count, std::size_t entry, Bmp& bmp) {
  if (at > file.size() || (file.size() - at) / entry < count)
    return damaged("the file ends within its palette");
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* bgr = bytes_of(file) + at + i * entry;
    bmp.palette.push_back({bgr[2], bgr[1], bgr[0]});
  }
  return {};
}

Result<void> read_fields(File file, std::size_t at, std::uint32_t compression, Bmp& bmp) {
  std::array<std::uint32_t, 3> masks =
      bmp.bits == 16 ? std::array{0x7C00u, 0x03E0u, 0x001Fu} : std::array{0xFF0000u, 0xFF00u, 0xFFu};
  if (compression != kPlain) {
    if (at + 12 > file.size()) return damaged("the file ends within its bit fields");
    for (std::size_t i = 0; i < 3; ++i) masks[i] = little(bytes_of(file) + at + 4 * i, 4);
  }
  for (std::size_t i = 0; i < 3; ++i) bmp.fields[i] = TRY(field_of(masks[i], bmp.bits));
  return {};
}

Result<Bmp> parse(File file) {
  const std::uint8_t* bytes = bytes_of(file);
  if (file.size() < kFileHeader + 12) return damaged("the file is cut off");
  const std::size_t size = little(bytes + kFileHeader, 4);
  const bool old = size == 12;
  if (!old && (size < 40 || size > 256))
    return damaged(fmt::format("a header of {} bytes is not known", size));
  if (file.size() < kFileHeader + size) return damaged("the file ends within its header");
  const std::uint8_t* info = bytes + kFileHeader;
  Bmp bmp;
  bmp.data = little(bytes + 10, 4);
  if (old) {
    bmp.header = {.height = little(info + 6, 2), .width = little(info + 4, 2)};
  } else {
    bmp.header = {.height = static_cast<std::int32_t>(little(info + 8, 4)),
                  .width = static_cast<std::int32_t>(little(info + 4, 4))};
  }
  bmp.from_top = bmp.header.height < 0;
  bmp.header.height = std::abs(bmp.header.height);
  if (bmp.header.width < 1 || bmp.header.height < 1) return damaged("it has no pixels");
  bmp.bits = little(info + (old ? 10 : 14), 2);
  const std::uint32_t compression = old ? 0 : little(info + 16, 4);
  const bool fields = compression == kBitFields || compression == kBitFieldsAlpha;
  if (compression != kPlain && !(fields && (bmp.bits == 16 || bmp.bits == 32)))
    return unsupported("it is compressed", "BMP without compression");
  if (bmp.bits == 1 || bmp.bits == 4 || bmp.bits == 8) {
    const std::size_t most = std::size_t{1} << bmp.bits, told = old ? 0 : little(info + 32, 4);
    if (told > most) return damaged(fmt::format("a palette of {} colours is too large", told));
    TRY(read_palette(file, kFileHeader + size, told == 0 ? most : told, old ? 3 : 4, bmp));
  } else if (bmp.bits == 16 || bmp.bits == 32) {
    TRY(read_fields(file, kFileHeader + 40, compression, bmp));
  } else if (bmp.bits != 24) {
    return damaged(fmt::format("{} bits for a pixel are not known", bmp.bits));
  }
  bmp.stride = (static_cast<std::size_t>(bmp.header.width) * bmp.bits + 31) / 32 * 4;
  bmp.header.most_pixels = pixels_in(file, 8) / bmp.bits;
  return bmp;
}

std::uint8_t value_of(std::uint32_t pixel, Field field) {
  const std::uint64_t most = (std::uint64_t{1} << field.bits) - 1, value = pixel >> field.shift & most;
  return static_cast<std::uint8_t>(field.bits > 8 ? value >> (field.bits - 8) : value * 255 / most);
}

Result<void> decode_row(const Bmp& bmp, const std::uint8_t* row, std::uint8_t* rgb) {
  const auto width = static_cast<std::size_t>(bmp.header.width);
  for (std::size_t x = 0; x < width; ++x, rgb += 3) {
    if (!bmp.palette.empty()) {
      const std::size_t bit = x * bmp.bits;
      const std::size_t index = row[bit / 8] >> (8 - bmp.bits - bit % 8) & ((1u << bmp.bits) - 1);
      if (index >= bmp.palette.size()) return damaged("a pixel is not in the palette");
      std::ranges::copy(bmp.palette[index], rgb);
    } else if (bmp.bits == 24) {
      for (std::size_t c = 0; c < 3; ++c) rgb[c] = row[3 * x + 2 - c];
    } else {
      const std::size_t bytes = bmp.bits / 8;
      const std::uint32_t pixel = little(row + bytes * x, static_cast<int>(bytes));
      for (std::size_t c = 0; c < 3; ++c) rgb[c] = value_of(pixel, bmp.fields[c]);
    }
  }
  return {};
}

bool matches(File file) { return starts_with(file, "BM"); }

Result<Header> read_header(File file) { return TRY(parse(file)).header; }

Result<void> decode(File file, const Header&, std::uint8_t* rgb) {
  const Bmp bmp = TRY(parse(file));
  const auto height = static_cast<std::size_t>(bmp.header.height);
  if (bmp.data > file.size() || (file.size() - bmp.data) / bmp.stride < height)
    return damaged("the file is cut off");
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t from = bmp.from_top ? y : height - 1 - y;
    TRY(decode_row(bmp, bytes_of(file) + bmp.data + from * bmp.stride,
                   rgb + 3 * y * static_cast<std::size_t>(bmp.header.width)));
  }
  return {};
}

}  // namespace

std::span<const Descriptor> bmp_descriptors() {
  static const Descriptor all[] = {
      {.name = "BMP", .endings = kEndings, .matches = matches, .read_header = read_header, .decode = decode}};
  return all;
}

}  // namespace anybit::images
