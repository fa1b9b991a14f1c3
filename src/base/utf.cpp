#include "base/utf.hpp"

#include <cstdint>

namespace anybit {
namespace {

// Surrogates are not characters.
bool is_character(char32_t c) { return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF); }

}  // namespace

std::optional<std::u32string> from_utf8(std::string_view text) {
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // smaller values are overlong encodings
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[at++]);
    const std::size_t more = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if ((lead >= 0x80 && lead < 0xC0) || lead >= 0xF8 || text.size() - at < more) return std::nullopt;
    char32_t c = more == 0 ? lead : lead & (0x3Fu >> more);
    for (std::size_t i = 0; i < more; ++i) {
      const auto next = static_cast<std::uint8_t>(text[at++]);
      if ((next & 0xC0) != 0x80) return std::nullopt;
      c = c << 6 | (next & 0x3Fu);
    }
    if (c < kSmallest[more] || !is_character(c)) return std::nullopt;
    result.push_back(c);
  }
  return result;
}

std::optional<std::string> to_utf8(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) {
    if (!is_character(c)) return std::nullopt;
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr char32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    result += static_cast<char>(kLead[more] | c >> (6 * more));
    for (int i = more - 1; i >= 0; --i) result += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
  }
  return result;
}

}  // namespace anybit
