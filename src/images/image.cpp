#include "images/image.hpp"

#include <array>
#include <filesystem>
#include <vector>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

Result<const Descriptor*> format_of(File file) {
  for (const Descriptor* format : table()) {
    if (format->matches(file)) return format;
  }
  return error_at(Code::malformed, {}, "the file is not in a known image format", known_formats());
}

Error within(const Descriptor& format, Error error) {
  error.message = fmt::format("{}: {}", format.name, error.message);
  return error;
}

Result<Header> header_of(const Descriptor& format, File file, const Limits& limits) {
  auto read = format.read_header(file);
  if (!read.ok()) return within(format, std::move(read).error());
  const Header header = *read;
  if (header.height < 1 || header.width < 1) return within(format, damaged("it has no pixels"));
  if (header.height > limits.pixels / header.width) {
    return error_at(Code::limit_exceeded, {},
                    fmt::format("{} x {} pixels are too many", header.width, header.height),
                    fmt::format("at most {} are read", limits.pixels));
  }
  if (header.height > header.most_pixels / header.width) {
    return within(format, damaged(fmt::format("{} x {} pixels are claimed, and {} bytes cannot hold them",
                                              header.width, header.height, file.size())));
  }
  return header;
}

// Luma by ITU-R 601-2 in 16 bits, as in ImageDecoder's test cases.
std::uint8_t brightness(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.name < b.name; }

Result<Size> size_of(File file, const Limits& limits) {
  const Header header = TRY(header_of(*TRY(format_of(file)), file, limits));
  return Size{header.height, header.width};
}

Result<void> decode(File file, int channels, std::span<std::uint8_t> pixels, const Limits& limits) {
  const Descriptor& format = *TRY(format_of(file));
  const Header header = TRY(header_of(format, file, limits));
  const auto count = static_cast<std::size_t>(header.height * header.width);
  if ((channels != 1 && channels != 3) || pixels.size() != count * static_cast<std::size_t>(channels))
    return invalid_argument("the image has another size");
  std::vector<std::uint8_t> colours(channels == 1 ? 3 * count : 0);
  const std::span<std::uint8_t> rgb = channels == 1 ? std::span(colours) : pixels;
  auto done = format.decode(file, header, rgb.data());
  if (!done.ok()) return within(format, std::move(done).error());
  if (channels == 1) {
    for (std::size_t i = 0; i < count; ++i) pixels[i] = brightness(rgb.data() + 3 * i);
  }
  return {};
}

bool has_image_ending(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(table(), [&](const Descriptor* format) {
    return std::ranges::find(format->endings, ending) != format->endings.end();
  });
}

std::string known_formats() {
  std::string text;
  for (const Descriptor* format : table()) {
    if (!text.empty()) text += format == table().back() ? " or " : ", ";
    text += format->name;
  }
  return text;
}

std::string libraries() {
  std::string text;
  for (const Descriptor* format : table()) {
    if (format->library.empty()) continue;
    if (!text.empty()) text += ", ";
    text += format->library;
  }
  return text;
}

}  // namespace anybit::images
