// PNM (netpbm's PBM, PGM and PPM), plain and raw: P1 to P6. Reads the first of several images in a file.
#include <cmath>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".pbm", ".pgm", ".ppm", ".pnm"};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Words {
 public:
  Words(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  Result<std::uint32_t> number() {
    TRY(skip());
    std::uint32_t value = 0;
    const std::size_t first = at_;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (at_ - first == 9) return damaged("a number is too long");
      value = 10 * value + static_cast<std::uint32_t>(text_[at_] - '0');
    }
    if (at_ == first) return damaged("a number is missing");
    return value;
  }
  // A pixel of a plain bitmap, where spaces are optional.
  Result<bool> bit() {
    TRY(skip());
    const char c = text_[at_++];
    if (c != '0' && c != '1') return damaged("a bit is neither 0 nor 1");
    return c == '1';
  }
  // The single whitespace before raw data.
  Result<void> space() {
    if (at_ == text_.size() || !is_space(text_[at_])) return damaged("its header is damaged");
    ++at_;
    return {};
  }

 private:
  // Skips whitespace, and comments to the end of the line.
  Result<void> skip() {
    for (bool comment = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (comment) {
        comment = c != '\n' && c != '\r';
      } else if (c == '#') {
        comment = true;
      } else if (!is_space(c)) {
        return {};
      }
    }
    return damaged("the file is cut off");
  }

  std::string_view text_;
  std::size_t at_;
};

struct Pnm {
  Header header;
  bool plain = false, bitmap = false;
  std::size_t channels = 1;
  std::uint32_t most = 1;
  std::size_t data = 0;
};

Result<Pnm> parse(File file) {
  const char kind = text_of(file)[1];
  Pnm pnm{.header = {}, .plain = kind <= '3', .bitmap = kind == '1' || kind == '4'};
  pnm.channels = kind == '3' || kind == '6' ? 3 : 1;
  Words words(text_of(file), 2);
  pnm.header.width = TRY(words.number());
  pnm.header.height = TRY(words.number());
  if (!pnm.bitmap) pnm.most = TRY(words.number());
  if (pnm.most < 1 || pnm.most > 65535)
    return damaged(fmt::format("{} is not a valid maximum value", pnm.most));
  TRY(words.space());
  pnm.data = words.at();
  // A plain number takes at least a digit and a space.
  const std::int64_t bytes = static_cast<std::int64_t>(pnm.channels) * (pnm.plain || pnm.most > 255 ? 2 : 1);
  pnm.header.most_pixels = pnm.bitmap ? pixels_in(file, pnm.plain ? 1 : 8) : pixels_in(file, 1) / bytes + 1;
  return pnm;
}

// A table from sample values to 8 bits.
std::vector<std::uint8_t> scaled(std::uint32_t most) {
  std::vector<std::uint8_t> values(most + 1);
  for (std::uint32_t i = 0; i <= most; ++i)
    values[i] = static_cast<std::uint8_t>(std::nearbyint(static_cast<double>(i) / most * 255.0));
  return values;
}

void put(const Pnm& pnm, std::uint8_t value, std::uint8_t*& rgb) {
  const std::size_t copies = pnm.channels == 1 ? 3 : 1;
  for (std::size_t i = 0; i < copies; ++i) *rgb++ = value;
}

Result<void> decode_plain(File file, const Pnm& pnm, std::uint8_t* rgb) {
  Words words(text_of(file), pnm.data);
  const std::vector<std::uint8_t> values = scaled(pnm.most);
  const auto count = static_cast<std::size_t>(pnm.header.height * pnm.header.width) * pnm.channels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t value = pnm.bitmap ? !TRY(words.bit()) : TRY(words.number());
    if (value > pnm.most) return damaged(fmt::format("{} is above the maximum value", value));
    put(pnm, values[value], rgb);
  }
  return {};
}

void decode_bits(const Pnm& pnm, const std::uint8_t* data, std::uint8_t* rgb) {
  const auto width = static_cast<std::size_t>(pnm.header.width);
  for (std::int64_t y = 0; y < pnm.header.height; ++y, data += (width + 7) / 8) {
    for (std::size_t x = 0; x < width; ++x) put(pnm, (data[x / 8] >> (7 - x % 8) & 1) != 0 ? 0 : 255, rgb);
  }
}

bool matches(File file) {
  return file.size() > 3 && starts_with(file, "P") && text_of(file)[1] >= '1' && text_of(file)[1] <= '6' &&
         (is_space(text_of(file)[2]) || text_of(file)[2] == '#');
}

Result<Header> read_header(File file) { return TRY(parse(file)).header; }

Result<void> decode(File file, const Header&, std::uint8_t* rgb) {
  const Pnm pnm = TRY(parse(file));
  if (pnm.plain) return decode_plain(file, pnm, rgb);
  const auto width = static_cast<std::size_t>(pnm.header.width),
             height = static_cast<std::size_t>(pnm.header.height);
  const std::size_t each = pnm.most > 255 ? 2 : 1,
                    row = pnm.bitmap ? (width + 7) / 8 : width * pnm.channels * each;
  if ((file.size() - pnm.data) / row < height) return damaged("the file is cut off");
  const std::uint8_t* data = bytes_of(file) + pnm.data;
  if (pnm.bitmap) {
    decode_bits(pnm, data, rgb);
    return {};
  }
  const std::vector<std::uint8_t> values = scaled(pnm.most);
  for (std::size_t i = 0; i < width * height * pnm.channels; ++i) {
    const std::uint32_t value = big(data + i * each, static_cast<int>(each));
    if (value > pnm.most) return damaged(fmt::format("{} is above the maximum value", value));
    put(pnm, values[value], rgb);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> pnm_descriptors() {
  static const Descriptor all[] = {
      {.name = "PNM", .endings = kEndings, .matches = matches, .read_header = read_header, .decode = decode}};
  return all;
}

}  // namespace anybit::images
