// The report's page: web/report.html, embedded in the library, with the data inserted.
#include "anybit/report.hpp"

#include <string_view>

#include "base/guard.hpp"
#include "base/try.hpp"

// ANYBIT_REPORT_PAGE is the path of the file; the build recompiles this file when the page changes.
__asm__(
    ".section .rodata\n"
    ".global anybit_report_page_begin\n.hidden anybit_report_page_begin\n"
    ".global anybit_report_page_end\n.hidden anybit_report_page_end\n"
    "anybit_report_page_begin:\n"
    ".incbin \"" ANYBIT_REPORT_PAGE
    "\"\n"
    "anybit_report_page_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const char anybit_report_page_begin[];
extern "C" const char anybit_report_page_end[];

namespace anybit {
namespace {

constexpr std::string_view kMark = "ANYBIT_REPORT_DATA";

std::string_view page() {
  return {anybit_report_page_begin,
          static_cast<std::size_t>(anybit_report_page_end - anybit_report_page_begin)};
}

// In JSON, "<" occurs only in strings. In HTML it could end the surrounding script element, or begin a
// comment.
std::string without_tags(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

Result<std::string> report_page(const ReportInput& input) noexcept {
  return guarded([&]() -> Result<std::string> {
    const std::string json = TRY(report_json(input));
    const std::size_t at = page().find(kMark);
    std::string text(page().substr(0, at));
    text += without_tags(json);
    return text += page().substr(at + kMark.size());
  });
}

}  // namespace anybit
