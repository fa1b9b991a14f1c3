#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "terminal.hpp"

namespace anybit::cli {
namespace {

std::string padded(const std::string& cell, std::size_t width, Table::Align align) {
  const std::string space(width - std::min(columns(cell), width), ' ');
  return align == Table::Align::left ? cell + space : space + cell;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void Table::add(std::vector<std::string> cells, std::vector<int> colors) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
  colors.resize(columns_.size());
  colors_.push_back(std::move(colors));
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string head(indent, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], columns(columns_[i].title));
    head += padded(columns_[i].title, widths[i], columns_[i].align) + "  ";
  }
  head = trimmed(std::move(head));
  std::string text = head.empty() ? "" : styled(head, Style::dim) + "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < rows_[r].size(); ++i) {
      if (widths[i] != 0)
        line += colored(padded(rows_[r][i], widths[i], columns_[i].align), colors_[r][i]) + "  ";
    }
    text += trimmed(std::move(line)) + "\n";
  }
  return text;
}

std::string short_count(std::int64_t count) {
  constexpr std::array<std::string_view, 6> kUnits{"k", "M", "G", "T", "P", "E"};
  if (count > -10'000 && count < 10'000) return std::to_string(count);
  double value = static_cast<double>(count);
  std::size_t unit = 0;
  for (value /= 1000.0; std::abs(value) >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000.0;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : 1, kUnits[unit]);
}

std::string short_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024.0; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : 1, kUnits[unit]);
}

std::string long_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string share(std::int64_t part, std::int64_t whole) {
  if (part <= 0 || whole <= 0) return "";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.1 ? "<0.1 %" : fmt::format("{:.1f} %", percent);
}

}  // namespace anybit::cli
