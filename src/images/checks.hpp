// Shared by the decoders: errors, numbers in files, colour conversion.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/try.hpp"
#include "images/table.hpp"

namespace anybit::images {

inline Error damaged(std::string what) { return error_at(Code::malformed, {}, std::move(what)); }
inline Error unsupported(std::string what, std::string hint = {}) {
  return error_at(Code::unsupported, {}, std::move(what), std::move(hint));
}

inline const std::uint8_t* bytes_of(File file) { return reinterpret_cast<const std::uint8_t*>(file.data()); }
inline std::string_view text_of(File file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}
inline bool starts_with(File file, std::string_view magic, std::size_t at = 0) {
  return file.size() >= at && text_of(file).substr(at).starts_with(magic);
}

// `at` must point to at least `bytes` bytes of the file.
inline std::uint32_t little(const std::uint8_t* at, int bytes) {
  std::uint32_t number = 0;
  for (int i = bytes; i-- > 0;) number = number << 8 | at[i];
  return number;
}
inline std::uint32_t big(const std::uint8_t* at, int bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < bytes; ++i) number = number << 8 | at[i];
  return number;
}

// `each` times the file's size, without overflow.
inline std::int64_t pixels_in(File file, std::int64_t each) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto size = static_cast<std::int64_t>(file.size());
  return size > kMost / each ? kMost : size * each;
}

// CMYK to RGB as in Pillow, without colour profiles.
inline void cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb) {
  const int light = 255 - cmyk[3];
  for (int c = 0; c < 3; ++c) {
    const int product = cmyk[c] * light + 128;
    rgb[c] = static_cast<std::uint8_t>(std::max(0, light - (((product >> 8) + product) >> 8)));
  }
}

}  // namespace anybit::images
