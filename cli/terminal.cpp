#include "terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace anybit::cli {
namespace {

// Decodes the code point at `at` and advances it. Each invalid UTF-8 byte becomes one U+FFFD.
char32_t next(std::string_view text, std::size_t& at) {
  constexpr char32_t kReplacement = 0xFFFD;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at++);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 && lead < 0xF5 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : 0;
  if (more == 0 || lead >= 0xF5 || at + static_cast<std::size_t>(more) > text.size()) return kReplacement;
  char32_t code = lead & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at + static_cast<std::size_t>(i)) & 0xC0) != 0x80) return kReplacement;
    code = code << 6 | (byte(at + static_cast<std::size_t>(i)) & 0x3F);
  }
  at += static_cast<std::size_t>(more);
  return code;
}

template <std::size_t N>
bool within(char32_t code, const std::array<std::pair<char32_t, char32_t>, N>& ranges) {
  for (const auto& [first, last] : ranges) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

// The blocks of Unicode's East Asian Width W and F that are in common use, and its combining marks.
std::size_t width_of(char32_t code) {
  constexpr std::array<std::pair<char32_t, char32_t>, 9> kWide{{{0x1100, 0x115F},
                                                                {0x2E80, 0x303E},
                                                                {0x3041, 0xA4CF},
                                                                {0xAC00, 0xD7A3},
                                                                {0xF900, 0xFAFF},
                                                                {0xFE30, 0xFE6F},
                                                                {0xFF00, 0xFF60},
                                                                {0x1F300, 0x1FAFF},
                                                                {0x20000, 0x3FFFD}}};
  constexpr std::array<std::pair<char32_t, char32_t>, 6> kNone{{{0x300, 0x36F},
                                                                {0x1AB0, 0x1AFF},
                                                                {0x200B, 0x200F},
                                                                {0x20D0, 0x20FF},
                                                                {0xFE00, 0xFE0F},
                                                                {0xFE20, 0xFE2F}}};
  return within(code, kNone) ? 0 : within(code, kWide) ? 2 : 1;
}

// C0 and C1 control characters, and bidirectional marks.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F;
}

}  // namespace

bool colours() {
  static const bool on = [] {
    const char* refused = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal && std::string_view(terminal) == "dumb";
    return ::isatty(STDOUT_FILENO) == 1 && !(refused && *refused) && !dumb;
  }();
  return on;
}

std::string styled(std::string_view text, Style style) {
  if (!colours() || style == Style::plain) return std::string(text);
  const char* code = style == Style::bold     ? "1"
                     : style == Style::dim    ? "2"
                     : style == Style::yellow ? "33"
                                              : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string colored(std::string_view text, int color) {
  return colours() && color != 0 ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", color, text) : std::string(text);
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) count += width_of(next(text, at));
  return count;
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t code = next(text, at);
    const bool broken = code == 0xFFFD && at == start + 1;
    if (!broken && !is_control(code)) {
      result += text.substr(start, at - start);
      continue;
    }
    for (std::size_t i = start; i < at; ++i) {
      result += text[i] == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[i]));
    }
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  std::size_t used = 0, at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    const std::size_t more = width_of(next(text, end));
    if (used + more + 1 > width) break;
    used += more;
    at = end;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string shortened_name(std::string_view name) {
  constexpr std::size_t kWidth = 48;
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  return terminal ? shortened(name, kWidth) : std::string(name);
}

}  // namespace anybit::cli
