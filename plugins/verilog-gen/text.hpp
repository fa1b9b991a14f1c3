// Verilog text, indented, and the modules under construction.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace anybit::verilog {

class Text {
 public:
  template <class... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    const std::string text = fmt::format(format, std::forward<T>(values)...);
    if (!text.empty()) text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(text);
    text_ += '\n';
  }
  void deeper() { ++depth_; }
  void back() { --depth_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

// "[7:0]"; also for a single bit, so that every port is a vector.
inline std::string range(std::int64_t bits) { return fmt::format("[{}:0]", bits - 1); }

}  // namespace anybit::verilog
