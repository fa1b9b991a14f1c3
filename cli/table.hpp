// Text tables with aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anybit::cli {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty. Control characters are escaped. `colors`: of the cells, of a terminal's 256; 0,
  // or left out: none.
  void add(std::vector<std::string> cells, std::vector<int> colors = {});
  bool empty() const { return rows_.empty(); }
  // Indents every line by `indent` spaces. Columns that are empty in every row are left out.
  std::string text(std::size_t indent = 2) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<int>> colors_;
};

// 12345678 → "12.3 M"; below 10,000 as it is.
std::string short_count(std::int64_t count);
// 12345678 → "11.8 MiB"
std::string short_bytes(std::int64_t bytes);
// 12345678 → "12,345,678"
std::string long_count(std::int64_t count);
// "12.3 %", "<0.1 %", "" for none.
std::string share(std::int64_t part, std::int64_t whole);

}  // namespace anybit::cli
