#include "evaluate/row_scores.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace anybit::evaluate {

std::size_t best_of(std::span<const float> row) {
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

bool is_among(std::span<const float> row, std::size_t label, std::int64_t most) {
  return std::ranges::count_if(row, [&](float score) { return score > row[label]; }) < most;
}

Result<std::size_t> label_of(const std::vector<std::int64_t>& labels, std::size_t row, std::size_t classes) {
  if (labels[row] < 0 || labels[row] >= static_cast<std::int64_t>(classes))
    return invalid_argument(
        fmt::format("label {} of sample {} is not one of {} classes", labels[row], row, classes));
  return static_cast<std::size_t>(labels[row]);
}

Result<void> check_count(const std::vector<std::int64_t>& labels, std::int64_t rows) {
  if (std::ssize(labels) == rows) return {};
  return invalid_argument(fmt::format("{} labels for {} rows of scores", labels.size(), rows),
                          "one label for each");
}

}  // namespace anybit::evaluate
