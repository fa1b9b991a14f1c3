// C text, indented.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace anybit::cgen {

class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}

  // Writes a line, or several separated by newlines.
  void line(std::string_view text) {
    while (true) {
      const std::size_t end = text.find('\n');
      const std::string_view one = text.substr(0, end);
      if (!one.empty()) text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(one);
      text_ += '\n';
      if (end == std::string_view::npos) return;
      text = text.substr(end + 1);
    }
  }
  // Writes "head {" and indents until close().
  void open(std::string_view head) {
    line(head.empty() ? "{" : fmt::format("{} {{", head));
    ++depth_;
  }
  void close(std::string_view tail = "") {
    --depth_;
    line(fmt::format("}}{}", tail));
  }

  const std::string& text() const { return text_; }
  int depth() const { return depth_; }

 private:
  std::string text_;
  int depth_;
};

}  // namespace anybit::cgen
